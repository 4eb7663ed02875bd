import numpy as np
import pytest

from maskstudy.figures import dose_response, style
from maskstudy.figures.results import Results, Settings

REACHES = {"causal": 0, "lookahead-1": 1, "lookahead-2": 2, "lookahead-4": 4, "full": np.inf}


def test_only_a_series_of_lookaheads_is_a_dose_response(results):
    data = dose_response.data(results)
    assert set(data["task"]) == {"hmm_tagging"}
    assert dict(zip(data["mask"], data["lookahead"], strict=True)) == REACHES
    assert data["lookahead"].is_sorted()
    metrics = results.metrics.filter(metric="accuracy", task="hmm_tagging")
    assert sorted(data["accuracy"]) == sorted(metrics["value"])


def test_the_mean_stands_inside_its_interval(results):
    data = dose_response.data(results)
    for _, runs in data.group_by("mask"):
        first = runs.row(0, named=True)
        assert first["mean"] == pytest.approx(runs["accuracy"].mean())
        assert first["low"] < first["mean"] < first["high"]


def test_line_points_and_diamonds_are_ceiling_seeds_and_baseline(results):
    data = dose_response.data(results)
    (axes,) = [axes for axes in dose_response.draw(data).axes if axes.axison]
    cells = data.unique("lookahead").sort("lookahead")
    ceiling = next(line for line in axes.lines if line.get_marker() == "_")
    baseline = next(line for line in axes.lines if line.get_marker() == "D")
    np.testing.assert_array_equal(ceiling.get_ydata(), cells["ceiling"])
    np.testing.assert_array_equal(baseline.get_ydata(), cells["baseline"])
    np.testing.assert_array_equal(ceiling.get_xdata()[:-1], [0, 1, 2, 4])
    assert ceiling.get_xdata()[-1] > 4
    seeds = [line for line in axes.lines if line.get_marker() == "o" and len(line.get_ydata()) > 1]
    assert sorted(value for line in seeds for value in line.get_ydata()) == sorted(data["accuracy"])
    assert {line.get_color() for line in seeds} == {style.MASK_COLOURS[mask] for mask in REACHES}
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["0", "1", "2", "4", "∞"]


@pytest.mark.parametrize("left_out", ["causal", "full"])
def test_a_series_needs_both_ends(results, left_out):
    cells = [vars(cell) for cell in results.settings.cells if cell.mask != left_out]
    part = Results(results.folder, Settings.of({"cells": cells, "confirmatory": True}))
    assert dose_response.data(part).is_empty()


def test_a_study_without_a_series_gets_a_sentence_and_a_header(studies):
    data = dose_response.data(studies("one mask"))
    assert data.write_csv().count("\n") == 1
    (axes,) = dose_response.draw(data).axes
    assert axes.texts[0].get_text() == "No task of this study has causal, lookahead-K and full masks."
