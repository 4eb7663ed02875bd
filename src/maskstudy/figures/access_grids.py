"""Who may see whom: the mask of each layer, what a position sees after all of them, and the audit's verdict."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray
from polars import DataFrame

from maskstudy.figures import style
from maskstudy.figures.results import Results

SUMMARY = "Who may see whom"
CAPTION = (
    "Each square is one pair of positions: rows are queries, columns are keys, and a coloured square means that the "
    "query may see the key. The upper rows show the mask of a layer, the last row what a position has seen after all "
    "layers. Below stands the audit's verdict for every task: a task leaks under a mask where a scored position can "
    "see the very token that is its answer. Only controls may leak, and they are never ranked."
)

ACCESS = "all"  # in the column `layer`: after all layers
_GRID, _GAP, _ROW = 0.66, 0.16, 0.185  # inches: a grid, the space between grids, a line of verdicts


def data(results: Results) -> DataFrame:
    """One row a (cell, layer, query); `keys` lists the key positions that the query sees, `length` how many there are.

    `layer` counts from 1; `all` stands for the access after all layers.
    """
    rows = []
    for audit in results.audits:
        layers = {str(number): layer for number, layer in enumerate(audit["grid"]["layers"], start=1)}
        for layer, matrix in {**layers, ACCESS: audit["grid"]["access"]}.items():
            for query, keys in enumerate(matrix):
                rows.append(
                    {
                        "task": audit["task"],
                        "mask": audit["mask"],
                        "role": audit["role"],
                        "leaks": audit["leaks"],
                        "measured_leaks": audit["measured_leaks"],
                        "layer": layer,
                        "query": query,
                        "keys": " ".join(str(key) for key, seen in enumerate(keys) if seen),
                        "length": len(keys),
                    }
                )
    return DataFrame(rows)


@style.styled
def draw(data: DataFrame) -> Figure:
    """Masks side by side, layers below each other, and a line of verdicts for every task."""
    columns = _columns(data)
    rows = _rows([layers for _, layers, _ in columns])
    tasks = list(dict.fromkeys(data["task"]))
    colours = style.colours(data["mask"])

    names = [*tasks, *(label for label, _ in rows)]
    left = max(style.text_width(name, bold=True) for name in names) + 0.3
    headings = [style.in_lines(mask, 11) for mask, _, _ in columns]
    widest = max(style.text_width(heading, bold=True) for heading in headings)
    step = max(_GRID + _GAP, widest + 0.1)
    top = 0.27 + 0.12 * max(1 + heading.count("\n") for heading in headings)
    table = top + len(rows) * (_GRID + _GAP) + 0.22
    figure, sheet = style.sheet(left + len(columns) * step + 0.05, table + len(tasks) * _ROW + 0.06)

    right = left + len(columns) * step - (step - _GRID)
    for number, (label, _) in enumerate(rows):
        middle = top + number * (_GRID + _GAP) + _GRID / 2
        weight = "bold" if number == len(rows) - 1 else "normal"
        sheet.text(left - 0.2, middle, label, ha="right", va="center", fontsize=style.SMALL, weight=weight)
    sheet.text(left + _GRID / 2, top - 0.04, "key →", ha="center", va="bottom", fontsize=6, color=style.QUIET)
    sheet.text(
        left - 0.04, top + _GRID / 2, "← query", ha="right", va="center", rotation=90, fontsize=6, color=style.QUIET
    )
    sheet.text(left - 0.2, table - 0.09, "audit", ha="right", va="center", fontsize=style.SMALL, weight="bold")
    for number, task in enumerate(tasks):
        middle = table + (number + 0.5) * _ROW
        sheet.plot([0.05, right], [middle - _ROW / 2] * 2, color=style.FAINT, linewidth=0.5)
        sheet.text(left - 0.2, middle, task, ha="right", va="center", fontsize=style.SMALL)

    for number, (heading, (mask, layers, verdicts)) in enumerate(zip(headings, columns, strict=True)):
        x = left + number * step
        sheet.text(
            x + _GRID / 2,
            top - 0.18,
            heading,
            ha="center",
            va="bottom",
            fontsize=style.SMALL,
            weight="bold",
            color=style.darker(colours[mask]),
        )
        for row, (_, layer) in enumerate(rows):
            if layer in layers:
                _grid(sheet, layers[layer], x, top + row * (_GRID + _GAP), colours[mask])
        for row, task in enumerate(tasks):
            if task in verdicts:
                leaks, role = verdicts[task]
                sheet.text(
                    x + _GRID / 2,
                    table + (row + 0.5) * _ROW,
                    ("leaks" if leaks else "no leak") + (" (control)" if role == "control" else ""),
                    ha="center",
                    va="center",
                    fontsize=6 if role == "control" else style.SMALL,
                    weight="bold" if leaks else "normal",
                    color=style.INK if leaks else style.QUIET,
                )
    return figure


Layers = dict[str, NDArray[np.bool_]]
Verdicts = dict[str, tuple[bool, str]]


def _columns(data: DataFrame) -> list[tuple[str, Layers, Verdicts]]:
    """A mask, its layers, and its verdict in each task; tasks whose masks look the same share a column.

    A model with more layers of the last kind looks the same: its layers are cut after the last one that differs.
    """
    columns: dict[tuple[str, bytes], tuple[str, Layers, Verdicts]] = {}
    for (task, mask), cell in data.group_by("task", "mask", maintain_order=True):
        layers = {layer: _matrix(rows) for (layer,), rows in cell.group_by("layer", maintain_order=True)}
        access = layers.pop(ACCESS)
        kinds = list(layers.values())
        while len(kinds) > 2 and np.array_equal(kinds[-1], kinds[-2]):
            kinds.pop()
        numbered = {str(number): layer for number, layer in enumerate(kinds, start=1)}
        look = b"|".join(str(kind.shape).encode() + kind.tobytes() for kind in [*kinds, access])
        column = columns.setdefault((mask, look), (mask, {**numbered, ACCESS: access}, {}))
        column[2][task] = (cell["leaks"][0], cell["role"][0])
    order = style.ordered(mask for mask, _ in columns)
    return sorted(columns.values(), key=lambda column: order.index(column[0]))


def _matrix(rows: DataFrame) -> NDArray[np.bool_]:
    matrix = np.zeros((len(rows), rows["length"][0]), dtype=bool)
    for query, keys in zip(rows["query"], rows["keys"], strict=True):
        matrix[query, [int(key) for key in keys.split()]] = True
    return matrix


def _rows(columns: list[Layers]) -> list[tuple[str, str]]:
    """The label of each row of grids and the layer that it shows."""
    deepest = max(len(layers) - 1 for layers in columns)
    if all(
        np.array_equal(layers["1"], layer) for layers in columns for name, layer in layers.items() if name != ACCESS
    ):
        labels = ["every layer"]
    elif deepest == 2:
        labels = ["first layer", "later layers"]
    else:
        labels = [f"layer {number}" for number in range(1, deepest)] + ["later layers"]
    return [(label, str(number)) for number, label in enumerate(labels, start=1)] + [("after all layers", ACCESS)]


def _grid(sheet: Axes, matrix: NDArray[np.bool_], left: float, top: float, colour: str) -> None:
    queries, keys = matrix.shape
    size = _GRID / max(queries, keys)
    for seen, face in ((False, "#EEEEEE"), (True, colour)):
        squares = [
            Rectangle((left + key * size, top + query * size), size * 0.86, size * 0.86)
            for query, key in zip(*np.nonzero(matrix == seen), strict=True)
        ]
        sheet.add_collection(PatchCollection(squares, facecolor=face, edgecolor="none"), autolim=False)
