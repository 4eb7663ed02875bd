"""Planning a large study and finding nothing to do, beside a bare Snakefile with the same jobs, files and wildcards.

The bare one is `benchmarks/bare.smk`: the rules of the workflow with their inputs, outputs and logs, but without
digests, settings, checks of the config, environments and messages. Both run under the profile of the workflow. A large
study is the default one with 40 seeds and its tasks several times under other names; for a rerun with nothing to do,
every file of the default study is there, with next to nothing in it, and known to Snakemake.
"""

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchmarks.effort import Effort
from benchmarks.tables import Table
from benchmarks.timing import alternating, children_cpu, ratio, spread, timed
from maskstudy import config as study

REPOSITORY = Path(__file__).resolve().parents[1]
BARE_SNAKEFILE = Path(__file__).with_name("bare.smk")
MOST_SEEDS = 40
TUNED = '{"at_edge": false}'  # what the workflow reads in these files at the end of every call
WORKFLOW, BARE = "the workflow", "bare Snakefile"


@dataclass(frozen=True)
class Planned:
    """A Snakefile, a folder to run it in, and its config."""

    snakefile: Path
    folder: Path
    config: dict[str, Any]

    def snakemake(self, *options: str) -> str:
        """Run `snakemake` and return what it prints.

        Raises:
            RuntimeError: it failed.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        configfile = self.folder / "study.json"
        configfile.write_text(json.dumps(self.config), encoding="utf-8")
        command = [sys.executable, "-m", "snakemake", "--snakefile", str(self.snakefile), "--directory"]
        command += [str(self.folder), "--configfile", str(configfile)]
        command += ["--workflow-profile", str(REPOSITORY / "profiles/default"), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def files(self) -> set[str]:
        """Every file that the study makes."""
        return {line.partition("\t")[0] for line in self.snakemake("--summary").splitlines()[1:]}

    def finish(self) -> None:
        """Make every file, with next to nothing in it, and let Snakemake know them all as made by the present rules."""
        for name in sorted(self.files()):
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if name.endswith("/tables"):
                path.mkdir()
            else:
                path.write_text(TUNED if "/tuning/" in name else "", encoding="utf-8")
        self.snakemake("--touch", "--forceall", "--quiet")


def measure(effort: Effort) -> list[Table]:
    """CPU seconds of both, and their ratio."""
    config = yaml.safe_load((REPOSITORY / "config.yaml").read_text(encoding="utf-8"))
    if effort.smallest:
        config = smallest(config)
    with tempfile.TemporaryDirectory() as folder:
        return [_nothing_to_do(config, Path(folder), effort), _planning(config, Path(folder), effort)]


def both(config: dict[str, Any], folder: Path) -> dict[str, Planned]:
    """The workflow and the bare Snakefile for a study."""
    known = {
        "generative": [task for task in config["tasks"] if study.is_generative(config, task)],
        "supervised": list(study.supervision(config)),
        "written": [task for task in config["tasks"] if study.is_written(config, task)],
        "transformers": {task: [cell.mask for cell in cells] for task, cells in study.transformers(config).items()},
    }
    return {
        WORKFLOW: Planned(REPOSITORY / "Snakefile", folder / "workflow", config),
        BARE: Planned(BARE_SNAKEFILE, folder / "bare", {**config, **known}),
    }


def enlarged(config: dict[str, Any], jobs: int) -> dict[str, Any]:
    """The study with as many seeds, and its tasks as often, as it takes for about so many jobs."""
    tasks = {
        name: {key: value for key, value in entry.items() if key != "seeds"} for name, entry in config["tasks"].items()
    }
    a_seed = 2 * len(study.cells(config))  # train and evaluate
    seeds = max(2, min(MOST_SEEDS, jobs // a_seed))
    copies = max(1, round(jobs / (a_seed * seeds)))
    named = {
        f"{name}_{copy}": {"kind": entry.get("kind", name), **entry}
        for copy in range(2, copies + 1)
        for name, entry in tasks.items()
    }
    undeclared: dict[str, Any] = {"confirmatory": False, "comparisons": []}  # with few seeds nothing may be declared
    return {**config, **undeclared, "seeds": seeds, "tasks": {**tasks, **named}}


def smallest(config: dict[str, Any]) -> dict[str, Any]:
    """The study with one task under one mask, two seeds and one figure."""
    name, entry = next(iter(config["tasks"].items()))
    tasks = {name: {**entry, "masks": entry["masks"][:1], "seeds": 2}}
    small = {"seeds": 2, "tasks": tasks, "comparisons": [], "figures": config["figures"][:1]}
    return {**config, **small, "confirmatory": False}


def _nothing_to_do(config: dict[str, Any], folder: Path, effort: Effort) -> Table:
    studies = both(config, folder / "finished")
    for planned in studies.values():
        planned.finish()
    measures = {
        name: timed(lambda planned=planned: planned.snakemake("--quiet"), children_cpu)
        for name, planned in studies.items()
    }
    seconds = alternating(measures, effort.rounds_or(7), effort.warmup)
    return Table("nothing to do", _rows(seconds), [f"{len(studies[BARE].files())} files"])


def _planning(config: dict[str, Any], folder: Path, effort: Effort) -> Table:
    studies = both(enlarged(config, 20 if effort.smallest else effort.jobs), folder / "planned")
    count = studies[BARE].snakemake("-n", "--quiet", "rules").split("total")[1].split()[0]
    measures = {
        name: timed(lambda planned=planned: planned.snakemake("-n", "--quiet"), children_cpu)
        for name, planned in studies.items()
    }
    seconds = alternating(measures, effort.rounds_or(3), warmup=0)
    return Table(f"planning about {effort.jobs} jobs", _rows(seconds), [f"{count} jobs"])


def _rows(seconds: dict[str, list[float]]) -> dict[str, dict[str, Any]]:
    return {name: {"CPU s": spread(taken), "÷ bare": ratio(taken, seconds[BARE])} for name, taken in seconds.items()}
