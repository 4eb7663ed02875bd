"""The mask apart from the amount of supervision: the same final positions, trained on in different ways.

`next_byte` asks at every position of a window, `final_byte` once, after the last. Where both read the same windows, the
last answer of each window is the same question to both, and a position that sees the same bytes: only the answers that
a model trained on, and the mask, differ.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from maskstudy import tasks
from maskstudy.errors import StudyError
from maskstudy.tasks.task import NOT_SCORED, NOWHERE, Examples

EVERY, FINAL = "next_byte", "final_byte"


def alike(settings: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The tasks that ask for the same final bytes: those of the first `final_byte`, and all that read its windows.

    Args:
        settings: task -> `kind`, `parameters` and `dataset`, as `config.task_settings` gives them.

    Returns:
        Names in their order; none where there is no `final_byte`, or no `next_byte` that reads the same test windows.
    """
    windows = {name: _windows(of_task) for name, of_task in settings.items() if of_task["kind"] in (EVERY, FINAL)}
    first = next((name for name in windows if settings[name]["kind"] == FINAL), None)
    found = [name for name in windows if first is not None and windows[name] == windows[first]]
    return found if EVERY in {settings[name]["kind"] for name in found} else []


def _windows(settings: Mapping[str, Any]) -> tuple[Any, ...]:
    """What decides which test windows a task reads: the text, bytes of a window with the answer, how many windows."""
    task: Any = tasks.build(settings)
    answer_apart = 1 if settings["kind"] == FINAL else 0
    return settings["dataset"], task.length + answer_apart, task.test_windows


def final_only(examples: Examples) -> Examples:
    """The examples with nothing scored but the last scored position of each."""
    places = np.arange(examples.tokens.shape[1])
    last = np.where(examples.scored, places, NOWHERE).max(axis=1, keepdims=True)
    final = examples.scored & (places == last)
    return replace(
        examples,
        targets=np.where(final, examples.targets, np.int16(NOT_SCORED)),
        target_positions=np.where(final, examples.target_positions, np.int16(NOWHERE)),
    )


def check_same_questions(splits: Mapping[str, Examples]) -> None:
    """Make sure that all tasks ask for the same final bytes after the same bytes.

    Args:
        splits: task -> its test examples, scored at one position each.

    Raises:
        StudyError: two of them do not.
    """
    asked = {name: _questions(examples) for name, examples in splits.items()}
    first = next(iter(asked))
    for name, questions in asked.items():
        if questions != asked[first]:
            raise StudyError(
                f"supervision: the final positions of {name} and {first} differ; delete their folders in data/ of the "
                "results, then run snakemake again"
            )


def _questions(examples: Examples) -> list[tuple[bytes, int]]:
    """What a position that is scored may read, itself and all before it, and its answer: one entry an example."""
    rows, places = np.nonzero(examples.scored)
    return [
        (examples.tokens[row, : place + 1].tobytes(), int(examples.targets[row, place]))
        for row, place in zip(rows, places, strict=True)
    ]


def rows(
    run: Mapping[str, Any], metrics: Mapping[str, float], baseline: Mapping[str, float], scored: int
) -> list[dict[str, Any]]:
    """One row of the schema `SUPERVISION` a metric.

    Args:
        run: `metrics.json` of the run: which it is, and what its training was given.
        metrics: of the model, on the final positions.
        baseline: of the simple method, on the same positions.
        scored: how many they are.
    """
    given: Sequence[str] = ("task", "mask", "seed", "parameters", "steps", "tokens_seen", "targets_seen")
    shared = {name: run[name] for name in given} | {"train_flops": float(run["train_flops"]), "scored": scored}
    return [
        {**shared, "metric": metric, "value": value, "baseline": baseline[metric]}
        for metric, value in sorted(metrics.items())
    ]
