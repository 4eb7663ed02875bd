"""What a benchmark gives: tables, as Markdown to read and as JSON to compare with those of another commit."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.timing import Spread


@dataclass(frozen=True)
class Table:
    """What was measured of each variant.

    Attributes:
        title: unique within a run.
        rows: variant to column to what was measured; a column that a row lacks stays empty.
        notes: what one must know to read it.
    """

    title: str
    rows: Mapping[str, Mapping[str, Spread]]
    notes: list[str] = field(default_factory=list)

    @property
    def columns(self) -> list[str]:
        """The columns of all rows, in the order in which they first stand."""
        return list(dict.fromkeys(column for row in self.rows.values() for column in row))

    def markdown(self) -> str:
        """Medians, each with its quartiles."""
        body = [
            [name, *(_cell(row[column]) if column in row else "" for column in self.columns)]
            for name, row in self.rows.items()
        ]
        return "\n".join([f"### {self.title}", "", *_lines(["", *self.columns], body), "", *self.notes])


def to_json(table: Table) -> dict[str, Any]:
    """The table as JSON holds it."""
    return asdict(table)


def from_json(content: Mapping[str, Any]) -> Table:
    """The table that `to_json` wrote."""
    rows = {name: {column: Spread(**value) for column, value in row.items()} for name, row in content["rows"].items()}
    return Table(content["title"], rows, content["notes"])


def compared(old: Table, new: Table) -> str:
    """Old, new, and new divided by old, of every value that both tables have.

    A ratio whose quartiles do not overlap is marked: there the difference is larger than the spread within either run.
    """
    lines = []
    for name, row in new.rows.items():
        for column, after in row.items():
            before = old.rows.get(name, {}).get(column)
            if before is not None and before.median:
                apart = after.low > before.high or after.high < before.low
                factor = f"{after.median / before.median:.2f}{' *' if apart else ''}"
                lines.append([name, column, _cell(before), _cell(after), factor])
    header = ["", "", "old", "new", "new / old"]
    return "\n".join([f"### {new.title}", "", *_lines(header, lines), "", "\\* the quartiles do not overlap"])


def _cell(value: Spread) -> str:
    if value.low == value.high:
        return _number(value.median)
    return f"{_number(value.median)} ({_number(value.low)}–{_number(value.high)})"


def _number(value: float) -> str:
    """Three digits, or all of those before the point."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 1 else f"{value:.{1 if abs(value) >= 10 else 2}f}"


def _lines(header: list[str], rows: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *rows)]
