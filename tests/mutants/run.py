"""Break the code on purpose, one way after another, and see that a test notices: `python tests/mutants/run.py`.

Prints one line a mutant and how many died; the status is 1 if one survived, or if a mutant no longer fits the code.
"""

import argparse
import multiprocessing
import os
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Loaded once, here: each mutant is a fork of this process, which saves it the seconds of these imports. The package
# itself is not loaded, so that each fork imports its own copy.
import pandas  # noqa: F401
import pytest
import scipy.stats  # noqa: F401
import torch

from mutants import MUTANTS, Mutant

TESTS = Path(__file__).resolve().parents[1]
REPOSITORY = TESTS.parent
KILLED, SURVIVED = 1, 0  # pytest: some tests failed; all passed


def main() -> None:
    """Run all mutants, or those whose name holds a word."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("word", nargs="?", default="", help="only mutants with this in their name")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="mutants at a time")
    given = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if given.word in mutant.name]
    every_test = sorted({test for mutant in chosen for test in mutant.tests})
    with tempfile.TemporaryDirectory() as folder:
        if outcome(None, every_test, Path(folder, "unchanged")) != SURVIVED:
            sys.exit("the tests fail on the code as it is; mend that first")
        with ThreadPoolExecutor(given.jobs) as pool:
            paths = [Path(folder, str(number)) for number in range(len(chosen))]
            outcomes = list(pool.map(outcome, chosen, [list(mutant.tests) for mutant in chosen], paths))
    words = {KILLED: "died", SURVIVED: "SURVIVED"}
    for mutant, status in zip(chosen, outcomes, strict=True):
        print(f"{words.get(status, f'BROKEN ({status})'):<10} {mutant.module:<22} {mutant.name}")
    died = outcomes.count(KILLED)
    print(f"{died} of {len(chosen)} mutants died")
    sys.exit(died < len(chosen))


def outcome(mutant: Mutant | None, tests: list[str], folder: Path) -> int:
    """Run tests on a copy of the package with the mutant's edit; the exit status of pytest."""
    package = shutil.copytree(REPOSITORY / "src" / "maskstudy", folder / "maskstudy")
    if mutant:
        module = package / mutant.module
        text = module.read_text(encoding="utf-8")
        if text.count(mutant.before) != 1:
            sys.exit(f"{mutant.name}: its text stands {text.count(mutant.before)} times in {mutant.module}; mend it")
        module.write_text(text.replace(mutant.before, mutant.after), encoding="utf-8")
    child = multiprocessing.get_context("fork").Process(target=run_tests, args=(tests, folder))
    child.start()
    child.join()
    assert child.exitcode is not None
    return child.exitcode


def run_tests(tests: list[str], folder: Path) -> None:
    """In the fork: the tests, against the copy."""
    os.environ["OMP_NUM_THREADS"] = "1"  # of what a test starts; several mutants run at a time
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    sys.path.insert(0, str(folder))
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
        torch.set_num_threads(1)
        status = pytest.main(["-x", "-q", "-p", "no:randomly", *(str(TESTS / test) for test in tests)])
        import maskstudy

        if not Path(maskstudy.__file__).is_relative_to(folder):
            os._exit(99)  # the tests ran on the installed package, not on the mutant
    os._exit(int(status))


if __name__ == "__main__":
    main()
