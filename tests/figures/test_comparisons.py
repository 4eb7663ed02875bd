import polars as pl
import pytest

from maskstudy.figures import comparisons, style


def words(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def test_right_of_zero_the_first_mask_is_better_whatever_the_metric(studies):
    data = comparisons.data(studies("controls and own masks"))
    assert {"accuracy", "nats"} == set(data["metric"])
    for row in data.iter_rows(named=True):
        assert row["gain"] == (row["effect"] if row["metric"] == "accuracy" else -row["effect"])
        assert row["gain_low"] <= row["gain"] <= row["gain_high"]
        assert row["gain_high"] - row["gain_low"] == pytest.approx(row["high"] - row["low"])
        if row["verdict"] in ("a", "b"):
            assert (row["gain"] > 0) == (row["verdict"] == "a")


def test_the_tick_is_what_information_alone_accounts_for(results):
    data = comparisons.data(results)
    of_cells = results.metrics.filter(seed=0).select("task", "mask", "metric", "ceiling")
    ceilings = {tuple(cell): ceiling for *cell, ceiling in of_cells.iter_rows()}
    hmm = data.filter(task="hmm_tagging")
    for task, mask_a, mask_b, metric, gain in hmm.select(
        "task", "mask_a", "mask_b", "metric", "ceiling_gain"
    ).iter_rows():
        better = ceilings[task, mask_a, metric] - ceilings[task, mask_b, metric]
        assert gain == pytest.approx(better if metric == "accuracy" else -better)
        assert gain > 0  # each exploratory or declared pair here names the mask that sees more first
    assert data.filter(task="masked_byte")["ceiling_gain"].is_null().all()


def test_declared_and_exploratory_stand_apart_each_with_its_access_and_verdict(results):
    data = comparisons.data(results)
    texts = words(comparisons.draw(data))
    declared, exploratory = texts.index("declared before any run"), texts.index("exploratory")
    above, below = texts[declared:exploratory], texts[exploratory:]
    for section, rows in ((above, data.filter(declared=True)), (below, data.filter(declared=False))):
        pairs = rows.select("task", "mask_a", "mask_b").unique()
        assert section.count("unequal") == len(pairs)
        assert section.count("equal") == 0
        for verdict in ("full better", "inconclusive"):
            expected = [
                {"a": f"{mask_a} better", "b": f"{mask_b} better"}.get(found, found)
                for found, mask_a, mask_b in rows.select("verdict", "mask_a", "mask_b").iter_rows()
            ]
            assert section.count(verdict) == expected.count(verdict)


def test_points_are_filled_where_declared_and_margins_are_bands(results):
    data = comparisons.data(results)
    panels = comparisons.draw(data).axes[1:]
    points = [line for axes in panels for line in axes.lines if line.get_marker() == "o"]
    filled = [line.get_xdata()[0] for line in points if line.get_markerfacecolor() == style.INK]
    empty = [line.get_xdata()[0] for line in points if line.get_markerfacecolor() == "white"]
    assert sorted(filled) == sorted(data.filter(declared=True)["gain"])
    assert sorted(empty) == sorted(data.filter(declared=False)["gain"])
    bands = [patch.get_width() for axes in panels for patch in axes.patches]
    assert sorted(bands) == pytest.approx(sorted(2 * data["margin"].drop_nulls()))


def test_the_axis_is_logarithmic_only_where_effects_differ_much_in_size(results):
    data = comparisons.data(results)
    assert {axes.get_xscale() for axes in comparisons.draw(data).axes[1:]} == {"linear"}
    assert data["metric"][0] == "accuracy"
    huge = pl.concat([data.head(1).with_columns(gain=0.8, gain_low=0.79, gain_high=0.81), data.slice(1)])
    first, second = comparisons.draw(huge).axes[1:3]
    assert (first.get_xscale(), second.get_xscale()) == ("symlog", "linear")
    low, high = first.get_xlim()
    assert low < huge["gain_low"].min()
    assert high > 0.81


def test_without_two_masks_there_is_a_sentence(studies):
    data = comparisons.data(studies("one mask"))
    assert data.is_empty()
    assert words(comparisons.draw(data)) == ["No task of this study has two masks to compare."]
