"""Where the CPU time of the whole study goes: training, and everything else.

The study is run once, from nothing to report, as it stands in config.yaml but with two seeds and two training steps a
run, and the CPU time of every job is read when its shell ends. What is done for each run is then taken as often as the
study has runs, and set beside the training time of the finished results (`--results`). The evaluations of the
learning curve count as training; the start of a training job, and its reading and writing, do not.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml

from benchmarks.effort import Effort
from benchmarks.planning import REPOSITORY, smallest
from benchmarks.tables import Table
from benchmarks.timing import Spread, children_cpu
from maskstudy import config as study
from maskstudy.data.raw import WHEELS

SEEDS = 2
OF_A_RUN = ("train", "evaluate", "generate")
SNAKEMAKE, TRAINING = "snakemake itself", "training"
# Sourced by the shell of every job: when it ends, its command and the CPU time of its children go to a file.
TRAP = """trap '{ printf "%s\\n" "${BASH_EXECUTION_STRING//$'"'\\n'"'/ }"; times; } > "$JOB_TIMES/$$-$RANDOM"' EXIT\n"""


def measure(effort: Effort) -> list[Table]:
    """CPU seconds by verb, for as many seeds as the config has, and each one's share."""
    config = yaml.safe_load((REPOSITORY / "config.yaml").read_text(encoding="utf-8"))
    if effort.smallest:
        config = smallest(config)
    cells = study.cells(config)
    runs = sum(len(study.seeds(config, cell.task)) for cell in cells)
    with tempfile.TemporaryDirectory() as folder:
        spent, jobs, trained = _run(_short(config), Path(folder))
    spent["train"] -= trained
    timing = effort.results / "timing.parquet"
    rows: dict[str, dict[str, Spread]] = {}
    for verb, seconds in spent.items():
        times = runs / (SEEDS * len(cells)) if verb in OF_A_RUN else 1
        name = "train: start, reading, writing" if verb == "train" else verb
        rows[name] = {"jobs": _exactly(jobs[verb] * times), "CPU s": _exactly(seconds * times)}
    other = sum(row["CPU s"].median for row in rows.values())
    notes = [f"measured with {SEEDS} seeds a cell, given for {runs} runs"]
    rows["everything but training"] = {"CPU s": _exactly(other)}
    if timing.is_file():
        training = sum(pq.read_table(timing, columns=["cpu_seconds"])["cpu_seconds"].to_pylist())
        rows[TRAINING] = {"CPU s": _exactly(training)}
        for row in rows.values():
            row["share"] = _exactly(row["CPU s"].median / (other + training))
    else:
        notes.append(f"{timing} is missing: no share; run `snakemake` first")
    return [Table("CPU time of the study", rows, notes)]


def _short(config: dict[str, Any]) -> dict[str, Any]:
    """The study with two seeds, two steps a run, and nothing declared."""
    length = {"steps": 2, "points": 1}
    tasks = {
        name: {**entry, "seeds": SEEDS, "training": {**entry.get("training", {}), **length}}
        for name, entry in config["tasks"].items()
    }
    return {**config, "seeds": SEEDS, "confirmatory": False, "comparisons": [], "tasks": tasks}


def _run(config: dict[str, Any], folder: Path) -> tuple[dict[str, float], dict[str, int], float]:
    """Run the study in a folder: CPU seconds by verb, jobs by verb, and CPU seconds inside the training loops."""
    times = folder / "times"
    times.mkdir()
    (folder / "trap.sh").write_text(TRAP, encoding="utf-8")
    configfile = folder / "study.json"
    configfile.write_text(json.dumps(config), encoding="utf-8")
    wheels = [REPOSITORY / config["data"] / wheel for wheel in WHEELS]
    if all(wheel.is_file() for wheel in wheels):  # otherwise the study downloads them
        target = folder / config["data"]
        target.mkdir(parents=True)
        for wheel in wheels:
            shutil.copy(wheel, target)
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(REPOSITORY / "Snakefile"), "--quiet"]
    command += ["--directory", str(folder), "--configfile", str(configfile)]
    variables = {**os.environ, "BASH_ENV": str(folder / "trap.sh"), "JOB_TIMES": str(times)}
    started = children_cpu()
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    total = children_cpu() - started
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")

    times_of = shell_times(times)
    spent = {verb: sum(seconds) for verb, seconds in times_of.items()}
    jobs = {verb: len(seconds) for verb, seconds in times_of.items()}
    spent[SNAKEMAKE], jobs[SNAKEMAKE] = total - sum(spent.values()), 1
    trained = pq.read_table(folder / config["results"] / "timing.parquet", columns=["cpu_seconds"])
    return spent, jobs, sum(trained["cpu_seconds"].to_pylist())


def shell_times(folder: Path) -> dict[str, list[float]]:
    """The CPU seconds of each job by verb, from the files that `TRAP` wrote."""
    found: dict[str, list[float]] = defaultdict(list)
    for path in sorted(folder.iterdir()):
        call, _, of_children = path.read_text(encoding="utf-8").splitlines()
        verb = call.partition("maskstudy ")[2].split(" ")[0] if "maskstudy " in call else "settings and report.html"
        found[verb].append(sum(_seconds(text) for text in of_children.split()))
    return dict(found)


def _seconds(text: str) -> float:
    """What the shell's `times` prints: `1m2.345s`."""
    minutes, _, seconds = text.rstrip("s").partition("m")
    return 60 * float(minutes) + float(seconds)


def _exactly(value: float) -> Spread:
    return Spread(value, value, value)
