"""A copy of the workflow and a tiny study to run it on.

    study = Study(copy_of_workflow(folder / "workflow"), folder / "study", tiny_config())
    outcome = study.run("results/metrics.parquet")            # what `snakemake TARGET` does
    outcome.jobs                                              # {"train": 6, "evaluate": 6, …}

Each call is `python -m snakemake` in a process of its own, from another folder, with an environment that is not
activated. The package is imported from the copy, so that a test may edit its source.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
TEXT = "".join(
    f"On day {day} the {animal} crossed {day * 7 % 13} bridges, and nobody asked the {animal} where it had been.\n\n"
    for day in range(60)
    for animal in ("fox", "heron", "old mare")
)  # some 15 KB: enough for three splits


@dataclass(frozen=True)
class Outcome:
    """What one call of snakemake did, or would do."""

    status: int
    output: str

    @property
    def jobs(self) -> dict[str, int]:
        """How many jobs of each rule; none where everything is up to date."""
        table = re.search(r"^Job stats:\n.*\n[- ]+\n(?P<rows>(?:\S+ +\d+\n)+)", self.output, re.MULTILINE)
        if not table:
            return {}
        rows = (line.split() for line in table["rows"].splitlines())
        return {rule: int(count) for rule, count in rows if rule not in ("all", "report", "total")}

    @property
    def messages(self) -> list[str]:
        """The message of each job, such as `train my_task under full, seed 1; …`."""
        return re.findall(r"^(?:local)?(?:rule|Job) \d+: (.*)$", self.output, re.MULTILINE)

    @property
    def nothing_to_do(self) -> bool:
        """True where snakemake says that everything is up to date."""
        return self.status == 0 and "Nothing to be done" in self.output


@dataclass(frozen=True)
class Study:
    """A folder, the config of what is studied in it, and the workflow that does it."""

    workflow: Path
    folder: Path
    config: dict[str, Any]
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def results(self) -> Path:
        """Everything generated."""
        return self.folder / "results"

    def run(self, *targets: str, options: tuple[str, ...] = (), cores: int = 2) -> Outcome:
        """`snakemake --cores CORES OPTIONS -- TARGETS` in the folder of the study."""
        done = subprocess.run(
            self.command(*targets, options=options, cores=cores),
            cwd=self.folder.parent,
            env=self.variables(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=1200,
            check=False,
        )
        return Outcome(done.returncode, done.stdout)

    def plan(self, *targets: str, options: tuple[str, ...] = (), **changes: Any) -> Outcome:
        """What `snakemake -n` would do, were these top-level entries of the config different."""
        changed = Study(self.workflow, self.folder, self.config | changes, self.environment)
        return changed.run(*targets, options=("-n", *options))

    def command(self, *targets: str, options: tuple[str, ...] = (), cores: int = 2) -> list[str]:
        """The call, its config written beside the folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        configfile = self.folder.with_suffix(".json")
        configfile.write_text(json.dumps(self.config), encoding="utf-8")
        call = [sys.executable, "-m", "snakemake", "--snakefile", str(self.workflow / "Snakefile")]
        call += ["--directory", str(self.folder), "--configfile", str(configfile), "--cores", str(cores)]
        return [*call, *options, "--", *targets]

    def variables(self) -> dict[str, str]:
        """The environment variables of the call: the copy's package, nothing activated, pip as the test wants it."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "VIRTUAL_ENV"))}
        own = {
            "PATH": os.defpath,
            "PYTHONPATH": str(self.workflow / "src"),
            "XDG_CACHE_HOME": str(self.workflow / "cache"),
        }
        return kept | own | {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1"} | dict(self.environment)


def copy_of_workflow(folder: Path) -> Path:
    """Everything that a study is made with, in a folder where it may be edited."""
    for name in ("src/maskstudy", "workflow", "profiles"):
        shutil.copytree(REPOSITORY / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Snakefile", "environment.yml"):
        shutil.copy(REPOSITORY / name, folder / name)
    return folder


def tiny_config() -> dict[str, Any]:
    """A synthetic task under two masks and the user's own text under one: 2 seeds, 3 steps."""
    return {
        "results": "results",
        "data": "data/raw",
        "seeds": 2,
        "confirmatory": True,
        "device": "cpu",
        "model": {"width": 8, "layers": 2, "heads": 2, "positions": "rotary", "dropout": 0.0},
        "training": {"steps": 3, "batch": 4, "learning_rate": 0.02, "adamw_learning_rate": 0.003, "warmup": 1},
        "tuning": {"scales": [1, 2], "steps": 0.5},
        "tasks": {
            "hmm_tagging": {
                "masks": ["causal", "lookahead-1", "full"],
                "parameters": {
                    "states": 3,
                    "symbols": 4,
                    "length": 8,
                    "train_examples": 32,
                    "validation_examples": 8,
                    "test_examples": 16,
                },
            },
            "my_bytes": {
                "kind": "masked_byte",
                "dataset": "my_text",
                "masks": ["full"],
                "parameters": {"length": 16, "train_windows": 64, "validation_windows": 8, "test_windows": 16},
            },
        },
        "datasets": {"my_text": {"kind": "text", "files": "texts/*.txt"}},
        "comparisons": [{"task": "hmm_tagging", "metric": "accuracy", "masks": ["full", "causal"], "margin": 0.01}],
        "statistics": {"alpha": 0.5, "confidence": 0.95, "resamples": 200},  # two seeds can reach no smaller alpha
        "figures": [
            "access_grids",
            "tuning",
            "learning_curves",
            "dose_response",
            "seeds",
            "comparisons",
            "mask_swap",
            "representations",
        ],
    }


def tiny_study(workflow: Path, folder: Path, **changes: Any) -> Study:
    """The tiny study, with its text in place."""
    texts = folder / "texts"
    texts.mkdir(parents=True)
    (texts / "own.txt").write_text(TEXT, encoding="utf-8")
    return Study(workflow, folder, tiny_config() | changes)


def replace_once(path: Path, old: str, new: str) -> None:
    """Replace the first `old` in a file, which must hold it."""
    before = path.read_text(encoding="utf-8")
    assert old in before, f"{path} holds no {old!r}"
    path.write_text(before.replace(old, new, 1), encoding="utf-8")


@contextmanager
def edited(path: Path, old: str, new: str) -> Iterator[None]:
    """The file with the first `old` replaced by `new`, as long as the block lasts."""
    before = path.read_text(encoding="utf-8")
    replace_once(path, old, new)
    try:
        yield
    finally:
        path.write_text(before, encoding="utf-8")


@contextmanager
def without(path: Path) -> Iterator[None]:
    """The folder or file gone, as long as the block lasts."""
    aside = path.with_name(f"{path.name}.aside")
    path.rename(aside)
    try:
        yield
    finally:
        aside.rename(path)
