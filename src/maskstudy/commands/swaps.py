"""`maskstudy swaps`: score the models of one task on its test examples under every other mask of the task.

Reads `data/`, `audit/` and `runs/` of a results folder; writes `swaps/TASK.parquet` beside them. Exploratory.
"""

from typing import Any

import numpy as np
import torch

from maskstudy import schemas, tasks
from maskstudy.commands import options
from maskstudy.commands.trained import trained_model
from maskstudy.data.examples import read_examples
from maskstudy.evaluation import log_probabilities
from maskstudy.files import read_json, write_rows
from maskstudy.scoring import score
from maskstudy.shape import build_shape
from maskstudy.swaps import rows


def main(arguments: list[str]) -> None:
    """Write the scores of all runs of the cells: one row a run, other mask and metric.

    Raises:
        StudyError: bad settings, or a file is missing.
    """
    parser = options.parser("swaps", __doc__, "cells", "task", "model")
    options.add_path(parser, "results", "the results folder, read and written")
    given = parser.parse_args(arguments)
    settings, results = given.settings, given.results

    torch.set_num_threads(1)
    cells = settings["cells"]
    name = cells[0]["task"]
    shape = build_shape(tasks.build(settings["task"]), settings["model"])
    test = read_examples(results / "data" / name / "test.parquet")
    test = test[np.argsort(test.lengths, kind="stable")]  # of like length together: little is computed for padding
    audits = {cell["mask"]: read_json(results / "audit" / name / f"{cell['mask']}.json") for cell in cells}
    found: list[dict[str, Any]] = []
    for cell in cells:
        trained = cell["mask"]
        for seed in cell["seeds"]:
            folder = results / "runs" / name / trained / f"seed-{seed}"
            run = read_json(folder / "metrics.json")
            model = trained_model(folder, trained, shape)
            for tested in audits:
                if tested != trained:
                    metrics = score(log_probabilities(model, tested, test), test).metrics()
                    found += rows(run, audits[trained], audits[tested], metrics)
    write_rows(results / "swaps" / f"{name}.parquet", found, schemas.SWAPS)
