"""The tables of the study: cells, comparisons, cost and audit, as they become CSV files and rows of the paper.

A mean over runs is that of a list of them: `group_by(…).agg` of a large table would add up in an order that depends on
the number of threads, and so would the last bits.
"""

from collections.abc import Callable

import polars as pl
from polars import DataFrame

from maskstudy.figures.results import Results
from maskstudy.report import statements
from maskstudy.statistics import HIGHER_IS_BETTER

_CELL = ["task", "mask", "role"]
_SCORE = ["task", "mask", "metric"]
_COUNTS = ["parameters", "steps", "tokens_seen", "targets_seen"]
_PAIR = ["task", "metric", "mask_a", "mask_b"]


def metrics(results: Results) -> DataFrame:
    """One row a (cell, metric): mean over seeds and its interval, baseline, ceiling and the gap to it.

    `against_baseline` is `better` where the whole interval is, `loses` where the mean is worse, else `no better`.
    `gap` is above 0 where the model is better than the ceiling; its interval carries seeds and test examples.
    `learning` is the verdict of `ceiling_gaps.parquet`; both are empty where no ceiling is known.
    """
    rows = []
    for (task, mask, role, metric), runs in results.metrics.group_by(*_CELL, "metric", maintain_order=True):
        mean, low, high = results.mean_interval(runs["value"])
        baseline = runs["baseline"][0]
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
                "ceiling": runs["ceiling"][0],
            }
        )
    gaps = results.ceiling_gaps.select(*_SCORE, "gap", gap_low="low", gap_high="high", learning="verdict")
    table = DataFrame(rows, infer_schema_length=None)
    return table.join(gaps, on=_SCORE, how="left", validate="1:1", maintain_order="left")


def comparisons(results: Results) -> DataFrame:
    """One row a comparison: the columns of `comparisons.parquet`, what stands beside an effect, and its sentence.

    Beside: the interval over seeds and test examples (`hierarchical_low`, `hierarchical_high`), the probability that
    the first mask is the better one (`superiority`), and the effect in units of its standard deviation
    (`standardised_effect`).
    """
    beside = results.effects.drop("method").rename({"low": "hierarchical_low", "high": "hierarchical_high"})
    table = results.comparisons.join(beside, on=_PAIR, how="left", validate="1:1", maintain_order="left")
    alpha, confidence = results.settings.alpha, results.settings.confidence
    sentences = [statements.comparison(row, confidence, alpha) for row in table.iter_rows(named=True)]
    return table.with_columns(sentence=pl.Series(sentences, dtype=pl.String))


def cost(results: Results) -> DataFrame:
    """One row a cell: what its runs were given and what they took; `train_seconds` is the mean over seeds."""
    given = results.metrics.group_by(_CELL, maintain_order=True).agg(*_COUNTS, "train_flops")
    given = given.with_columns(pl.col(_COUNTS).list.mean().round().cast(pl.Int64), pl.col("train_flops").list.mean())
    seconds = ["train_seconds", "cpu_seconds"]
    took = results.timing.group_by("task", "mask", maintain_order=True).agg(*seconds, pl.max("peak_memory_bytes"))
    took = took.with_columns(pl.col(seconds).list.mean())
    return given.join(took, on=["task", "mask"], how="left", validate="1:1", maintain_order="left")


def supervision(results: Results) -> DataFrame:
    """One row a (cell, metric) of the tasks that ask for the same final bytes: its score there, and what it was given.

    `mean`, `low` and `high` are over seeds; `baseline` is that of the same positions.
    """
    rows = []
    for (task, mask, metric), runs in results.supervision.group_by(_SCORE, maintain_order=True):
        mean, low, high = results.mean_interval(runs["value"])
        given = runs.select(pl.col(_COUNTS).mean().round().cast(pl.Int64), pl.col("train_flops").mean())
        rows.append(
            {
                "task": task,
                "mask": mask,
                "metric": metric,
                "seeds": len(runs),
                "scored": runs["scored"][0],
                "mean": mean,
                "low": low,
                "high": high,
                "baseline": runs["baseline"][0],
                **given.row(0, named=True),
            }
        )
    return DataFrame(rows, infer_schema_length=None)


def tuning(results: Results) -> DataFrame:
    """One row a (cell, scale): its rates, and the mean validation loss and accuracy over the seeds of the tuning.

    `chosen` marks the scale that the cell trains with, `at_edge` whether it is the first or last of the grid.
    """
    keys = [*_CELL, "scale", "learning_rate", "adamw_learning_rate", "chosen", "at_edge"]
    means = ["nats", "accuracy", "train_flops"]
    return results.tuning.group_by(keys, maintain_order=True).agg(means).with_columns(pl.col(means).list.mean())


def decoding(results: Results) -> DataFrame:
    """One row a cell whose models write answers: PER and WER (means over seeds) by greedy choice and by beam search.

    `parallel_minus_stepwise` is the largest difference over all seeds, words and answers between the probability that
    a model gives in one parallel pass and the one that it gives token by token.
    """
    scores = ["greedy_per", "greedy_wer", "beam_per", "beam_wer"]
    table = results.decoding.group_by("task", "mask", maintain_order=True).agg(
        pl.first("words", "beam_width"), *scores, pl.max("parallel_minus_stepwise")
    )
    return table.with_columns(pl.col(scores).list.mean())


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
    for of_row, runs in results.swaps.group_by(keys, maintain_order=True):
        row = dict(zip(keys, of_row, strict=True))
        sign = 1 if HIGHER_IS_BETTER[row["metric"]] else -1
        cost, low, high = results.mean_interval(sign * (runs["own_value"] - runs["value"]))
        means = {"own_mean": runs["own_value"].mean(), "mean": runs["value"].mean()}
        rows.append(row | {"seeds": len(runs), **means, "cost": cost, "low": low, "high": high})
    return DataFrame(rows, infer_schema_length=None)


def representations(results: Results) -> DataFrame:
    """One row a (cell, trained or random weights, layer, measure): its mean over seeds, with the interval.

    `cka` is a measure of two masks, `mask` and `other_mask`.
    """
    rows = []
    keys = [*_CELL, "weights", "layer", "measure", "other_mask"]
    for of_row, runs in results.representations.group_by(keys, maintain_order=True):
        mean, low, high = results.mean_interval(runs["value"])
        row = dict(zip(keys, of_row, strict=True))
        rows.append(row | {"seeds": len(runs), "mean": mean, "low": low, "high": high, "chance": runs["chance"].mean()})
    return DataFrame(rows, infer_schema_length=None)


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
        "swaps": results.swaps.is_empty(),
        "representations": results.representations.is_empty(),
    }
    return {name: make(results) for name, make in TABLES.items() if not absent.get(name)}


def _against(metric: str, mean: float, low: float | None, high: float | None, baseline: float | None) -> str | None:
    """How a cell stands to its baseline; None without one."""
    if baseline is None:
        return None
    sign = 1 if HIGHER_IS_BETTER[metric] else -1
    if sign * (mean - baseline) < 0:
        return "loses"
    worst = min(sign * end for end in (low, high, mean) if end is not None)
    return "better" if worst > sign * baseline else "no better"
