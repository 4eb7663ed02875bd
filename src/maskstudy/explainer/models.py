"""Trained models as the page holds them: a description as JSON, and all weights in one row as base64."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from maskstudy import checkpoints, tasks
from maskstudy.checkpoints import Checkpoint
from maskstudy.data.windows import BYTES
from maskstudy.errors import StudyError
from maskstudy.tasks.task import Task

PRECISIONS = ("float32", "float16")
SPECIAL = 2  # most tokens of a task of bytes that are none: padding, and the sign for a hidden byte
LETTERS = 26  # tokens of synthetic sources are shown as letters, as `spelling.spelled` does
ACTIVATIONS = ("squared_relu", "relu")  # those that modules/model.mjs knows
NORMS = ("layer_norm",)


class Cell(Protocol):
    """One (task, mask) with its role, as the config and the results have it."""

    @property
    def task(self) -> str: ...  # noqa: D102

    @property
    def role(self) -> str: ...  # noqa: D102


AnyCell = TypeVar("AnyCell", bound=Cell)


class EmbeddedModel(NamedTuple):
    """A model as it stands in the page."""

    description: dict[str, Any]  # what modules/model.mjs is built from
    weights: str  # base64, little-endian, tensors in the order of `description["tensors"]`


def read(path: Path) -> Checkpoint:
    """A model that the page can run.

    Raises:
        StudyError: the file holds no model of this study, or one that the page cannot run.
    """
    found = checkpoints.read(path)
    known = {"norm": NORMS, "activation": ACTIVATIONS}
    for name, allowed in known.items():
        if found.block.get(name) not in allowed:
            raise StudyError(f"{path}: {name} {found.block.get(name)!r}: the page knows {', '.join(allowed)} alone")
    task = tasks.build(found.task)
    if not runs_in_the_page(task):
        raise StudyError(
            f"{path}: {task.vocabulary} different tokens: the page spells bytes, or at most {LETTERS} letters"
        )
    if (found.shape.vocabulary, found.shape.answers) != (task.vocabulary, task.answers):
        raise StudyError(f"{path}: its shape does not fit its task {found.task['kind']}; train it again")
    return found


def reads_bytes(task: Task) -> bool:
    """Whether the tokens of a task are the bytes of a text, and special ones; others read words of a text."""
    return task.dataset == "text" and BYTES < task.vocabulary <= BYTES + SPECIAL


def runs_in_the_page(task: Task) -> bool:
    """Whether readers can type what a model of this task reads."""
    return reads_bytes(task) or (task.dataset is None and task.vocabulary <= LETTERS)


def hidden_token(task: Task) -> int | None:
    """The token that stands for a hidden one: `MASK` of the task's module, None where the task hides nothing."""
    return getattr(import_module(type(task).__module__), "MASK", None)


def embedded(model: Checkpoint, precision: str) -> EmbeddedModel:
    """The model as it goes into the page.

    Args:
        model: of `read`.
        precision: of `PRECISIONS`. float16 halves the size and rounds each weight to 11 significant bits.
    """
    kind = np.dtype(precision).newbyteorder("<")
    tensors = [[name, list(weights.shape)] for name, weights in sorted(model.weights.items())]
    row = np.concatenate([weights.ravel() for _, weights in sorted(model.weights.items())]).astype(kind)
    task = tasks.build(model.task)
    text = reads_bytes(task)
    description = {
        **model.cell,
        "kind": model.task["kind"],
        "question": tasks.question(model.task["kind"]),
        "alphabet": "bytes" if text else "letters",
        "symbols": BYTES if text else task.vocabulary,  # special tokens left out
        "hidden": hidden_token(task),
        "generative": task.generative,
        "shape": asdict(model.shape),
        **model.block,
        "precision": precision,
        "tensors": tensors,
    }
    return EmbeddedModel(description, base64.b64encode(row.tobytes()).decode("ascii"))


def of_study(cells: Sequence[AnyCell], built: Mapping[str, Task]) -> list[AnyCell]:
    """The cells of a study whose models go into its page, the most important ones first.

    Those of the first task whose models write text, controls included; those of the first whose models restore hidden
    bytes; and one model that writes the letters of a synthetic source. In a study without any of these, all whose
    tokens can be typed.

    Args:
        cells: of the study, in its order.
        built: its tasks by name.
    """
    typed = [cell for cell in cells if runs_in_the_page(built[cell.task])]
    text = [cell for cell in typed if reads_bytes(built[cell.task])]
    writing = [cell for cell in text if built[cell.task].generative]
    hiding = [cell for cell in text if hidden_token(built[cell.task]) is not None]
    letters = [cell for cell in typed if cell not in text and built[cell.task].generative and cell.role == "study"]
    return _of_first_task(writing) + _of_first_task(hiding) + letters[:1] or typed


def _of_first_task(cells: Sequence[AnyCell]) -> list[AnyCell]:
    return [cell for cell in cells if cell.task == cells[0].task]
