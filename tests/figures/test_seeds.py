import numpy as np
import pytest

from maskstudy.figures import seeds, style
from maskstudy.figures.results import Results, Settings


def test_every_run_is_there_with_the_mean_of_its_cell(results):
    data = seeds.data(results)
    assert len(data) == 2 * sum(len(cell.seeds) for cell in results.settings.cells)
    np.testing.assert_array_equal(data["value"], results.metrics["value"])
    for _, runs in data.group_by("task", "mask", "metric"):
        assert runs["mean"][0] == pytest.approx(runs["value"].mean())


@pytest.mark.parametrize(
    ("study", "declared"),
    [
        ("two tasks", {("hmm_tagging", "accuracy"), ("masked_byte", "nats")}),
        ("controls and own masks", {("tagging", "accuracy"), ("recall", "accuracy")}),  # recall: causal minus full
    ],
)
def test_the_difference_is_that_of_paired_seeds_from_the_causal_mask(studies, study, declared):
    data = seeds.data(studies(study))
    assert set(data["reference"]) == {"causal"}
    data = data.filter(role="study")
    for (task, mask, metric), runs in data.group_by("task", "mask", "metric"):
        if mask == "causal":
            assert runs["difference"].is_null().all()
            continue
        paired = runs.join(data.filter(task=task, mask="causal", metric=metric), on="seed", validate="1:1")
        row = runs.row(0, named=True)
        assert row["difference"] == pytest.approx((paired["value"] - paired["value_right"]).mean())
        assert row["low"] <= row["difference"] <= row["high"]
        assert row["declared"] == (mask == "full" and (task, metric) in declared)


def test_a_comparison_of_the_causal_mask_with_another_is_turned_with_its_interval(studies):
    results = studies("controls and own masks")
    pair = {"task": "recall", "mask_a": "causal", "mask_b": "full", "metric": "accuracy"}
    effect, low, high = results.comparisons.filter(**pair).select("effect", "low", "high").row(0)
    turned = seeds.data(results).filter(task="recall", mask="full", metric="accuracy")
    assert turned.select("difference", "low", "high").row(0) == (-effect, -high, -low)


def test_without_a_causal_mask_the_first_is_the_reference(results):
    cells = [vars(cell) for cell in results.settings.cells if cell.mask != "causal" and cell.task == "hmm_tagging"]
    part = Results(results.folder, Settings.of({"cells": cells, "confirmatory": True}))
    data = seeds.data(part)
    assert set(data["reference"]) == {"lookahead-1"}
    full, other = (data.filter(mask=mask, metric="accuracy").row(0, named=True) for mask in ("full", "lookahead-1"))
    assert full["difference"] == pytest.approx(full["mean"] - other["mean"])


def test_seeds_are_points_and_pairs_are_lines(results):
    data = seeds.data(results)
    figure = seeds.draw(data)
    panels = [axes for axes in figure.axes if axes.axison]
    assert len(panels) == 2 * 2 * 2  # tasks, metrics, values and differences
    points = [
        value
        for axes in panels
        for line in axes.lines
        if line.get_marker() == "o" and line.get_markersize() == seeds._SEED["markersize"]
        for value in line.get_xdata()
    ]
    assert sorted(points) == sorted(data["value"])
    pairs = [line for axes in panels for line in axes.lines if line.get_color() == style.CONTROL]
    assert len(pairs) == 2 * sum(results.settings.seeds.values())
    of_hmm = [line.get_xdata() for line in pairs if len(line.get_xdata()) == 5]
    causal_to_full = data.filter(task="hmm_tagging", metric="accuracy", seed=1)
    assert any(np.allclose(values, causal_to_full["value"]) for values in of_hmm)


def test_controls_are_compared_with_nothing(studies):
    data = seeds.data(studies("controls and own masks"))
    assert data.filter(role="control")["difference"].is_null().all()
    assert "full (control)" in [text.get_text() for text in seeds.draw(data).axes[0].texts]
