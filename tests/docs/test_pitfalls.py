"""docs/pitfalls.md names tests and mutants; all of them exist, and each mutant dies by a test of its own row."""

import re
from pathlib import Path

from every_test import every_test
from mutants.mutants import MUTANTS

PAGE = (Path(__file__).parents[2] / "docs" / "pitfalls.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| pitfall |")
]


def named(row):
    """The tests and the mutants of a row."""
    tests, mutants = ([part for part in cell.strip(" |").split("<br>") if part] for cell in row[2:])
    return [re.fullmatch("`(.+)`", test)[1] for test in tests], mutants


def test_every_row_says_what_holds_and_names_a_test_that_exists():
    known = every_test()
    assert len(ROWS) > 40
    for row in ROWS:
        assert len(row) == 4, row
        tests, _ = named(row)
        assert row[1], row
        assert tests, row
        assert set(tests) <= known, f"{row[0]}: {set(tests) - known}"


def test_every_mutant_of_a_row_exists_and_dies_by_a_test_of_the_row():
    by_name = {mutant.name: mutant for mutant in MUTANTS}
    for row in ROWS:
        tests, mutants = named(row)
        for name in mutants:
            assert name in by_name, f"{row[0]}: {name}"
            assert set(by_name[name].tests) & set(tests), f"{name}: dies by {by_name[name].tests}"


def test_every_pitfall_with_a_report_has_a_mutant():
    reported = [row for row in ROWS if re.search(r"#\d", row[0])]
    assert len(reported) >= 22
    for row in reported:
        assert named(row)[1], row[0]
