"""`maskstudy supervision`: models that trained on every byte, and on the last alone, scored on the same final bytes.

Reads `data/`, `references/` and `runs/` of a results folder; writes `supervision.parquet` beside them.
"""

from typing import Any

import torch

from maskstudy import schemas, tasks
from maskstudy.commands import options
from maskstudy.commands.trained import trained_model
from maskstudy.data.examples import read_examples
from maskstudy.evaluation import log_probabilities
from maskstudy.files import read_json, write_rows
from maskstudy.scoring import score
from maskstudy.shape import build_shape
from maskstudy.supervision import FINAL, check_same_questions, final_only, rows


def main(arguments: list[str]) -> None:
    """Write `supervision.parquet`: one row a run and metric.

    Raises:
        StudyError: bad settings, a file is missing, or the tasks do not ask for the same final bytes.
    """
    parser = options.parser("supervision", __doc__, "tasks", "models", "cells")
    options.add_path(parser, "results", "the results folder, read and written")
    given = parser.parse_args(arguments)
    settings, results = given.settings, given.results

    torch.set_num_threads(1)
    tests = {name: read_examples(results / "data" / name / "test.parquet") for name in settings["tasks"]}
    final = {name: final_only(examples) for name, examples in tests.items()}
    check_same_questions(final)
    # What an n-gram knows of a final byte depends neither on the mask nor on who asks for the bytes before it.
    judge = next(cell for cell in settings["cells"] if settings["tasks"][cell["task"]]["kind"] == FINAL)
    baseline = read_json(results / "references" / judge["task"] / f"{judge['mask']}.json")["baseline"]
    found: list[dict[str, Any]] = []
    for cell in settings["cells"]:
        name, mask = cell["task"], cell["mask"]
        shape = build_shape(tasks.build(settings["tasks"][name]), settings["models"][name])
        for seed in cell["seeds"]:
            folder = results / "runs" / name / mask / f"seed-{seed}"
            run = read_json(folder / "metrics.json")
            metrics = run["metrics"]
            if settings["tasks"][name]["kind"] != FINAL:
                model = trained_model(folder, mask, shape)
                metrics = score(log_probabilities(model, mask, final[name]), final[name]).metrics()
            found += rows(run, metrics, baseline, int(final[name].scored.sum()))
    write_rows(results / "supervision.parquet", found, schemas.SUPERVISION)
