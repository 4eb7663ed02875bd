"""Where the CPU time of the whole study goes: training, and everything else.

The study is run once, from nothing to report, as it stands in config.yaml but with two seeds and two training steps a
run, and the CPU time of every job is read when its shell ends. What is done for each run is then taken as often as its
task has seeds. What reads all runs of a task or of the study is done once more, on a copy of the finished results
(`--results`), and their training time stands beside it all. Tuning trains too: each cell for as many steps as its
declared grid asks, at the speed of its runs. The evaluations of the learning curve count as training; the start of a
training job, and its reading and writing, do not.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import yaml

from benchmarks.effort import Effort
from benchmarks.planning import REPOSITORY, smallest
from benchmarks.tables import Table
from benchmarks.timing import Spread, children_cpu
from maskstudy import config as study
from maskstudy.data.raw import WHEELS

SEEDS = 2
OF_ALL_RUNS = ("swaps", "representations", "supervision", "compare", "samples")  # each reads many runs
SNAKEMAKE, TUNING, TRAINING = "snakemake itself", "tuning", "training"
# Sourced by the shell of every job: when it ends, its command and the CPU time of its children go to a file.
TRAP = """trap '{ printf "%s\\n" "${BASH_EXECUTION_STRING//$'"'\\n'"'/ }"; times; } > "$JOB_TIMES/$$-$RANDOM"' EXIT\n"""


class Job(NamedTuple):
    """What a job of the workflow took; `task` is empty where it is not of one run."""

    verb: str
    task: str
    seconds: float


def measure(effort: Effort) -> list[Table]:
    """CPU seconds by verb, for as many seeds as the config has, and each one's share."""
    config = yaml.safe_load((REPOSITORY / "config.yaml").read_text(encoding="utf-8"))
    if effort.smallest:
        config = smallest(config)
    finished = (effort.results / "timing.parquet").is_file()
    with tempfile.TemporaryDirectory() as folder:
        jobs = _from_nothing(_short(config), Path(folder, "short"))
        if finished:
            jobs = [job for job in jobs if job.verb not in OF_ALL_RUNS]
            jobs += _of_all_runs(config, effort.results, Path(folder, "finished"))
    rows: dict[str, dict[str, Spread]] = {}
    for verb in dict.fromkeys(job.verb for job in jobs):
        of_verb = [job for job in jobs if job.verb == verb]
        times = [len(study.seeds(config, job.task)) / SEEDS if job.task else 1 for job in of_verb]
        seconds = sum(often * job.seconds for often, job in zip(times, of_verb, strict=True))
        name = {"train": "train: start, reading, writing", "tune": "tune: the same"}.get(verb, verb)
        rows[name] = {"jobs": _exactly(sum(times)), "CPU s": _exactly(seconds)}
    other = sum(row["CPU s"].median for row in rows.values())
    rows["everything but training"] = {"CPU s": _exactly(other)}
    notes = [f"measured with {SEEDS} seeds a cell, given for as many as the study has"]
    if finished:
        trained = _training(effort.results)
        rows |= {name: {"CPU s": _exactly(seconds)} for name, seconds in trained.items()}
        for row in rows.values():
            row["share"] = _exactly(row["CPU s"].median / (other + sum(trained.values())))
    else:
        notes.append(f"{effort.results} holds no finished study: no share; run `snakemake` first")
    return [Table("CPU time of the study", rows, notes)]


def _training(results: Path) -> dict[str, float]:
    """CPU seconds of the training loops of a study: of its tuning, at the speed of the runs of a cell, and its runs."""
    cell = ["task", "mask"]
    tables = {name: pq.read_table(results / f"{name}.parquet") for name in ("timing", "metrics", "tuning")}
    seconds = tables["timing"].group_by(cell).aggregate([("cpu_seconds", "mean")])
    flops = tables["metrics"].group_by(cell).aggregate([("train_flops", "mean")])
    tuned = tables["tuning"].group_by(cell).aggregate([("train_flops", "sum")]).rename_columns([*cell, "tuning_flops"])
    of_cells = seconds.join(flops, cell).join(tuned, cell).to_pylist()
    tuning = sum(row["cpu_seconds_mean"] * row["tuning_flops"] / row["train_flops_mean"] for row in of_cells)
    return {TUNING: tuning, TRAINING: sum(tables["timing"]["cpu_seconds"].to_pylist())}


def _short(config: dict[str, Any]) -> dict[str, Any]:
    """The study with two seeds, two steps a run, and nothing declared."""
    length = {"steps": 2, "points": 1}
    tasks = {
        name: {**entry, "seeds": SEEDS, "training": {**entry.get("training", {}), **length}}
        for name, entry in config["tasks"].items()
    }
    return {**config, "seeds": SEEDS, "confirmatory": False, "comparisons": [], "tasks": tasks}


def _from_nothing(config: dict[str, Any], folder: Path) -> list[Job]:
    """Run the study in a folder; of the jobs that train, what they took beside the training loops."""
    wheels = [REPOSITORY / config["data"] / wheel for wheel in WHEELS]
    if all(wheel.is_file() for wheel in wheels):  # otherwise the study downloads them
        target = folder / config["data"]
        target.mkdir(parents=True)
        for wheel in wheels:
            shutil.copy(wheel, target)
    jobs = _run(config, folder)
    results = folder / config["results"]
    timing = pq.read_table(results / "timing.parquet").group_by("task").aggregate([("cpu_seconds", "mean")])
    loops = {("train", row["task"]): row["cpu_seconds_mean"] for row in timing.to_pylist()}
    loops["tune", ""] = _training(results)[TUNING] / sum(job.verb == "tune" for job in jobs)
    return [job._replace(seconds=job.seconds - loops.get((job.verb, job.task), 0)) for job in jobs]


def _of_all_runs(config: dict[str, Any], results: Path, folder: Path) -> list[Job]:
    """Do again what reads all runs, on a copy of finished results."""
    shutil.copytree(results, folder / config["results"])
    forced = ["--forcerun", *OF_ALL_RUNS, "--until", *OF_ALL_RUNS, "--rerun-triggers", "mtime"]
    return [job for job in _run(config, folder, *forced) if job.verb in OF_ALL_RUNS]


def _run(config: dict[str, Any], folder: Path, *options: str) -> list[Job]:
    """Run `snakemake` in a folder; the last job is Snakemake itself."""
    times = folder / "times"
    times.mkdir(parents=True)
    configfile = folder / "study.json"
    configfile.write_text(json.dumps(config), encoding="utf-8")
    (folder / "trap.sh").write_text(TRAP, encoding="utf-8")
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(REPOSITORY / "Snakefile"), "--quiet"]
    command += ["--directory", str(folder), "--configfile", str(configfile), *options]
    variables = {**os.environ, "BASH_ENV": str(folder / "trap.sh"), "JOB_TIMES": str(times)}
    started = children_cpu()
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    total = children_cpu() - started
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
    jobs = shell_times(times)
    return [*jobs, Job(SNAKEMAKE, "", total - sum(job.seconds for job in jobs))]


def shell_times(folder: Path) -> list[Job]:
    """The jobs of a workflow, from the files that `TRAP` wrote."""
    found = []
    for path in sorted(folder.iterdir()):
        call, _, of_children = path.read_text(encoding="utf-8").splitlines()
        verb = call.partition("maskstudy ")[2].split(" ")[0] if "maskstudy " in call else "settings and report.html"
        run = re.search(r"--run \S*/runs/([^/ ]+)/", call)
        seconds = sum(_seconds(text) for text in of_children.split())
        found.append(Job(verb, run.group(1) if run else "", seconds))
    return found


def _seconds(text: str) -> float:
    """What the shell's `times` prints: `1m2.345s`."""
    minutes, _, seconds = text.rstrip("s").partition("m")
    return 60 * float(minutes) + float(seconds)


def _exactly(value: float) -> Spread:
    return Spread(value, value, value)
