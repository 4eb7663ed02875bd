"""What the page shows of a finished study: numbers and sentences that the paper has too, as JSON."""

from collections.abc import Mapping
from typing import Any

from polars import DataFrame

from maskstudy.figures import dose_response, leak, style
from maskstudy.figures.results import Results
from maskstudy.files import read_json
from maskstudy.report import statements

SAMPLE = 320  # characters of written text that the page quotes


def collected(results: Results) -> dict[str, Any]:
    """Everything that the page draws and says of the results.

    Raises:
        StudyError: a result is missing.
    """
    settings = results.settings
    return {
        "confirmatory": settings.confirmatory,
        "confidence": settings.confidence,
        "size": statements.size(settings),
        "not_superior": statements.NOT_SUPERIOR,
        "metric_names": style.METRIC_NAMES,
        "colours": style.colours(cell.mask for cell in settings.cells),
        "dose_response": _dose_response(results),
        "comparisons": [_comparison(row, settings.alpha) for row in _shown(results.comparisons)],
        "leaks": _leaks(results),
    }


def _dose_response(results: Results) -> list[dict[str, Any]]:
    """One entry a task that has a series of look-ahead masks, with one entry a mask."""
    rows = dose_response.data(results)
    found = []
    for (task,), of_task in rows.group_by("task", maintain_order=True):
        cells = []
        for (mask,), runs in of_task.group_by("mask", maintain_order=True):
            first = runs.row(0, named=True)
            reach = first["lookahead"]
            cells.append(
                {
                    "mask": mask,
                    "lookahead": None if reach == float("inf") else reach,
                    "values": runs["accuracy"].to_list(),
                    **{name: first[name] for name in ("mean", "low", "high", "ceiling", "baseline")},
                }
            )
        found.append({"task": task, "metric": "accuracy", "cells": cells})
    return found


def _shown(comparisons: DataFrame) -> list[dict[str, Any]]:
    """The declared comparisons; where none is declared, all."""
    declared = comparisons.filter("declared")
    return (comparisons if declared.is_empty() else declared).to_dicts()


def _comparison(row: Mapping[str, Any], alpha: float) -> dict[str, Any]:
    what = ["task", "metric", "mask_a", "mask_b", "declared", "equal_access", "verdict"]
    return {
        **{name: row[name] for name in (*what, "effect", "low", "high", "margin")},
        "finding": statements.finding(row, alpha),
        "access": statements.ACCESS[row["equal_access"]],
    }


def _leaks(results: Results) -> list[dict[str, Any]]:
    """One entry a task with controls: losses and how surprising the written text is, with a sample by each cell."""
    rows = leak.data(results)
    found = []
    for (task,), of_task in rows.group_by("task", maintain_order=True):
        cells = []
        for (mask,), runs in of_task.group_by("mask", maintain_order=True):
            first = runs.row(0, named=True)
            run = results.folder / "runs" / task / mask / f"seed-{first['seed']}"
            sample = read_json(run / "generated.json")["texts"][0]
            cells.append(
                {
                    "mask": mask,
                    "role": first["role"],
                    "nats": runs["nats"].mean(),
                    "judged_nats": runs["judged_nats"].mean(),
                    "sample": {name: sample[name][:SAMPLE] for name in ("prompt", "true", "sampled", "greedy")},
                }
            )
        first = of_task.row(0, named=True)
        known = {name: first[name] for name in ("ceiling", "unigram", "true_judged_nats")}
        found.append({"task": task, "judge": first["judge"], **known, "cells": cells})
    return found
