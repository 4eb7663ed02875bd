"""How long each figure and the paper take, drawn from finished results.

The results are copied first, without the models, and the copies are drawn on. `--results` says where they are.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from benchmarks.effort import Effort
from benchmarks.tables import Table
from benchmarks.timing import alternating, children_cpu, ratio, spread, timed
from maskstudy import config as study
from maskstudy.tasks import question

START = "maskstudy figure --help (start-up)"


def measure(effort: Effort) -> list[Table]:
    """CPU seconds of the verb for each, wall seconds, and how often the mere start-up fits in."""
    if not (effort.results / "config.yaml").is_file() or not (effort.results / "comparisons.parquet").is_file():
        return [Table("figures and paper", {}, [f"{effort.results}: no finished results; run `snakemake` first"])]
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder, "results")
        shutil.copytree(effort.results, results, ignore=shutil.ignore_patterns("*.safetensors", "logs", "reference"))
        return [_table(results, effort)]


def _table(results: Path, effort: Effort) -> Table:
    config = yaml.safe_load((results / "config.yaml").read_text(encoding="utf-8"))
    settings = {
        "cells": [study.cell_with_seeds(config, cell) for cell in study.cells(config)],
        "questions": {task: question(study.task_settings(config, task)["kind"]) for task in config["tasks"]},
        **{name: config[name] for name in ("confirmatory", "statistics", "figures")},
    }
    given = ["--settings", json.dumps(settings), "--results", str(results)]
    commands = {START: ["figure", "--help"]}
    commands |= {f"figure {name}": ["figure", name, *given] for name in config["figures"]}
    commands["paper"] = ["paper", *given]
    measures = {name: timed(lambda options=options: _run(options), children_cpu) for name, options in commands.items()}
    seconds = alternating(measures, effort.rounds_or(3), effort.warmup)
    rows = {
        name: {"CPU s": spread(taken), "÷ start-up": ratio(taken, seconds[START])} for name, taken in seconds.items()
    }
    runs = sum(len(cell["seeds"]) for cell in settings["cells"])
    return Table("figures and paper", rows, [f"{runs} runs in {len(settings['cells'])} cells"])


def _run(options: list[str]) -> None:
    subprocess.run([sys.executable, "-m", "maskstudy", *options], stdout=subprocess.DEVNULL, check=True)
