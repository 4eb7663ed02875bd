"""`maskstudy tune`: let one cell choose its learning rates, on validation data, with seeds that are never reported.

Every cell searches the same grid. Writes the whole curve, the chosen scale, and whether it lies at the grid's edge.
"""

from functools import partial
from typing import Any

import numpy as np

from maskstudy import tasks
from maskstudy.commands import options
from maskstudy.commands.training_job import check_audit, set_up_process
from maskstudy.data.examples import read_examples
from maskstudy.files import read_json, write_json
from maskstudy.shape import build_shape
from maskstudy.training import Diverged, train
from maskstudy.training_settings import TrainingSettings
from maskstudy.tuning_settings import TuningSettings, at_edge, choose, scaled


def main(arguments: list[str]) -> None:
    """Write `--out`.

    Raises:
        StudyError: the audit is of another cell or not passed, the device is not there, or the training diverges at
            every scale.
    """
    parser = options.parser("tune", __doc__, "cell", "task", "model", "training", "tuning", "device")
    options.add_path(parser, "data", "folder of the prepared examples")
    options.add_path(parser, "audit", "the verdict on the cell (JSON)")
    options.add_path(parser, "out", "what was found (JSON), written")
    given = parser.parse_args(arguments)

    cell = given.settings["cell"]
    check_audit(read_json(given.audit), cell)
    tuning, declared = TuningSettings.of(given.settings["tuning"]), TrainingSettings(**given.settings["training"])
    # A grid of one point has nothing to choose from.
    curve = _curve(given, tuning, declared) if len(tuning.scales) > 1 else []
    chosen = choose(_means(curve), tuning.tolerance) if curve else 1.0
    taken = scaled(declared, chosen)
    edge = at_edge(chosen, tuning.scales)
    print(f"{cell['task']} {cell['mask']}: {chosen:g} times the declared rates" + ", the edge of the grid" * edge)
    write_json(
        given.out,
        {
            **cell,
            "metric": "nats",
            "scales": list(tuning.scales),
            "seeds": tuning.seed_numbers,
            "steps": tuning.shortened(declared).steps,
            "tolerance": tuning.tolerance,
            "curve": curve,
            "chosen": chosen,
            "learning_rate": taken.learning_rate,
            "adamw_learning_rate": taken.adamw_learning_rate,
            "at_edge": edge,
        },
    )


def _means(curve: list[dict[str, Any]]) -> dict[float, float]:
    """The mean loss of each scale over its seeds; infinite where the training diverged with one of them."""
    losses: dict[float, list[float]] = {}
    for row in curve:
        losses.setdefault(row["scale"], []).append(np.inf if row["nats"] is None else row["nats"])
    return {scale: float(np.mean(values)) for scale, values in losses.items()}


def _curve(given: Any, tuning: TuningSettings, declared: TrainingSettings) -> list[dict[str, Any]]:
    """One row a (scale, seed): its rates, and the validation loss and accuracy at its end, null where it diverged."""
    computed_on = set_up_process(given.settings["device"])
    cell, task = given.settings["cell"], tasks.build(given.settings["task"])
    shape = build_shape(task, given.settings["model"])
    examples, validation = (read_examples(given.data / f"{name}.parquet") for name in ("train", "validation"))
    rows = []
    for scale in tuning.scales:
        training = scaled(tuning.shortened(declared), scale)
        for seed in tuning.seed_numbers:
            name = f"{cell['task']} {cell['mask']} scale {scale:g} seed {seed}"
            row = {
                "scale": scale,
                "seed": seed,
                "learning_rate": training.learning_rate,
                "adamw_learning_rate": training.adamw_learning_rate,
                "nats": None,
                "accuracy": None,
            }
            try:
                _, history, cost = train(
                    task,
                    cell["mask"],
                    examples,
                    validation,
                    shape,
                    training,
                    seed,
                    report=partial(_report, name),
                    device=computed_on,
                )
            except Diverged as error:
                print(f"{name}  {error}", flush=True)
                rows.append(row | {"train_flops": None})
            else:
                end = history[-1]
                rows.append(row | {"nats": end.nats, "accuracy": end.accuracy, "train_flops": cost.train_flops})
    return rows


def _report(name: str, line: str) -> None:
    print(f"{name}  {line}", flush=True)
