"""`maskstudy representations`: what the residual streams of the models of one task hold, by layer, on test examples.

Reads `data/` and `runs/` of a results folder; writes `representations/TASK.parquet` beside them. Exploratory.
"""

from typing import Any

import torch

from maskstudy import schemas, tasks
from maskstudy.audit import random_model
from maskstudy.commands import options
from maskstudy.commands.trained import trained_model
from maskstudy.data.examples import read_examples
from maskstudy.files import write_rows
from maskstudy.representations import chosen, measures, streams
from maskstudy.shape import build_shape

RANDOM = 3  # seeds of random weights: they are a control, and differ little


def main(arguments: list[str]) -> None:
    """Write the measures of all runs of the cells, and of as many masks with random weights: one row a measure.

    Raises:
        StudyError: bad settings, or a file is missing.
    """
    parser = options.parser("representations", __doc__, "cells", "task", "model")
    options.add_path(parser, "results", "the results folder, read and written")
    given = parser.parse_args(arguments)
    settings, results = given.settings, given.results

    torch.set_num_threads(1)
    name, seeds = settings["cells"][0]["task"], settings["cells"][0]["seeds"]  # the same for all cells of a task
    roles = {cell["mask"]: cell["role"] for cell in settings["cells"]}
    shape = build_shape(tasks.build(settings["task"]), settings["model"])
    examples = chosen(read_examples(results / "data" / name / "test.parquet"))
    found: list[dict[str, Any]] = []
    for place, seed in enumerate(seeds):
        layers = {}
        for mask in roles:
            model = trained_model(results / "runs" / name / mask / f"seed-{seed}", mask, shape)
            layers[mask] = streams(model, mask, examples)
        rows = [{"weights": "trained", **row} for row in measures(layers, examples)]
        if place < RANDOM:
            untrained = random_model(shape, seed).float()
            layers = {mask: streams(untrained, mask, examples) for mask in roles}
            rows += [{"weights": "random", **row} for row in measures(layers, examples)]
        found += [{"task": name, "role": roles[row["mask"]], "seed": seed, **row} for row in rows]
    write_rows(results / "representations" / f"{name}.parquet", found, schemas.REPRESENTATIONS)
