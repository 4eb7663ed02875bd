"""Comparisons of cells and gaps to the ceiling: from rows of results to rows of claims.

`compare` reads one value a seed; `ceiling_gaps` and `effect_sizes` read the scores of every test example. Tables in,
rows out; `commands/compare.py` does the reading and writing.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars import DataFrame

from maskstudy.errors import StudyError
from maskstudy.statistics import (
    HIGHER_IS_BETTER,
    bca_interval,
    equivalence_p,
    hierarchical_interval,
    hierarchical_ratio_interval,
    holm,
    probability_of_superiority,
    sign_flip_p,
    smallest_p,
    standardised_effect,
    verdict,
)

RESAMPLING_SEED = 0  # one for all, so that no interval depends on which others are computed
CLOSE_TO_CEILING = 0.01
ABOVE_CEILING = "above ceiling"
WITHIN = "within .01"  # of `CLOSE_TO_CEILING`
NOT_LEARNED = "not learned"
FLOAT32_ROUNDING = 1e-6  # a model's float32 scores may pass an exact ceiling by this much and prove nothing
_MEASURED = {  # the columns of `schemas.PREDICTIONS` that each metric is the ratio of
    "accuracy": ("correct", "scored"),
    "nats": ("nats", "scored"),
    "per": ("phoneme_errors", "phonemes"),
    "wer": ("wrong_words", "words"),
}


@dataclass(frozen=True)
class CellScores:
    """The test scores of a cell, example by example.

    Attributes:
        task: name of the task.
        mask: name of the mask.
        examples: `[examples]`, numbers of the test examples.
        scored: `[examples]`, scored positions of each test example, the same for all seeds.
        sums: metric -> `[seeds, examples]`, summed over each example.
        totals: metric -> `[seeds, examples]`, what the sum is a share of: the scored positions of each example, its
            words, or the phonemes of its nearest right answer.
    """

    task: str
    mask: str
    examples: NDArray[np.int64]
    scored: NDArray[np.float64]
    sums: Mapping[str, NDArray[np.float64]]
    totals: Mapping[str, NDArray[np.float64]]

    def by_seed(self, metric: str) -> NDArray[np.float64]:
        """The metric of each seed, `[seeds]`."""
        return self.sums[metric].sum(axis=1) / self.totals[metric].sum(axis=1)


def cell_scores(task: str, mask: str, predictions: Sequence[DataFrame]) -> CellScores:
    """Put the per-example scores of a cell's seeds into arrays.

    Args:
        task: name of the task.
        mask: name of the mask.
        predictions: one table a seed with the columns of `schemas.PREDICTIONS`, in the order of the seeds.

    Raises:
        StudyError: two seeds were not scored on the same positions of the same examples, or no position is scored.
    """
    of_seeds = [_of_one_seed(task, mask, table) for table in predictions]
    first = of_seeds[0]
    for other in of_seeds[1:]:
        _require_same_positions(first, other, f"{task}, mask {mask}: two seeds")
    if not first.scored.sum() > 0:
        raise StudyError(
            f"{task}, mask {mask}: no position of its test examples is scored; check the task's test split"
        )
    sums, totals = (
        {metric: np.concatenate([getattr(scores, kind)[metric] for scores in of_seeds]) for metric in first.sums}
        for kind in ("sums", "totals")
    )
    return replace(first, sums=sums, totals=totals)


def _of_one_seed(task: str, mask: str, table: DataFrame) -> CellScores:
    columns = {name: table[name].to_numpy().astype(np.float64) for name in table.columns if not table[name].has_nulls()}
    measured = {metric: both for metric, both in _MEASURED.items() if both[1] in columns}
    sums, totals = ({metric: columns[both[place]][None] for metric, both in measured.items()} for place in (0, 1))
    examples = table["example"].to_numpy().astype(np.int64)
    return CellScores(task, mask, examples, columns["scored"], sums, totals)


def compare(
    metrics: DataFrame,
    audits: Iterable[Mapping[str, Any]],
    declared: Sequence[Mapping[str, Any]],
    settings: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """Compare the study masks of each task: the declared comparisons, then every other pair as exploratory.

    Seeds are paired by number. Holm's correction covers the declared family alone; an exploratory row has its plain
    p, no margin and no equivalence test. Controls are never compared.

    Args:
        metrics: columns of `schemas.METRICS`; tasks and masks are taken in the order of its rows.
        audits: one entry a cell with `task`, `mask` and `scored_access`, a digest of what its scored positions see.
        declared: the `comparisons` of config.yaml: `task`, `metric`, `masks` (two) and `margin` (may be left out).
        settings: the `statistics` of config.yaml: `alpha`, `confidence`, `resamples`.

    Returns:
        Rows of `schemas.COMPARISONS`; `effect` is the mean of mask a minus mask b in the units of the metric.

    Raises:
        StudyError: fewer than two seeds; a cell lacks a seed, has one twice or has a value that is not finite; a
            declared comparison names an unknown task, metric or mask, or a control, or is declared twice.
    """
    values = _values_by_cell(metrics)
    access = {(audit["task"], audit["mask"]): audit["scored_access"] for audit in audits}
    controls = set(metrics.filter(pl.col("role") == "control").select("task", "mask").iter_rows())

    def row(task: str, metric: str, mask_a: str, mask_b: str, declared: bool, margin: float | None) -> dict[str, Any]:
        differences = values[task, mask_a, metric] - values[task, mask_b, metric]
        interval = bca_interval(differences, settings["confidence"], settings["resamples"], RESAMPLING_SEED)
        return {
            "task": task,
            "metric": metric,
            "mask_a": mask_a,
            "mask_b": mask_b,
            "declared": declared,
            "equal_access": _access(access, task, mask_a) == _access(access, task, mask_b),
            "seeds": len(differences),
            "effect": float(differences.mean()),
            "low": interval.low,
            "high": interval.high,
            "method": interval.method,
            "p": sign_flip_p(differences),
            "p_holm": None,
            "smallest_p": smallest_p(len(differences)),
            "margin": margin,
            "p_equivalence": None if margin is None else equivalence_p(differences, margin),
        }

    family: dict[tuple[str, str, frozenset[str]], dict[str, Any]] = {}
    for entry in declared:
        _require_comparable(entry, values, controls)
        key = (entry["task"], entry["metric"], frozenset(entry["masks"]))
        if key in family:
            raise StudyError(f"config.yaml: {_described(entry)} is declared twice; keep one")
        mask_a, mask_b = entry["masks"]
        family[key] = row(entry["task"], entry["metric"], mask_a, mask_b, declared=True, margin=entry.get("margin"))
    for member, corrected in zip(family.values(), holm([member["p"] for member in family.values()]), strict=True):
        member["p_holm"] = float(corrected)

    rows = list(family.values())
    for task, metric, mask_a, mask_b in _all_pairs(values):
        if (task, metric, frozenset((mask_a, mask_b))) not in family:
            rows.append(row(task, metric, mask_a, mask_b, declared=False, margin=None))
    for member in rows:
        p = member["p_holm"] if member["declared"] else member["p"]
        member["verdict"] = verdict(member["metric"], member["effect"], p, settings["alpha"], member["p_equivalence"])
    return rows


def ceiling_gaps(cells: Iterable[tuple[CellScores, CellScores]], settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """How far each cell stays from its ideal observer, on the same positions of the same test examples.

    The interval carries the chance of seeds and of test examples (`statistics.hierarchical_interval`), so that an
    observer who was merely unlucky on this test set is not called beaten.

    Args:
        cells: a cell's scores and those of its ideal observer (one row instead of one a seed).
        settings: the `statistics` of config.yaml: `confidence`, `resamples`.

    Returns:
        Rows of `schemas.CEILING_GAPS`. `gap` is above 0 where the model is better than the ceiling, whatever the
        metric. The verdict is `ABOVE_CEILING` where the whole interval is above 0, by more than the rounding of the
        model's scores: the model sees more than it should or the ceiling is wrong. That decision alone takes an
        interval with Bonferroni's correction over all rows, since a model at its ceiling is above it by chance once in
        a while. Else the verdict is `WITHIN` where the gap is no worse than `CLOSE_TO_CEILING`, else `NOT_LEARNED`.

    Raises:
        StudyError: the observer was scored on other positions than the model, or there are fewer than two seeds.
    """
    rows: list[dict[str, Any]] = []
    pairs = list(cells)
    corrected = 1 - (1 - settings["confidence"]) / max(1, sum(len(observer.sums) for _, observer in pairs))
    for model, observer in pairs:
        _require_same_positions(model, observer, f"{model.task}, mask {model.mask}: runs and ideal observer")
        for metric in observer.sums:
            sign = 1.0 if HIGHER_IS_BETTER[metric] else -1.0
            interval_at = partial(
                hierarchical_interval,
                sign * (model.sums[metric] - observer.sums[metric]),
                model.scored,
                resamples=settings["resamples"],
                seed=RESAMPLING_SEED,
            )
            interval = interval_at(confidence=settings["confidence"])
            value, ceiling = float(model.by_seed(metric).mean()), float(observer.by_seed(metric).mean())
            gap = sign * (value - ceiling)
            if interval.low > FLOAT32_ROUNDING and interval_at(confidence=corrected).low > FLOAT32_ROUNDING:
                outcome = ABOVE_CEILING
            else:
                outcome = WITHIN if gap >= -CLOSE_TO_CEILING else NOT_LEARNED
            rows.append(
                {
                    "task": model.task,
                    "mask": model.mask,
                    "metric": metric,
                    "seeds": len(model.sums[metric]),
                    "value": value,
                    "ceiling": ceiling,
                    "gap": gap,
                    "low": interval.low,
                    "high": interval.high,
                    "method": interval.method,
                    "verdict": outcome,
                }
            )
    return rows


def effect_sizes(
    comparisons: Iterable[Mapping[str, Any]],
    scores: Mapping[tuple[str, str], CellScores],
    settings: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """What stands beside each comparison: the interval over seeds and examples, and effects without units.

    Args:
        comparisons: rows of `compare`.
        scores: (task, mask) -> the scores of the cell, its seeds in the same order for all cells.
        settings: the `statistics` of config.yaml: `confidence`, `resamples`.

    Returns:
        Rows of `schemas.EFFECTS`, one a comparison, in its order.

    Raises:
        StudyError: two masks of a task were scored on different positions.
    """
    rows = []
    for pair in comparisons:
        task, metric, mask_a, mask_b = (pair[name] for name in ("task", "metric", "mask_a", "mask_b"))
        a, b = scores[task, mask_a], scores[task, mask_b]
        _require_same_positions(a, b, f"{task}: masks {mask_a} and {mask_b}")
        how = {"confidence": settings["confidence"], "resamples": settings["resamples"], "seed": RESAMPLING_SEED}
        totals = a.totals[metric][0]
        if (a.totals[metric] == totals).all() and (b.totals[metric] == totals).all():
            interval = hierarchical_interval(a.sums[metric] - b.sums[metric], totals, **how)
        else:
            interval = hierarchical_ratio_interval(
                (a.sums[metric], a.totals[metric]), (b.sums[metric], b.totals[metric]), **how
            )
        value_a, value_b = a.by_seed(metric), b.by_seed(metric)
        better = (value_a, value_b) if HIGHER_IS_BETTER[metric] else (value_b, value_a)
        rows.append(
            {
                "task": task,
                "metric": metric,
                "mask_a": mask_a,
                "mask_b": mask_b,
                "low": interval.low,
                "high": interval.high,
                "method": interval.method,
                "superiority": probability_of_superiority(*better),
                "standardised_effect": standardised_effect(value_a - value_b),
            }
        )
    return rows


def _values_by_cell(metrics: DataFrame) -> dict[tuple[str, str, str], NDArray[np.float64]]:
    """(task, mask, metric) of every study cell -> `[seeds]`, those of a task paired by the number of the seed."""
    study = metrics.filter(pl.col("role") == "study")
    seeds_of = {task: sorted(set(rows["seed"])) for (task,), rows in study.group_by("task", maintain_order=True)}
    if (fewest := min(map(len, seeds_of.values()), default=0)) < 2:
        raise StudyError(f"the runs have {fewest} seed(s), a comparison needs 2 or more; raise seeds in config.yaml")
    values: dict[tuple[str, str, str], NDArray[np.float64]] = {}
    for (task, mask, metric), rows in study.group_by("task", "mask", "metric", maintain_order=True):
        cell, by_seed = f"{task}, mask {mask}, {metric}", rows.sort("seed")
        if metric not in HIGHER_IS_BETTER:
            raise StudyError(f"{cell}: unknown metric; known are {', '.join(HIGHER_IS_BETTER)}")
        if missing := sorted(set(seeds_of[task]) - set(by_seed["seed"])):
            raise StudyError(
                f"{cell}: seed {missing[0]} is missing, other cells of the task have it; train it, then gather again"
            )
        if len(twice := by_seed.filter(pl.col("seed").is_duplicated())):
            raise StudyError(f"{cell}: seed {twice['seed'][0]} stands there twice; gather again")
        for seed, value in by_seed.filter(~pl.col("value").is_finite()).select("seed", "value").iter_rows():
            raise StudyError(f"{cell}: seed {seed} has the value {value}; lower the task's learning rate")
        values[task, mask, metric] = by_seed["value"].to_numpy()
    for (task, mask, _), (other_task, _, metric) in itertools.product(values, repeat=2):
        if task == other_task and (task, mask, metric) not in values:
            raise StudyError(f"{task}, mask {mask}: no {metric}, which the task's other masks have; evaluate it again")
    return values


def _all_pairs(values: Mapping[tuple[str, str, str], Any]) -> list[tuple[str, str, str, str]]:
    """(task, metric, mask a, mask b) of every two cells of a task; mask a is the later one, as in `full − causal`."""
    masks: dict[tuple[str, str], list[str]] = {}
    for task, mask, metric in values:
        masks.setdefault((task, metric), []).append(mask)
    return [
        (task, metric, later, earlier)
        for (task, metric), known in masks.items()
        for earlier, later in itertools.combinations(known, 2)
    ]


def _require_comparable(
    entry: Mapping[str, Any], values: Mapping[tuple[str, str, str], Any], controls: set[tuple[str, str]]
) -> None:
    if len(set(entry["masks"])) != 2 or len(entry["masks"]) != 2:
        raise StudyError(f"config.yaml: {_described(entry)} must name two different masks")
    for mask in entry["masks"]:
        if (entry["task"], mask) in controls:
            raise StudyError(f"config.yaml: {_described(entry)}: {mask} is a control, and controls are never ranked")
        if (entry["task"], mask, entry["metric"]) not in values:
            raise StudyError(
                f"config.yaml: {_described(entry)}: no run has the metric {entry['metric']} of the task "
                f"{entry['task']} under the mask {mask}; mend the comparison or add the mask to the task"
            )


def _described(entry: Mapping[str, Any]) -> str:
    return f"the comparison of {' and '.join(entry['masks'])} by {entry['metric']} in {entry['task']}"


def _access(access: Mapping[tuple[str, str], str], task: str, mask: str) -> str:
    if (task, mask) not in access:
        raise StudyError(f"{task}, mask {mask}: no audit says what it sees; run the audit rule")
    return access[task, mask]


def _require_same_positions(one: CellScores, other: CellScores, who: str) -> None:
    if not (np.array_equal(one.examples, other.examples) and np.array_equal(one.scored, other.scored)):
        raise StudyError(f"{who} are not scored on the same test positions; delete the task's results, make them again")
