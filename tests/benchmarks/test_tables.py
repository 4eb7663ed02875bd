"""Tables as Markdown and JSON, and two of them compared."""

import json

from benchmarks.tables import Table, compared, from_json, to_json
from benchmarks.timing import Spread


def table(title="speed", **medians):
    rows = {name: {"ms": Spread(value, value - 1, value + 1)} for name, value in medians.items()}
    return Table(title, rows, ["a note"])


def test_a_table_survives_json():
    assert from_json(json.loads(json.dumps(to_json(table(ours=10.0, theirs=20.0))))) == table(ours=10.0, theirs=20.0)


def test_markdown_shows_medians_with_quartiles_and_leaves_what_is_missing_empty():
    rows = {
        "ours": {"ms": Spread(10, 9, 11)},
        "theirs": {"ms": Spread(1234.5, 1234.5, 1234.5), "÷": Spread(0.5, 0.5, 0.5)},
    }
    lines = Table("speed", rows, ["a note"]).markdown().splitlines()
    assert lines == [
        "### speed",
        "",
        "|  | ms | ÷ |",
        "| --- | --- | --- |",
        "| ours | 10.0 (9.00–11.0) |  |",
        "| theirs | 1,234 | 0.5 |",
        "",
        "a note",
    ]


def test_a_comparison_is_new_by_old_of_what_both_have_and_marks_what_lies_apart():
    lines = compared(table(ours=10.0, gone=1.0), table(ours=20.0, new=1.0)).splitlines()
    row = "| ours | ms | 10.0 (9.00–11.0) | 20.0 (19.0–21.0) | 2.00 * |"
    assert [line for line in lines if " ms " in line] == [row]
    assert "| 1.05 |" in compared(table(ours=20.0), table(ours=21.0))
