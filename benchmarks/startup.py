"""How long `maskstudy`, its verbs and the imports take before any work begins."""

import subprocess
import sys
import time

from benchmarks.effort import Effort
from benchmarks.tables import Table
from benchmarks.timing import Clock, Seconds, alternating, children_cpu, spread, timed
from maskstudy.cli import VERBS

PYTHON = "python -c pass"


def measure(effort: Effort) -> list[Table]:
    """CPU seconds of each process; of the quick ones also wall seconds, which a user waits."""
    quick = {
        PYTHON: ["-c", "pass"],
        "import maskstudy": ["-c", "import maskstudy"],
        "maskstudy --help": ["-m", "maskstudy", "--help"],
    }
    commands = dict(quick)
    if not effort.smallest:
        commands |= {"import torch": ["-c", "import torch"]}
        commands |= {f"maskstudy {verb} --help": ["-m", "maskstudy", verb, "--help"] for verb in VERBS}
    cpu, wall = _seconds(commands, children_cpu, effort), _seconds(quick, time.perf_counter, effort)
    rows = {name: {"CPU s": spread(taken)} for name, taken in cpu.items()}
    for name, taken in wall.items():
        rows[name]["wall s"] = spread(taken)
    return [Table("start-up", rows)]


def _seconds(commands: dict[str, list[str]], clock: Clock, effort: Effort) -> Seconds:
    measures = {name: timed(lambda options=options: _run(options), clock) for name, options in commands.items()}
    return alternating(measures, effort.rounds_or(5), effort.warmup)


def _run(options: list[str]) -> None:
    subprocess.run([sys.executable, *options], stdout=subprocess.DEVNULL, check=True)
