from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from maskstudy.comparisons import NOT_LEARNED, WITHIN
from maskstudy.figures.results import Results
from maskstudy.report import tables
from maskstudy.statistics import HIGHER_IS_BETTER


@pytest.fixture(scope="module")
def metrics(results):
    return tables.metrics(results).set_index(["task", "mask", "metric"])


def test_a_cell_is_summed_up_by_the_mean_of_its_seeds(results, metrics):
    assert len(metrics) == 2 * len(results.settings.cells)
    for key, runs in results.metrics.groupby(["task", "mask", "metric"]):
        row = metrics.loc[key]
        assert row["mean"] == pytest.approx(np.mean(runs["value"]))
        assert runs["value"].min() <= row["low"] < row["mean"] < row["high"] <= runs["value"].max()
        assert row["seeds"] == len(runs) == 8
        assert row["baseline"] == runs["baseline"].iloc[0]


def test_the_gap_is_below_zero_where_the_model_is_worse(metrics):
    known = metrics.dropna(subset=["gap"])
    assert set(known.reset_index()["task"]) == {"hmm_tagging", "poor"}
    for (_, _, metric), row in known.iterrows():
        sign = 1 if HIGHER_IS_BETTER[metric] else -1
        assert row["gap"] == pytest.approx(sign * (row["mean"] - row["ceiling"]))
        assert row["gap_low"] <= row["gap"] <= row["gap_high"]
    assert metrics.loc[("poor", "full", "accuracy"), "learning"] == NOT_LEARNED
    assert metrics.loc[("hmm_tagging", "full", "accuracy"), "learning"] == WITHIN


def test_losing_to_the_baseline_is_said_whatever_the_direction(metrics):
    against = metrics["against_baseline"]
    assert set(against.loc["poor"]) == {"loses"}
    assert set(against.loc["hmm_tagging"]) == {"better"}


@pytest.mark.parametrize(
    ("metric", "mean", "low", "high", "verdict"),
    [
        ("accuracy", 0.6, 0.55, 0.65, "better"),
        ("accuracy", 0.51, 0.49, 0.53, "no better"),
        ("accuracy", 0.49, 0.47, 0.51, "loses"),
        ("nats", 0.4, 0.35, 0.45, "better"),
        ("nats", 0.49, 0.47, 0.51, "no better"),
        ("nats", 0.51, 0.49, 0.53, "loses"),
        ("accuracy", 0.6, np.nan, np.nan, "better"),
        ("accuracy", 0.5, 0.5, 0.5, "no better"),
    ],
)
def test_how_a_cell_stands_to_a_baseline_of_one_half(metric, mean, low, high, verdict):
    assert tables._against(metric, mean, low, high, 0.5) == verdict
    assert tables._against(metric, mean, low, high, np.nan) is None


def test_comparisons_keep_every_row_and_get_a_sentence(results):
    table = tables.comparisons(results)
    kept = table[list(results.comparisons.columns)]
    pd.testing.assert_frame_equal(kept, results.comparisons)
    for row in table.itertuples():
        assert row.task in row.sentence
        assert ("Equal access" in row.sentence) == row.equal_access


def test_beside_an_effect_stands_the_interval_over_examples_too(results):
    table = tables.comparisons(results)
    beside = ["hierarchical_low", "hierarchical_high", "superiority", "standardised_effect"]
    assert table[beside].notna().all(axis=None)
    assert (table["hierarchical_low"] < table["effect"]).all()
    assert (table["effect"] < table["hierarchical_high"]).all()
    declared = table[table["declared"]]
    won = declared[declared["verdict"] == "a"]
    assert (won["superiority"] == 1).all()
    assert len(won) >= 2


def test_cost_is_what_every_run_was_given_and_the_mean_of_what_it_took(results):
    table = tables.cost(results).set_index(["task", "mask"])
    assert len(table) == len(results.settings.cells)
    for (task, mask), row in table.iterrows():
        timing = pq.read_table(results.folder / "timing.parquet", filters=[("task", "=", task), ("mask", "=", mask)])
        assert row["train_seconds"] == pytest.approx(timing["train_seconds"].to_numpy().mean())
        runs = results.metrics[(results.metrics["task"] == task) & (results.metrics["mask"] == mask)]
        for name in ("parameters", "steps", "tokens_seen", "targets_seen", "train_flops"):
            assert row[name] == runs[name].iloc[0]


def test_counts_are_whole_numbers(results):
    table = tables.cost(results)
    assert [str(table[name].dtype) for name in ("parameters", "steps", "tokens_seen", "targets_seen")] == ["int64"] * 4


def test_scores_on_the_same_final_bytes_are_summed_up_by_cell(results):
    table = tables.supervision(results).set_index(["task", "mask", "metric"])
    assert len(table) == 2 * 3
    for key, runs in results.supervision.groupby(["task", "mask", "metric"]):
        row = table.loc[key]
        assert row["mean"] == pytest.approx(np.mean(runs["value"]))
        assert runs["value"].min() <= row["low"] < row["mean"] < row["high"] <= runs["value"].max()
        assert row["seeds"] == len(runs) == 8
        for name in ("scored", "baseline", "parameters", "steps", "tokens_seen", "targets_seen", "train_flops"):
            assert row[name] == runs[name].iloc[0]


def test_a_swap_costs_what_a_model_is_worse_by_whatever_the_metric(results):
    table = tables.swaps(results).set_index(["task", "trained_mask", "tested_mask", "metric"])
    swaps = results.swaps
    assert len(table) == swaps.groupby(["task", "trained_mask", "tested_mask", "metric"]).ngroups
    for key, runs in swaps.groupby(["task", "trained_mask", "tested_mask", "metric"]):
        row, sign = table.loc[key], 1 if key[-1] == "accuracy" else -1
        costs = sign * (runs["own_value"] - runs["value"])
        assert row["cost"] == pytest.approx(np.mean(costs))
        assert costs.min() <= row["low"] < row["cost"] < row["high"] <= costs.max()
        assert row["own_mean"] - row["mean"] == pytest.approx(sign * row["cost"])
        assert row["seeds"] == 8
    assert (table.loc[~table["leaks"], "cost"] > 0).all()
    assert (table.loc[table["leaks"], "cost"] < 0).all()  # a leak looks like a gain
    assert set(table.index[table["leaks"]].droplevel("metric")) == {("next_byte", "causal", "full")}
    assert set(table.index[table["role"] == "control"].droplevel("metric")) == {("next_byte", "full", "causal")}


def test_measures_of_layers_are_summed_up_apart_for_trained_and_random_weights(results):
    table = tables.representations(results)
    keys = ["task", "mask", "weights", "layer", "measure"]
    probed = table[table["measure"] != "cka"].set_index(keys)
    for key, runs in results.representations[results.representations["measure"] != "cka"].groupby(keys):
        row = probed.loc[key]
        assert row["mean"] == pytest.approx(np.mean(runs["value"]))
        assert row["low"] < row["mean"] < row["high"]
        assert row["seeds"] == (8 if key[2] == "trained" else 3)
        assert np.isnan(row["chance"]) == (key[-1] == "effective_rank")
    compared = table[table["measure"] == "cka"]
    assert compared["other_mask"].notna().all()
    assert len(compared[compared["task"] == "hmm_tagging"]) == 10 * 3 * 2  # pairs, layers, trained and random


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
    pd.testing.assert_frame_equal(tables.audit(results), results.audit)
    assert tables.audit(results)["leaks"].sum() == 1
