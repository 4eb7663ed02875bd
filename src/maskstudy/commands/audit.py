"""`maskstudy audit`: decide whether any scored position of a cell sees its own answer; nothing trains before.

The verdict follows from the masks, and is then measured on a model with random weights.
"""

from typing import Any

import numpy as np
import torch

from maskstudy import tasks
from maskstudy.audit import Leak, Measurement, access_grid, find_leak, measure, scored_access_digest
from maskstudy.commands import options
from maskstudy.data.examples import read_examples
from maskstudy.errors import StudyError
from maskstudy.files import write_json
from maskstudy.randomness import stream
from maskstudy.shape import build_shape

GRID_LENGTH = 8  # positions of the access grids that the figures show
GRID_CONDITION = 4  # of which so many are the condition, where the task has one
TRAIN_EXAMPLES = 1024  # hidden anew in every batch, by the same rule; validation and test are audited whole


def main(arguments: list[str]) -> None:
    """Write the verdict of one cell, or stop.

    Raises:
        StudyError: a study cell leaks, a control does not, or a model does not do what its masks say.
    """
    parser = options.parser("audit", __doc__, "cell", "task", "model")
    options.add_path(parser, "data", "folder of the prepared examples")
    options.add_path(parser, "out", "where the verdict goes (JSON)")
    given = parser.parse_args(arguments)

    torch.set_num_threads(1)
    cell, task = given.settings["cell"], tasks.build(given.settings["task"])
    mask, shape = cell["mask"], build_shape(task, given.settings["model"])
    train, validation, test = (
        read_examples(given.data / f"{name}.parquet") for name in ("train", "validation", "test")
    )
    first = np.arange(min(TRAIN_EXAMPLES, len(train)))
    hidden_anew = task.batch(train, first, stream(0, "audit"))
    found = ((find_leak(mask, shape.layers, split), split) for split in (test, validation, hidden_anew))
    leak, measured_on = next((one for one in found if one[0]), (None, test))
    _refuse(cell, leak)
    measurement = measure(mask, shape, measured_on)
    _refuse_contradiction(cell, measurement)
    write_json(
        given.out,
        {
            **cell,
            "leaks": leak is not None,
            "measured_leaks": measurement.leaks,
            "position": leak and leak.position,
            "path": leak and leak.describe(),
            "scored_access": scored_access_digest(mask, shape.layers, test),
            "grid": access_grid(mask, shape.layers, GRID_LENGTH, GRID_CONDITION if test.condition_lengths.any() else 0),
        },
    )


def _refuse(cell: dict[str, Any], leak: Leak | None) -> None:
    """Stop the study where the verdict is not the one that the role of the cell asks for."""
    where = f"task {cell['task']}, mask {cell['mask']}"
    if leak and cell["role"] == "study":
        raise StudyError(
            f"{where}: scored position {leak.position} sees its own answer: {leak.describe()}; "
            "declare the mask under `controls`, or change the task or the mask"
        )
    if not leak and cell["role"] == "control":
        raise StudyError(f"{where}: declared as a control, but no scored position sees its answer; move it to `masks`")


def _refuse_contradiction(cell: dict[str, Any], measurement: Measurement) -> None:
    """Stop the study where a model does not do what its masks say: then nothing that the audit says can be trusted."""
    if words := measurement.contradiction():
        raise StudyError(f"task {cell['task']}, mask {cell['mask']}: {words}; mend the model's use of its masks")
