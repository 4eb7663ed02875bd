"""A trained model as a file: its weights, and what they are the weights of.

The format is safetensors, so nothing is ever unpickled. One entry of its metadata says, as JSON, what a reader needs to
run the model elsewhere: the cell, the task and the shape. It is one entry alone, for safetensors writes several in an
order that differs from run to run. No torch here: whoever only reads a model needs none.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from maskstudy.errors import StudyError
from maskstudy.shape import BLOCK, ModelShape

_ENTRY = "maskstudy"


@dataclass(frozen=True)
class Checkpoint:
    """A model that was read from a file.

    Attributes:
        cell: `task`, `mask` and `role`.
        task: `kind` and `parameters`, as `tasks.build` takes them.
        shape: of the model.
        block: what stands in a block, `shape.BLOCK` of the code that trained it.
        weights: by name, as `Transformer.state_dict` names them.
    """

    cell: dict[str, str]
    task: dict[str, Any]
    shape: ModelShape
    block: dict[str, str]
    weights: dict[str, NDArray[np.float32]]


def metadata(cell: Mapping[str, str], task: Mapping[str, Any], shape: ModelShape) -> dict[str, str]:
    """What a file of weights says about itself.

    Args:
        cell: `task`, `mask` and `role`.
        task: settings of the task; of these, the names of the reader's own files are not written down.
        shape: of the model.
    """
    description = {
        "cell": dict(cell),
        "task": {name: task[name] for name in ("kind", "parameters")},
        "shape": asdict(shape),
        "block": BLOCK,
    }
    return {_ENTRY: json.dumps(description, sort_keys=True)}


def read(path: Path) -> Checkpoint:
    """A model of this study, from its file.

    Raises:
        StudyError: the file is missing, is no safetensors file, or does not say which model of this study it is.
    """
    try:
        with safe_open(path, "np") as file:
            entry = (file.metadata() or {}).get(_ENTRY)
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dictionary)
    except FileNotFoundError:
        raise StudyError(
            f"{path}: no such file; give a model.safetensors of a run, or make it: snakemake {path}"
        ) from None
    except (SafetensorError, OSError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise StudyError(f"{path}: not a file of weights ({reason}); give a model.safetensors of a run") from None
    try:
        description = json.loads(entry or "")
        shape = ModelShape(**description["shape"])
        return Checkpoint(description["cell"], description["task"], shape, description["block"], weights)
    except (json.JSONDecodeError, KeyError, TypeError):
        raise StudyError(
            f"{path}: its metadata names no task and shape of this study; only models that `maskstudy train` of this "
            "version wrote can be read"
        ) from None
