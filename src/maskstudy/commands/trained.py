"""What the verbs that ask trained models have in common."""

from pathlib import Path

from safetensors.torch import load_file

from maskstudy.evaluation import Model, build_model
from maskstudy.shape import ModelShape


def trained_model(run: Path, mask: str, shape: ModelShape) -> Model:
    """The model of a run.

    Args:
        run: its folder.
        mask: the one that it was trained under.
        shape: as `build_model` takes it.
    """
    model = build_model(mask, shape)
    model.load_state_dict(load_file(run / "model.safetensors"))
    return model
