"""`maskstudy audit`: decide whether any scored position of a cell sees its own answer; nothing trains before."""

from typing import Any

import numpy as np

from maskstudy import tasks
from maskstudy.audit import Leak, access_grid, find_leak, scored_access_digest
from maskstudy.commands import options
from maskstudy.data.examples import read_examples
from maskstudy.errors import StudyError
from maskstudy.files import write_json
from maskstudy.randomness import stream

GRID_LENGTH = 8  # positions of the access grids that the figures show
TRAIN_EXAMPLES = 1024  # hidden anew in every batch, by the same rule; validation and test are audited whole


def main(arguments: list[str]) -> None:
    """Write the verdict of one cell, or stop.

    Raises:
        StudyError: a study cell leaks, or a control does not.
    """
    parser = options.parser("audit", __doc__, "cell", "task", "layers")
    options.add_path(parser, "data", "folder of the prepared examples")
    options.add_path(parser, "out", "where the verdict goes (JSON)")
    given = parser.parse_args(arguments)

    cell, layers = given.settings["cell"], given.settings["layers"]
    task = tasks.build(given.settings["task"])
    train, validation, test = (
        read_examples(given.data / f"{name}.parquet") for name in ("train", "validation", "test")
    )
    first = np.arange(min(TRAIN_EXAMPLES, len(train)))
    hidden_anew = task.batch(train, first, stream(0, "audit"))
    leak = next(
        (found for split in (test, validation, hidden_anew) if (found := find_leak(cell["mask"], layers, split))), None
    )
    _refuse(cell, leak)
    write_json(
        given.out,
        {
            **cell,
            "leaks": leak is not None,
            "measured_leaks": None,
            "position": leak and leak.position,
            "path": leak and leak.describe(),
            "scored_access": scored_access_digest(cell["mask"], layers, test),
            "grid": access_grid(cell["mask"], layers, GRID_LENGTH),
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
