"""Break the code on purpose, one way after another, and see that a test notices: `python tests/mutants/run.py`.

Prints one line a mutant and how many died; the status is 1 if one survived, if a mutant no longer fits the code, or if
the tests fail on the code as it is.
"""

import argparse
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

# Loaded once, here: each mutant is a fork of this process, which saves it the seconds of these imports. The package
# itself is not loaded, so that each fork imports its own copy.
import hypothesis
import jsonschema  # noqa: F401
import matplotlib.figure  # noqa: F401
import polars  # noqa: F401
import pytest
import scipy.optimize
import scipy.stats  # noqa: F401
import torch

from mutants import MUTANTS, Mutant

TESTS = Path(__file__).resolve().parents[1]
PACKAGE = TESTS.parent / "src" / "maskstudy"
UNCHANGED = "the code as it is"
KILLED, SURVIVED = 1, 0  # pytest: some tests failed; all passed
WRONG_PACKAGE = 99  # the tests ran on the installed package, not on the mutant
LIMIT = 300  # seconds; a mutant that never ends is reported, not waited for


def main() -> NoReturn:
    """Run all mutants, or those whose name holds a word."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("word", nargs="?", default="", help="only mutants with this in their name")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="mutants at a time")
    given = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if given.word in mutant.name]
    for mutant in chosen:
        edited(mutant, PACKAGE)  # stops before anything runs if one no longer fits
    outcomes = run(chosen, given.jobs)
    print(summary(outcomes))
    sys.exit(status(outcomes))


def edited(mutant: Mutant, package: Path) -> str:
    """The text of the mutant's module with its edit.

    Raises:
        SystemExit: the text that it replaces does not stand there exactly once.
    """
    text = (package / mutant.module).read_text(encoding="utf-8")
    if text.count(mutant.before) != 1:
        sys.exit(f"{mutant.name}: its text stands {text.count(mutant.before)} times in {mutant.module}; mend it")
    return text.replace(mutant.before, mutant.after)


def run(chosen: Sequence[Mutant], jobs: int) -> dict[str, int]:
    """Run the tests of each mutant, and all of them on the code as it is; a line is printed as each ends.

    Returns:
        Name -> exit status of pytest.
    """
    every_test = dict.fromkeys(test for mutant in chosen for test in mutant.tests)
    waiting: list[tuple[Mutant | None, tuple[str, ...]]] = [(None, tuple(every_test))]
    waiting += [(mutant, mutant.tests) for mutant in chosen]
    running: dict[int, Mutant | None] = {}
    outcomes: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        while waiting or running:
            while waiting and len(running) < jobs:
                mutant, tests = waiting.pop(0)
                running[start(mutant, tests, Path(folder, str(len(waiting))))] = mutant
            process, ended, usage = os.wait4(-1, 0)
            mutant, code = running.pop(process), os.waitstatus_to_exitcode(ended)
            outcomes[mutant.name if mutant else UNCHANGED] = code
            print(line(mutant, code, usage.ru_utime + usage.ru_stime), flush=True)
    return outcomes


def start(mutant: Mutant | None, tests: Sequence[str], folder: Path) -> int:
    """Copy the package with the mutant's edit, and fork a process that runs the tests on it; its number."""
    package = shutil.copytree(PACKAGE, folder / "maskstudy")
    if mutant:
        (package / mutant.module).write_text(edited(mutant, package), encoding="utf-8")
    sys.stdout.flush()
    process = os.fork()
    if not process:
        run_tests(tests, folder)
    return process


def run_tests(tests: Sequence[str], folder: Path) -> NoReturn:
    """In the fork: the tests, against the copy."""
    signal.alarm(LIMIT)
    os.environ["OMP_NUM_THREADS"] = "1"  # of what a test starts; several mutants run at a time
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    sys.path.insert(0, str(folder))
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
        torch.set_num_threads(1)
        # That a counterexample is found is enough: none is made smaller, and none kept for the next time.
        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
        hypothesis.settings.register_profile("mutants", phases=phases, database=None, derandomize=True)
        loaded_before = "-Wignore:Module already imported:pytest.PytestAssertRewriteWarning"
        options = ["-x", "--tb=no", "--hypothesis-profile=mutants", loaded_before]
        code = pytest.main([*options, *(str(TESTS / test) for test in tests)])
        import maskstudy

        if not Path(maskstudy.__file__).is_relative_to(folder):
            os._exit(WRONG_PACKAGE)
    os._exit(int(code))


def line(mutant: Mutant | None, code: int, seconds: float) -> str:
    """What became of a mutant, and what it took of one core."""
    words = {KILLED: "died", SURVIVED: "SURVIVED"} if mutant else {KILLED: "FAILS", SURVIVED: "passes"}
    module, name = (mutant.module, mutant.name) if mutant else ("-", UNCHANGED)
    return f"{words.get(code, f'BROKEN ({code})'):<12} {seconds:5.1f} s  {module:<22} {name}"


def summary(outcomes: dict[str, int]) -> str:
    """How many died, and what is wrong, if anything is."""
    mutants = {name: code for name, code in outcomes.items() if name != UNCHANGED}
    lines = [f"{list(mutants.values()).count(KILLED)} of {len(mutants)} mutants died"]
    if outcomes[UNCHANGED] != SURVIVED:
        lines.append("the tests fail on the code as it is, so that this says nothing; mend that first")
    return "\n".join(lines)


def status(outcomes: dict[str, int]) -> int:
    """0 if all tests pass on the code as it is and every mutant died, else 1."""
    wanted = {name: SURVIVED if name == UNCHANGED else KILLED for name in outcomes}
    return int(outcomes != wanted)


if __name__ == "__main__":
    main()
