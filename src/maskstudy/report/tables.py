"""The tables of the study: cells, comparisons, cost and audit, as they become CSV files and rows of the paper."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from pandas import DataFrame

from maskstudy.figures.results import Results
from maskstudy.report import statements
from maskstudy.statistics import HIGHER_IS_BETTER

_CELL = ["task", "mask", "role"]
_GIVEN = ["parameters", "steps", "tokens_seen", "targets_seen", "train_flops"]
_PAIR = ["task", "metric", "mask_a", "mask_b"]


def metrics(results: Results) -> DataFrame:
    """One row a (cell, metric): mean over seeds and its interval, baseline, ceiling and the gap to it.

    `against_baseline` is `better` where the whole interval is, `loses` where the mean is worse, else `no better`.
    `gap` is above 0 where the model is better than the ceiling; its interval carries seeds and test examples.
    `learning` is the verdict of `ceiling_gaps.parquet`; both are empty where no ceiling is known.
    """
    rows = []
    for (task, mask, role, metric), runs in results.metrics.groupby([*_CELL, "metric"], sort=False):
        mean, low, high = results.mean_interval(runs["value"])
        baseline = float(runs["baseline"].iloc[0])
        rows.append(
            {
                "task": task,
                "mask": mask,
                "role": role,
                "metric": metric,
                "seeds": len(runs),
                "mean": mean,
                "low": low,
                "high": high,
                "baseline": baseline,
                "against_baseline": _against(metric, mean, low, high, baseline),
                "ceiling": float(runs["ceiling"].iloc[0]),
            }
        )
    gaps = results.ceiling_gaps.rename(columns={"low": "gap_low", "high": "gap_high", "verdict": "learning"})
    gaps = gaps[["task", "mask", "metric", "gap", "gap_low", "gap_high", "learning"]]
    return DataFrame(rows).merge(gaps, on=["task", "mask", "metric"], how="left", validate="one_to_one")


def comparisons(results: Results) -> DataFrame:
    """One row a comparison: the columns of `comparisons.parquet`, what stands beside an effect, and its sentence.

    Beside: the interval over seeds and test examples (`hierarchical_low`, `hierarchical_high`), the probability that
    the first mask is the better one (`superiority`), and the effect in units of its standard deviation
    (`standardised_effect`).
    """
    beside = results.effects.rename(columns={"low": "hierarchical_low", "high": "hierarchical_high"})
    merged = results.comparisons.merge(beside.drop(columns="method"), on=_PAIR, how="left", validate="one_to_one")
    alpha, confidence = results.settings.alpha, results.settings.confidence
    sentences = [statements.comparison(row, confidence, alpha) for row in merged.to_dict("records")]
    return merged.assign(sentence=sentences)


def cost(results: Results) -> DataFrame:
    """One row a cell: what its runs were given and what they took; `train_seconds` is the mean over seeds."""
    table = results.metrics.groupby(_CELL, sort=False)[_GIVEN].mean()
    table[_GIVEN[:-1]] = table[_GIVEN[:-1]].round().astype(np.int64)
    seconds = results.timing.groupby(["task", "mask"])[["train_seconds", "cpu_seconds"]].mean()
    memory = results.timing.groupby(["task", "mask"])["peak_memory_bytes"].max()
    return table.reset_index().merge(
        pd.concat([seconds, memory], axis=1).reset_index(), on=["task", "mask"], how="left", validate="one_to_one"
    )


def supervision(results: Results) -> DataFrame:
    """One row a (cell, metric) of the tasks that ask for the same final bytes: its score there, and what it was given.

    `mean`, `low` and `high` are over seeds; `baseline` is that of the same positions.
    """
    rows = []
    for (task, mask, metric), runs in results.supervision.groupby(["task", "mask", "metric"], sort=False):
        mean, low, high = results.mean_interval(runs["value"])
        given = {name: round(runs[name].mean()) for name in _GIVEN if name != "train_flops"}
        rows.append(
            {
                "task": task,
                "mask": mask,
                "metric": metric,
                "seeds": len(runs),
                "scored": int(runs["scored"].iloc[0]),
                "mean": mean,
                "low": low,
                "high": high,
                "baseline": float(runs["baseline"].iloc[0]),
                **given,
                "train_flops": runs["train_flops"].mean(),
            }
        )
    return DataFrame(rows)


def tuning(results: Results) -> DataFrame:
    """One row a (cell, scale): its rates, and the mean validation loss and accuracy over the seeds of the tuning.

    `chosen` marks the scale that the cell trains with, `at_edge` whether it is the first or last of the grid.
    """
    keys = [*_CELL, "scale", "learning_rate", "adamw_learning_rate", "chosen", "at_edge"]
    return results.tuning.groupby(keys, sort=False)[["nats", "accuracy", "train_flops"]].mean().reset_index()


def decoding(results: Results) -> DataFrame:
    """One row a cell whose models write answers: PER and WER (means over seeds) by greedy choice and by beam search.

    `parallel_minus_stepwise` is the largest difference over all seeds, words and answers between the probability that
    a model gives in one parallel pass and the one that it gives token by token.
    """
    cells = results.decoding.groupby(["task", "mask"], sort=False)
    scores = ["words", "beam_width", "greedy_per", "greedy_wer", "beam_per", "beam_wer"]
    table = cells[scores].mean().assign(parallel_minus_stepwise=cells["parallel_minus_stepwise"].max())
    return table.astype({"words": np.int64, "beam_width": np.int64}).reset_index()


def texts(results: Results) -> DataFrame:
    """One row a cell and prompt: the `true` text and what the model of the first seed wrote by itself."""
    return results.texts


def swaps(results: Results) -> DataFrame:
    """One row a (trained mask, tested mask, metric): the score under the tested mask, and what the swap costs.

    `cost` is how much worse a model is than under the mask of its training, whatever the metric, so that below 0 it is
    better; `low` and `high` are its interval over seeds. Where `leaks`, the tested mask shows answers.
    """
    rows = []
    keys = ["task", "trained_mask", "tested_mask", "metric", "role", "equal_access", "leaks"]
    for of_row, runs in results.swaps.groupby(keys, sort=False):
        sign = 1 if HIGHER_IS_BETTER[runs["metric"].iloc[0]] else -1
        cost, low, high = results.mean_interval(sign * (runs["own_value"] - runs["value"]))
        means = {"own_mean": runs["own_value"].mean(), "mean": runs["value"].mean()}
        rows.append(
            dict(zip(keys, of_row, strict=True)) | {"seeds": len(runs), **means, "cost": cost, "low": low, "high": high}
        )
    return DataFrame(rows)


def representations(results: Results) -> DataFrame:
    """One row a (cell, trained or random weights, layer, measure): its mean over seeds, with the interval.

    `cka` is a measure of two masks, `mask` and `other_mask`.
    """
    rows = []
    keys = [*_CELL, "weights", "layer", "measure", "other_mask"]
    for of_row, runs in results.representations.groupby(keys, sort=False, dropna=False):
        mean, low, high = results.mean_interval(runs["value"])
        row = dict(zip(keys, of_row, strict=True))
        rows.append(row | {"seeds": len(runs), "mean": mean, "low": low, "high": high, "chance": runs["chance"].mean()})
    return DataFrame(rows)


def audit(results: Results) -> DataFrame:
    """One row a cell: does a scored position see its own answer, where, and along which path?"""
    return results.audit


TABLES: dict[str, Callable[[Results], DataFrame]] = {
    "metrics": metrics,
    "comparisons": comparisons,
    "cost": cost,
    "tuning": tuning,
    "audit": audit,
    "supervision": supervision,
    "decoding": decoding,
    "texts": texts,
    "swaps": swaps,
    "representations": representations,
}


def applying(results: Results) -> dict[str, DataFrame]:
    """All tables by name.

    `supervision` only where tasks of the study ask for the same final bytes, `decoding` only where models write whole
    answers, `texts` only where they write text, `swaps` only where a task has two masks for one kind of model,
    `representations` only where it has any such mask.
    """
    absent = {
        "supervision": not results.settings.supervision,
        "decoding": not results.settings.written,
        "texts": not results.settings.texts,
        "swaps": results.swaps.empty,
        "representations": results.representations.empty,
    }
    return {name: make(results) for name, make in TABLES.items() if not absent.get(name)}


def _against(metric: str, mean: float, low: float, high: float, baseline: float) -> str | None:
    """How a cell stands to its baseline; None without one."""
    if np.isnan(baseline):
        return None
    sign = 1 if HIGHER_IS_BETTER[metric] else -1
    if sign * (mean - baseline) < 0:
        return "loses"
    worst = min(end for end in (sign * low, sign * high, sign * mean) if not np.isnan(end))
    return "better" if worst > sign * baseline else "no better"
