"""`python benchmarks/run.py`: runs the benchmarks, prints their tables, compares two runs."""

import argparse
import json
import subprocess
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.effort import Effort
from benchmarks.machine import description
from benchmarks.processes import alone
from benchmarks.tables import Table, compared, from_json, to_json

BENCHMARKS = ("step", "masks", "decoding", "startup", "planning", "pipeline", "figures", "parts")
SLOW = ("time_to_loss",)  # a quarter of an hour: not unless asked for
_LIST = f"{', '.join(BENCHMARKS)}; and, slow, {', '.join(SLOW)}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table for each benchmark; write JSON and compare it where asked to."""
    parser = argparse.ArgumentParser(prog="python benchmarks/run.py", description=__doc__)
    parser.add_argument("--only", type=_names, default=BENCHMARKS, metavar="NAME,…", help=_LIST)
    parser.add_argument("--rounds", type=int, help="how often each variant is timed; each benchmark has its own number")
    parser.add_argument("--smallest", action="store_true", help="smallest sizes: shows that all runs, measures nothing")
    parser.add_argument("--jobs", type=int, default=Effort.jobs, help="of the study whose planning is timed")
    parser.add_argument("--results", type=Path, default=Effort.results, help="finished results, for the figures")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was measured")
    parser.add_argument("--compare", type=Path, metavar="OLD.json", help="print old, new and their ratio as well")
    options = parser.parse_args(arguments)
    old = _read(options.compare) if options.compare else None
    if options.json and not options.json.parent.is_dir():
        parser.error(f"--json {options.json}: there is no folder {options.json.parent}")

    effort = Effort(options.rounds, options.smallest, options.jobs, options.results)
    machine = description()
    print("\n".join(f"{name}: {value}" for name, value in machine.items()), flush=True)
    measured: dict[str, list[Table]] = {}
    for name in options.only:
        started = time.monotonic()
        summary, measured[name] = alone(_measured, name, effort)
        print(f"\n## {name}: {summary} ({time.monotonic() - started:.0f} s)")
        for table in measured[name]:
            print(f"\n{table.markdown()}", flush=True)
    if options.json:
        content = {
            "commit": _commit(),
            "machine": machine,
            "benchmarks": {name: [to_json(table) for table in tables] for name, tables in measured.items()},
        }
        options.json.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if old is not None:
        _print_comparison(old, machine, measured)


def _measured(name: str, effort: Effort) -> tuple[str, list[Table]]:
    """What a benchmark asks, and its answer."""
    module = import_module(f"benchmarks.{name}")
    return str(module.__doc__).splitlines()[0], module.measure(effort)


def _print_comparison(old: dict[str, Any], machine: dict[str, str], measured: dict[str, list[Table]]) -> None:
    print(f"\n## Compared with commit {old['commit']}")
    for name, value in machine.items():
        if name != "load average" and old["machine"].get(name) != value:
            print(f"**{name} differs**: {old['machine'].get(name)} then, {value} now")
    for name, tables in measured.items():
        before = {content["title"]: from_json(content) for content in old["benchmarks"].get(name, [])}
        for table in tables:
            if table.title in before:
                print(f"\n{compared(before[table.title], table)}")


def _names(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    if unknown := [name for name in names if name not in (*BENCHMARKS, *SLOW)]:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: no such benchmark; there are {_LIST}")
    return names


def _read(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SystemExit(f"--compare {path}: {error}; give a file that --json wrote") from None
    return content


def _commit() -> str:
    """The commit of the checkout, marked where it was changed; `unknown` outside a checkout."""
    found = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=10"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.strip() or "unknown"
