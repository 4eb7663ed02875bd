"""Files of models with random weights, as `maskstudy train` writes them, for whoever reads such files."""

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from maskstudy import checkpoints, tasks
from maskstudy.encoder_decoder import EncoderDecoder
from maskstudy.model import Transformer
from maskstudy.shape import ModelShape, build_shape
from maskstudy.tasks.pronunciation import END, PADDING, SEPARATOR

SIZES = {"train_examples": 4, "validation_examples": 2, "test_examples": 2}
TASKS: dict[str, dict[str, Any]] = {
    "next_byte": {"length": 129},
    "masked_byte": {"length": 64, "hidden": 0.15},
    "markov_next": {"symbols": 12, "length": 65, **SIZES},
    "pronunciation": {},
    "hmm_tagging": {"states": 3, "symbols": 5, "length": 16, **SIZES},
}
STUDY_SHAPE = {"width": 64, "layers": 2, "heads": 4, "positions": "rotary", "dropout": 0.0}  # the default study's
DEEPER = {"pronunciation": {"layers": 4}}  # of the default study, where a task has a shape of its own
SMALL_SHAPE = {"width": 16, "layers": 2, "heads": 2, "positions": "rotary", "dropout": 0.0}


# What the tokens of a model of `pronunciation` stand for: made-up phonemes, and the signs that CMUdict has.
PHONEMES = [first + second for first in "ABCDEFGHIJKLM" for second in "HOX"]
NAMES = [*PHONEMES, END, *"'-.abcdefghijklmnopqrstuvwxyz", SEPARATOR, PADDING]


def model(
    shape: ModelShape, seed: int = 0, kind: type[Transformer | EncoderDecoder] = Transformer
) -> Transformer | EncoderDecoder:
    """A model none of whose weights is 0, with logits and scores of a trained one's size."""
    torch.manual_seed(seed)
    made = kind(shape)
    with torch.no_grad():
        for parameter in made.parameters():
            scale = 1.5 * parameter.shape[1] ** -0.5 if parameter.dim() == 2 else 1.0
            parameter.copy_(torch.randn(parameter.shape) * scale)
    return made.eval()


def study_shape(task: str) -> dict[str, Any]:
    """The shape of the default study's models of a task."""
    return STUDY_SHAPE | DEEPER.get(task, {})


def write(
    path: Path,
    kind: str,
    mask: str = "causal",
    role: str = "study",
    seed: int = 0,
    task: str | None = None,
    **shape: Any,
) -> Path:
    """Write a model of a task and give its path; `shape` changes `SMALL_SHAPE`."""
    settings = {"kind": kind, "parameters": TASKS[kind], "dataset": "wikitext2"}
    built = build_shape(tasks.build(settings), SMALL_SHAPE | shape)
    cell = {"task": task or kind, "mask": mask, "role": role}
    family = EncoderDecoder if mask == "encoder-decoder" else Transformer
    save_file(model(built, seed, family).state_dict(), path, metadata=checkpoints.metadata(cell, settings, built))
    return path
