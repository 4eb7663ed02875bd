import ast
import re
import subprocess
import sys
from pathlib import Path

import maskstudy
from every_test import every_test
from mutants.mutants import MUTANTS

FOLDER = Path(__file__).parent
PACKAGE = Path(maskstudy.__file__).parent


def test_every_mutant_fits_the_code_and_is_python():
    for mutant in MUTANTS:
        text = (PACKAGE / mutant.module).read_text(encoding="utf-8")
        assert text.count(mutant.before) == 1, mutant.name
        edited = text.replace(mutant.before, mutant.after)
        assert ast.dump(ast.parse(edited)) != ast.dump(ast.parse(text)), mutant.name


def test_every_mutant_has_a_name_of_its_own_and_tests_that_exist():
    names = [mutant.name for mutant in MUTANTS]
    assert len(set(names)) == len(names)
    known = every_test()
    for mutant in MUTANTS:
        assert mutant.tests, mutant.name
        assert set(mutant.tests) <= known, f"{mutant.name}: {set(mutant.tests) - known}"


RUNS = """
import sys
import run
from mutants import Mutant

passing, failing = (("test_masks.py::test_looking_back_is_no_look_ahead",), ("test_masks.py::no_such_test",))
edit = ("masks.py", "    if future < 0:")
run.MUTANTS[:] = [
    Mutant("a fatal edit", *edit, "    if future < 1:", passing),
    Mutant("a harmless edit", *edit, "    if 0 > future:", passing),
    Mutant("one that does not fit", "masks.py", "    if the future:", "", passing),
    Mutant("one whose test is not there", *edit, "    if future < 1:", failing),
]
for word in ("fatal", "edit", "fit", "not there"):
    sys.argv[1:] = [word, "--jobs", "1"]
    try:
        run.main()
    except SystemExit as ended:
        print("status", ended.code)
"""


def test_a_mutant_that_survives_or_does_not_fit_fails_the_run():
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(FOLDER)!r})\n{RUNS}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.findall(r"^status (.*)$", done.stdout, re.MULTILINE) == [
        "0",
        "1",
        "one that does not fit: its text stands 0 times in masks.py; mend it",
        "1",
    ]
    assert re.findall(r"^\d+ of \d+ mutants died$", done.stdout, re.MULTILINE) == [
        "1 of 1 mutants died",
        "1 of 2 mutants died",
        "0 of 1 mutants died",
    ]
    assert len(re.findall(r"^died .* a fatal edit$", done.stdout, re.MULTILINE)) == 2
    assert len(re.findall(r"^SURVIVED .* a harmless edit$", done.stdout, re.MULTILINE)) == 1
    assert len(re.findall(r"^BROKEN .* one whose test is not there$", done.stdout, re.MULTILINE)) == 1
    assert done.stdout.count("the tests fail on the code as it is, so that this says nothing; mend that first") == 1
