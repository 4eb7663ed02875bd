"""`maskstudy train`: train one model, one (task, mask, seed), on one thread, or on one graphics processor."""

import resource
import sys
import time
from dataclasses import asdict
from typing import Any

import pyarrow as pa
import torch
from safetensors.torch import save_file

from maskstudy import checkpoints, device, tasks
from maskstudy.commands import options
from maskstudy.commands.training_job import check_audit, set_up_process
from maskstudy.data.examples import read_examples
from maskstudy.errors import StudyError
from maskstudy.files import read_json, replacing, write_json, write_table
from maskstudy.model import parameter_count
from maskstudy.schemas import HISTORY
from maskstudy.shape import build_shape
from maskstudy.training import history_columns, train
from maskstudy.training_settings import TrainingSettings
from maskstudy.tuning_settings import scaled


def main(arguments: list[str]) -> None:
    """Write `model.safetensors`, `history.parquet`, `cost.json` and `timing.json` into `--run`.

    Raises:
        StudyError: the audit is of another cell, or its verdict is not the one that the role of the cell asks for; the
            learning rates were chosen for another cell; the device is not there.
    """
    parser = options.parser("train", __doc__, "cell", "task", "model", "training", "device")
    options.add_run(parser)
    options.add_path(parser, "audit", "the verdict on the cell (JSON)")
    options.add_path(parser, "tuning", "the learning rates that the cell chose (JSON)")
    given = parser.parse_args(arguments)

    cell = given.settings["cell"]
    check_audit(read_json(given.audit), cell)
    training = scaled(TrainingSettings(**given.settings["training"]), _tuned(read_json(given.tuning), cell))
    computed_on = set_up_process(given.settings["device"])
    task = tasks.build(given.settings["task"])
    shape = build_shape(task, given.settings["model"])
    examples, validation = (read_examples(given.data / f"{name}.parquet") for name in ("train", "validation"))
    started, cpu_started = time.perf_counter(), time.process_time()
    model, history, cost = train(
        task,
        cell["mask"],
        examples,
        validation,
        shape,
        training,
        given.seed,
        report=lambda line: print(f"{cell['task']} {cell['mask']} seed {given.seed}  {line}", flush=True),
        device=computed_on,
    )
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
    with replacing(given.run / "model.safetensors") as temporary:
        metadata = checkpoints.metadata(cell, given.settings["task"], shape)
        save_file(model.state_dict(), temporary, metadata=metadata)
    write_table(given.run / "history.parquet", pa.table(history_columns(history), schema=HISTORY), HISTORY)
    write_json(given.run / "cost.json", {**asdict(cost), "parameters": parameter_count(model)})
    write_json(
        given.run / "timing.json",
        {
            "task": cell["task"],
            "mask": cell["mask"],
            "seed": given.seed,
            "train_seconds": seconds,
            "cpu_seconds": cpu_seconds,
            "peak_memory_bytes": _peak_memory_bytes(),
            "device": device.described(computed_on),
            "threads": torch.get_num_threads(),
            "torch": torch.__version__,
        },
    )


def _tuned(found: dict[str, Any], cell: dict[str, str]) -> float:
    """The scale that this cell chose for its learning rates."""
    if {name: found.get(name) for name in cell} != cell:
        where = f"task {cell['task']}, mask {cell['mask']}"
        raise StudyError(f"the learning rates were not chosen for {where} ({cell['role']}); run the rule tune again")
    return float(found["chosen"])


def _peak_memory_bytes() -> int:
    """Largest resident memory of this process; macOS counts bytes, others KiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
