from dataclasses import replace
from statistics import fmean

import polars as pl
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

from maskstudy.comparisons import NOT_LEARNED, WITHIN
from maskstudy.figures.results import Results
from maskstudy.report import tables
from maskstudy.statistics import HIGHER_IS_BETTER

SCORE = ["task", "mask", "metric"]


@pytest.fixture(scope="module")
def metrics(results):
    """(task, mask, metric) -> row."""
    return by(SCORE, tables.metrics(results))


def by(keys, table):
    """The rows of a table by what stands in its columns `keys`, which no two share."""
    rows = {tuple(row[name] for name in keys): row for row in table.to_dicts()}
    assert len(rows) == len(table)
    return rows


def test_a_cell_is_summed_up_by_the_mean_of_its_seeds(results, metrics):
    assert len(metrics) == 2 * len(results.settings.cells)
    for key, runs in results.metrics.group_by(SCORE):
        row = metrics[key]
        assert row["mean"] == pytest.approx(fmean(runs["value"]))
        assert runs["value"].min() <= row["low"] < row["mean"] < row["high"] <= runs["value"].max()
        assert row["seeds"] == len(runs) == 8
        assert row["baseline"] == runs["baseline"][0]


def test_the_gap_is_below_zero_where_the_model_is_worse(metrics):
    known = {key: row for key, row in metrics.items() if row["gap"] is not None}
    assert {task for task, _, _ in known} == {"hmm_tagging", "poor"}
    for (_, _, metric), row in known.items():
        sign = 1 if HIGHER_IS_BETTER[metric] else -1
        assert row["gap"] == pytest.approx(sign * (row["mean"] - row["ceiling"]))
        assert row["gap_low"] <= row["gap"] <= row["gap_high"]
    assert metrics["poor", "full", "accuracy"]["learning"] == NOT_LEARNED
    assert metrics["hmm_tagging", "full", "accuracy"]["learning"] == WITHIN


def test_losing_to_the_baseline_is_said_whatever_the_direction(metrics):
    for judged, outcome in (("poor", "loses"), ("hmm_tagging", "better")):
        assert {row["against_baseline"] for (task, _, _), row in metrics.items() if task == judged} == {outcome}


@pytest.mark.parametrize(
    ("metric", "mean", "low", "high", "verdict"),
    [
        ("accuracy", 0.6, 0.55, 0.65, "better"),
        ("accuracy", 0.51, 0.49, 0.53, "no better"),
        ("accuracy", 0.49, 0.47, 0.51, "loses"),
        ("nats", 0.4, 0.35, 0.45, "better"),
        ("nats", 0.49, 0.47, 0.51, "no better"),
        ("nats", 0.51, 0.49, 0.53, "loses"),
        ("accuracy", 0.6, None, None, "better"),
        ("accuracy", 0.5, 0.5, 0.5, "no better"),
    ],
)
def test_how_a_cell_stands_to_a_baseline_of_one_half(metric, mean, low, high, verdict):
    assert tables._against(metric, mean, low, high, 0.5) == verdict
    assert tables._against(metric, mean, low, high, None) is None


def test_comparisons_keep_every_row_and_get_a_sentence(results):
    table = tables.comparisons(results)
    assert_frame_equal(table.select(results.comparisons.columns), results.comparisons)
    for row in table.to_dicts():
        assert row["task"] in row["sentence"]
        assert ("Equal access" in row["sentence"]) == row["equal_access"]


def test_beside_an_effect_stands_the_interval_over_examples_too(results):
    table = tables.comparisons(results)
    beside = ["hierarchical_low", "hierarchical_high", "superiority", "standardised_effect"]
    assert sum(table.select(beside).null_count().row(0)) == 0
    assert (table["hierarchical_low"] < table["effect"]).all()
    assert (table["effect"] < table["hierarchical_high"]).all()
    won = table.filter("declared", verdict="a")
    assert (won["superiority"] == 1).all()
    assert len(won) >= 2


def test_cost_is_what_every_run_was_given_and_the_mean_of_what_it_took(results):
    table = by(["task", "mask"], tables.cost(results))
    assert len(table) == len(results.settings.cells)
    for (task, mask), row in table.items():
        timing = pq.read_table(results.folder / "timing.parquet", filters=[("task", "=", task), ("mask", "=", mask)])
        assert row["train_seconds"] == pytest.approx(timing["train_seconds"].to_numpy().mean())
        runs = results.metrics.filter(task=task, mask=mask)
        for name in ("parameters", "steps", "tokens_seen", "targets_seen", "train_flops"):
            assert row[name] == runs[name][0]


def test_counts_are_whole_numbers(results):
    counts = tables.cost(results).select("parameters", "steps", "tokens_seen", "targets_seen")
    assert counts.dtypes == [pl.Int64] * 4


def test_scores_on_the_same_final_bytes_are_summed_up_by_cell(results):
    table = by(SCORE, tables.supervision(results))
    assert len(table) == 2 * 3
    for key, runs in results.supervision.group_by(SCORE):
        row = table[key]
        assert row["mean"] == pytest.approx(fmean(runs["value"]))
        assert runs["value"].min() <= row["low"] < row["mean"] < row["high"] <= runs["value"].max()
        assert row["seeds"] == len(runs) == 8
        for name in ("scored", "baseline", "parameters", "steps", "tokens_seen", "targets_seen", "train_flops"):
            assert row[name] == runs[name][0]


def test_a_swap_costs_what_a_model_is_worse_by_whatever_the_metric(results):
    keys = ["task", "trained_mask", "tested_mask", "metric"]
    table = by(keys, tables.swaps(results))
    assert len(table) == results.swaps.select(keys).n_unique()
    for key, runs in results.swaps.group_by(keys):
        row, sign = table[key], 1 if key[-1] == "accuracy" else -1
        costs = sign * (runs["own_value"] - runs["value"])
        assert row["cost"] == pytest.approx(fmean(costs))
        assert costs.min() <= row["low"] < row["cost"] < row["high"] <= costs.max()
        assert row["own_mean"] - row["mean"] == pytest.approx(sign * row["cost"])
        assert row["seeds"] == 8
        assert row["leaks"] == (row["cost"] < 0)  # a leak looks like a gain
    assert {key[:-1] for key, row in table.items() if row["leaks"]} == {("next_byte", "causal", "full")}
    assert {key[:-1] for key, row in table.items() if row["role"] == "control"} == {("next_byte", "full", "causal")}


def test_measures_of_layers_are_summed_up_apart_for_trained_and_random_weights(results):
    table = tables.representations(results)
    keys = ["task", "mask", "weights", "layer", "measure"]
    probed = by(keys, table.filter(pl.col("measure") != "cka"))
    for key, runs in results.representations.filter(pl.col("measure") != "cka").group_by(keys):
        row = probed[key]
        assert row["mean"] == pytest.approx(fmean(runs["value"]))
        assert row["low"] < row["mean"] < row["high"]
        assert row["seeds"] == (8 if key[2] == "trained" else 3)
        assert (row["chance"] is None) == (key[-1] == "effective_rank")
    compared = table.filter(measure="cka")
    assert not compared["other_mask"].has_nulls()
    assert len(compared.filter(task="hmm_tagging")) == 10 * 3 * 2  # pairs, layers, trained and random


def test_the_table_of_supervision_is_there_only_where_tasks_ask_for_the_same(results):
    assert list(tables.applying(results)) == [name for name in tables.TABLES if name != "decoding"]
    without = Results(results.folder, replace(results.settings, supervision=()))
    assert list(tables.applying(without)) == [name for name in tables.TABLES if name not in ("decoding", "supervision")]


def test_tables_of_what_models_share_are_there_only_where_they_share_it(results):
    cells = [cell for cell in results.settings.cells if cell.mask == "causal"]
    alone = Results(results.folder, replace(results.settings, cells=tuple(cells), supervision=()))
    assert "swaps" not in tables.applying(alone)
    assert "representations" in tables.applying(alone)


def test_the_audit_is_passed_on_whole(results):
    assert_frame_equal(tables.audit(results), results.audit)
    assert tables.audit(results)["leaks"].sum() == 1
