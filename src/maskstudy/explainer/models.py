"""Trained models as the page holds them: a description as JSON, and all weights in one row as base64."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from maskstudy import checkpoints, tasks
from maskstudy.checkpoints import Checkpoint
from maskstudy.data.windows import BYTES
from maskstudy.errors import StudyError
from maskstudy.tasks.pronunciation import SEPARATOR, Pronunciation
from maskstudy.tasks.task import Task

PRECISIONS = ("float32", "float16", "float12")  # the last is the first twelve bits of the one before
SPECIAL = 2  # most tokens of a task of bytes that are none: padding, and the sign for a hidden byte
LETTERS = 26  # tokens of synthetic sources are shown as letters, as `spelling.spelled` does
ACTIVATIONS = ("squared_relu", "relu")  # those that modules/model.mjs knows
NORMS = ("layer_norm",)
ENCODER_DECODER = "encoder-decoder"


class Cell(Protocol):
    """One (task, mask) with its role, as the config and the results have it."""

    @property
    def task(self) -> str: ...  # noqa: D102

    @property
    def mask(self) -> str: ...  # noqa: D102

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
    if not (translates(found.cell["mask"], task) or runs_in_the_page(task)):
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


def translates(mask: str, task: Task) -> bool:
    """Whether a model of this task under this mask reads the reader's word and writes it as other symbols."""
    return mask == ENCODER_DECODER and isinstance(task, Pronunciation)


def hidden_token(task: Task) -> int | None:
    """The token that stands for a hidden one: `MASK` of the task's module, None where the task hides nothing."""
    return getattr(import_module(type(task).__module__), "MASK", None)


def embedded(model: Checkpoint, precision: str, names: Sequence[str] = ()) -> EmbeddedModel:
    """The model as it goes into the page.

    Args:
        model: of `read`.
        precision: of `PRECISIONS`. float16 halves the size and rounds each weight to 11 significant bits; float12 takes
            three quarters of that, and rounds to 7.
        names: what the tokens of an encoder–decoder stand for, by number.

    Raises:
        StudyError: an encoder–decoder without names, or with those of other tokens.
    """
    tensors = [[name, list(weights.shape)] for name, weights in sorted(model.weights.items())]
    row = np.concatenate([weights.ravel() for _, weights in sorted(model.weights.items())])
    task = tasks.build(model.task)
    description = {
        **model.cell,
        "kind": model.task["kind"],
        "question": tasks.question(model.task["kind"]),
        **_alphabet(model, task, names),
        "hidden": hidden_token(task),
        "generative": task.generative,
        "shape": asdict(model.shape),
        **model.block,
        "precision": precision,
        "tensors": tensors,
    }
    return EmbeddedModel(description, base64.b64encode(_as_bytes(row, precision)).decode("ascii"))


def _alphabet(model: Checkpoint, task: Task, names: Sequence[str]) -> dict[str, Any]:
    """How the page gets from what is typed to tokens; `symbols` counts those that are no special ones."""
    if isinstance(task, Pronunciation):
        if len(names) != task.vocabulary:
            raise StudyError(
                f"{model.cell['task']}: {len(names)} names for {task.vocabulary} tokens: give summary.json of the "
                "prepared data of this model with --names"
            )
        start = list(names).index(SEPARATOR)
        return {"alphabet": "names", "symbols": start, "names": list(names), "start": start, "end": task.end}
    if reads_bytes(task):
        return {"alphabet": "bytes", "symbols": BYTES}
    return {"alphabet": "letters", "symbols": task.vocabulary}


def _as_bytes(row: NDArray[np.float32], precision: str) -> bytes:
    """Weights in little-endian order; of float12, two weights make three bytes, their bits from the highest on."""
    if precision != "float12":
        return row.astype(np.dtype(precision).newbyteorder("<")).tobytes()
    halves = np.append(row, np.zeros(len(row) % 2)).astype(np.float16).view(np.uint16)
    last_kept = (halves >> 4) & 1
    bits = (halves + 7 + last_kept) >> 4  # to the nearest, and to the even one where two are as near
    first, second = bits[::2], bits[1::2]
    three = np.stack([first >> 4, (first & 15) << 4 | second >> 8, second & 255], axis=1)
    return three.astype(np.uint8).tobytes()


def of_study(cells: Sequence[AnyCell], built: Mapping[str, Task]) -> list[AnyCell]:
    """The cells of a study whose models go into its page, the most important ones first.

    Those of the first task whose models write text, controls included; one encoder–decoder; those of the first task
    whose models restore hidden bytes; and one model that writes the letters of a synthetic source. In a study without
    any of these but the encoder–decoder, all whose tokens can be typed; in one without such tokens, none.

    Args:
        cells: of the study, in its order.
        built: its tasks by name.
    """
    typed = [cell for cell in cells if runs_in_the_page(built[cell.task])]
    text = [cell for cell in typed if reads_bytes(built[cell.task])]
    writing = [cell for cell in text if built[cell.task].generative]
    hiding = [cell for cell in text if hidden_token(built[cell.task]) is not None]
    letters = [cell for cell in typed if cell not in text and built[cell.task].generative and cell.role == "study"]
    across = [cell for cell in cells if translates(cell.mask, built[cell.task])][:1]
    if not (writing or hiding or letters):
        return typed + across if typed else []
    return _of_first_task(writing) + across + _of_first_task(hiding) + letters[:1]


def _of_first_task(cells: Sequence[AnyCell]) -> list[AnyCell]:
    return [cell for cell in cells if cell.task == cells[0].task]
