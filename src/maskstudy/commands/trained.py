"""What the verbs that ask trained models have in common."""

from pathlib import Path

import torch

from maskstudy import checkpoints
from maskstudy.errors import StudyError
from maskstudy.evaluation import Model, build_model
from maskstudy.shape import BLOCK, ModelShape


def trained_model(run: Path, mask: str, shape: ModelShape) -> Model:
    """The model of a run.

    Args:
        run: its folder.
        mask: the one that it was trained under.
        shape: as `build_model` takes it.

    Raises:
        StudyError: the weights are missing, not readable, or those of another mask, shape or kind of block.
    """
    path = run / "model.safetensors"
    found = checkpoints.read(path)
    for name, written, asked in (
        ("mask", found.cell["mask"], mask),
        ("shape", found.shape, shape),
        ("block", found.block, BLOCK),
    ):
        if written != asked:
            raise StudyError(f"{path}: trained with {name} {written}, not {asked}; delete it and run snakemake {path}")
    model = build_model(mask, shape)
    model.load_state_dict({tensor: torch.from_numpy(weights) for tensor, weights in found.weights.items()})
    return model
