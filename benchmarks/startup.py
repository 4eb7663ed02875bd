"""How long `maskstudy`, its verbs and the imports take before any work begins."""

import subprocess
import sys
import time

from benchmarks.effort import Effort
from benchmarks.tables import Table
from benchmarks.timing import alternating, children_cpu, spread, timed
from maskstudy.cli import VERBS

PYTHON = "python -c pass"


def measure(effort: Effort) -> list[Table]:
    """CPU seconds of each process, and wall seconds, which a user waits and a busy machine stretches."""
    commands = {
        PYTHON: ["-c", "pass"],
        "import maskstudy": ["-c", "import maskstudy"],
        "import torch": ["-c", "import torch"],
        "maskstudy --help": ["-m", "maskstudy", "--help"],
        **{f"maskstudy {verb} --help": ["-m", "maskstudy", verb, "--help"] for verb in VERBS},
    }
    if effort.smallest:
        commands = {name: commands[name] for name in (PYTHON, "maskstudy --help")}
    rows: dict[str, dict[str, object]] = {name: {} for name in commands}
    for column, clock in {"CPU s": children_cpu, "wall s": time.perf_counter}.items():
        measures = {name: timed(lambda options=options: _run(options), clock) for name, options in commands.items()}
        for name, taken in alternating(measures, effort.rounds_or(5), effort.warmup).items():
            rows[name][column] = spread(taken)
    return [Table("start-up", rows)]


def _run(options: list[str]) -> None:
    subprocess.run([sys.executable, *options], stdout=subprocess.DEVNULL, check=True)
