"""Files of models with random weights, as `maskstudy train` writes them, for whoever reads such files."""

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from maskstudy import checkpoints, tasks
from maskstudy.model import Transformer
from maskstudy.shape import ModelShape, build_shape

SIZES = {"train_examples": 4, "validation_examples": 2, "test_examples": 2}
TASKS: dict[str, dict[str, Any]] = {
    "next_byte": {"length": 129},
    "masked_byte": {"length": 64, "hidden": 0.15},
    "markov_next": {"symbols": 12, "length": 65, **SIZES},
    "hmm_tagging": {"states": 3, "symbols": 5, "length": 16, **SIZES},
}
STUDY_SHAPE = {"width": 64, "layers": 2, "heads": 4, "positions": "rotary", "dropout": 0.0}  # the default study's
SMALL_SHAPE = {"width": 16, "layers": 2, "heads": 2, "positions": "rotary", "dropout": 0.0}


def model(shape: ModelShape, seed: int = 0) -> Transformer:
    """A transformer none of whose weights is 0, with logits and scores of a trained one's size."""
    torch.manual_seed(seed)
    made = Transformer(shape)
    with torch.no_grad():
        for parameter in made.parameters():
            scale = 1.5 * parameter.shape[1] ** -0.5 if parameter.dim() == 2 else 1.0
            parameter.copy_(torch.randn(parameter.shape) * scale)
    return made.eval()


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
    save_file(model(built, seed).state_dict(), path, metadata=checkpoints.metadata(cell, settings, built))
    return path
