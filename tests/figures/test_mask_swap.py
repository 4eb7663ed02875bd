import matplotlib as mpl
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from maskstudy.figures import mask_swap, style
from maskstudy.figures.results import Results, Settings


@pytest.fixture(scope="module")
def leaking(studies):
    return studies("controls and own masks")


@pytest.fixture(scope="module")
def data(leaking):
    return mask_swap.data(leaking)


def panels(figure):
    return [axes for axes in figure.axes if axes.axison]


def means(axes, filled):
    """Where the large points of a panel stand that are filled, or open, by colour."""
    points = [line for line in axes.lines if line.get_markersize() == 4.5 and len(line.get_xdata()) == 1]
    chosen = [line for line in points if (line.get_markerfacecolor() != "white") == filled]
    return sorted((mpl.colors.to_hex(line.get_color()), line.get_ydata()[0]) for line in chosen)


def test_every_run_stands_under_every_mask_of_its_task_but_that_of_an_encoder_decoder(leaking, data):
    cells = [cell for cell in leaking.settings.cells if cell.mask != "encoder-decoder"]
    pairs = {(one.task, one.mask, other.mask) for one in cells for other in cells if one.task == other.task}
    assert set(zip(data["task"], data["trained_mask"], data["tested_mask"], strict=True)) == pairs
    assert len(data) == 6 * len(pairs)


def test_under_its_own_mask_a_run_has_the_score_of_the_study(leaking, data):
    run = ["task", "trained_mask", "tested_mask", "seed"]
    own = (
        leaking.metrics.filter(metric="accuracy")
        .rename({"mask": "trained_mask"})
        .with_columns(tested_mask="trained_mask")
    )
    swaps = leaking.swaps.filter(metric="accuracy")
    expected = pl.concat([table.select(*run, accuracy="value") for table in (own, swaps)])
    found = data.select(*run, "accuracy")
    assert_frame_equal(found, found.select(run).join(expected, on=run, how="left", maintain_order="left"))
    for _, runs in data.group_by("task", "trained_mask", "tested_mask"):
        assert runs["mean"][0] == pytest.approx(runs["accuracy"].mean())
        assert runs["low"][0] < runs["mean"][0] < runs["high"][0]


def test_a_mask_leaks_whoever_is_asked_under_it(data):
    of_bytes = data.filter(task="next_byte")
    assert set(zip(of_bytes["trained_mask"], of_bytes["tested_mask"], of_bytes["leaks"], strict=True)) == {
        ("causal", "causal", False),
        ("causal", "full", True),
        ("full", "causal", False),
        ("full", "full", True),
    }
    assert not data.filter(pl.col("task") != "next_byte")["leaks"].any()


def test_own_masks_are_filled_and_others_open(data):
    of_task = data.filter(task="recall")
    (axes,) = panels(mask_swap.draw(of_task))
    for own in (True, False):
        rows = of_task.filter((pl.col("trained_mask") == pl.col("tested_mask")) == own)
        cells = rows.select("trained_mask", "mean").unique().iter_rows()
        expected = [(style.MASK_COLOURS[mask].lower(), mean) for mask, mean in cells]
        assert means(axes, filled=own) == sorted(expected)
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["causal", "full"]
    small = [line for line in axes.lines if line.get_markersize() == 2]
    assert sorted(value for line in small for value in line.get_ydata()) == sorted(of_task["accuracy"])


def test_a_mask_that_shows_the_answer_stands_on_a_grey_ground_and_its_models_are_grey(data):
    figure = mask_swap.draw(data.filter(task="next_byte"))
    (axes,) = panels(figure)
    (ground,) = axes.patches
    assert (ground.get_x(), ground.get_width()) == (0.5, 1)
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["causal", "full\n(control)"]
    colours = {colour for colour, _ in means(axes, filled=True)}
    assert colours == {style.MASK_COLOURS["causal"].lower(), style.CONTROL.lower()}
    words = {text.get_text() for text in figure.axes[0].texts}
    assert {"control", "the mask shows the answer"} <= words
    others = mask_swap.draw(data.filter(task="recall"))
    assert not panels(others)[0].patches
    assert not {"control", "the mask shows the answer"} & {text.get_text() for text in others.axes[0].texts}


def test_masks_and_seeds_that_are_not_configured_are_left_out(leaking):
    cells = [{**vars(cell), "seeds": [0, 1]} for cell in leaking.settings.cells if cell.mask != "full"]
    part = Results(leaking.folder, Settings.of({"cells": cells, "confirmatory": True}))
    data = mask_swap.data(part)
    assert "full" not in set(data["trained_mask"]) | set(data["tested_mask"])
    assert not {"next_byte", "recall"} & set(data["task"])
    assert set(data["seed"]) == {0, 1}


def test_a_study_with_one_mask_a_task_gets_a_sentence_and_a_header(studies):
    data = mask_swap.data(studies("one mask"))
    assert data.write_csv().count("\n") == 1
    (axes,) = mask_swap.draw(data).axes
    assert axes.texts[0].get_text() == "No task of this study has two masks that its models could be swapped between."
