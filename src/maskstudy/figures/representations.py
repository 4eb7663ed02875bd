"""Representations by layer: what a linear probe reads of positions and neighbours, beside random weights."""

from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from polars import DataFrame, Series

from maskstudy.figures import style
from maskstudy.figures.results import Results

SUMMARY = "What each layer holds (exploratory)"
CAPTION = (
    "What a linear probe reads from the residual stream at one position, against the number of blocks that the stream "
    "has passed (0: the embedding); nothing of this was declared beforehand. From left to right: the absolute "
    "position, as share of its variance explained; the token to the left and the token to the right, as accuracy "
    "among the most common tokens. Probes are fitted on some test examples and scored on others. A point is one seed, "
    "the solid line the mean; the dashed line is the mean of the same probe on random weights that were never "
    "trained, and the dotted line chance. Only what lies above the dashed line was learned."
)

_PROBES = {"position": "position", "left": "token to the left", "right": "token to the right"}
_COLUMNS = ["task", "mask", "role", "weights", "seed", "layer", "measure", "value", "mean", "chance"]
_SEED: dict[str, Any] = {"marker": "o", "markersize": 2.2, "markeredgewidth": 0, "alpha": 0.5}
_TRAINED: dict[str, Any] = {"linewidth": 1.2}
_RANDOM: dict[str, Any] = {"linewidth": 0.9, "dashes": (3, 2), "alpha": 0.8}
_CHANCE: dict[str, Any] = {"color": style.QUIET, "linewidth": 0.9, "dashes": (1, 1.6)}
_LEFT, _PANEL, _BETWEEN = 0.34, 0.88, 0.14  # inches, across
_HEAD, _HEIGHT, _FOOT = 0.32, 0.75, 0.36  # inches, down


def data(results: Results) -> DataFrame:
    """One row a probe of a run, or of its mask with random weights; `mean` is over the seeds of the same."""
    table = results.representations.filter(pl.col("measure").is_in(list(_PROBES)))
    mean = pl.mean("value").over("task", "mask", "weights", "layer", "measure")
    return table.with_columns(mean=mean).select(_COLUMNS)


@style.styled
def draw(data: DataFrame) -> Figure:
    """Two tasks a line, each with one panel a probe."""
    if data.is_empty():
        return style.nothing_to_draw("No task of this study has models whose layers could be probed.")
    tasks = {task: rows for (task,), rows in data.group_by("task", maintain_order=True)}
    across, down = min(2, len(tasks)), -(-len(tasks) // 2)
    longest = max(style.text_width(task, style.LARGE, bold=True) for task in tasks)
    column = max(style.WIDTH / 2, longest + 0.2)
    line = _HEAD + _HEIGHT + _FOOT
    width = max(style.WIDTH, across * column)
    entries = [of_line for key in _key(data) for of_line in style.folded(key, width - 0.1)]
    figure, sheet = style.sheet(width, down * line + 0.17 * len(entries) + 0.03)
    colours = style.colours(data["mask"])
    for number, (task, rows) in enumerate(tasks.items()):
        left, top = number % 2 * column, number // 2 * line
        sheet.text(left + 0.05, top + 0.08, task, va="center", weight="bold", fontsize=style.LARGE)
        for place, (measure, name) in enumerate(_PROBES.items()):
            start = left + _LEFT + place * (_PANEL + _BETWEEN)
            sheet.text(start, top + 0.24, name, va="center", color=style.QUIET)
            axes = style.place(figure, start, top + _HEAD, _PANEL, _HEIGHT)
            _panel(axes, rows.filter(measure=measure), colours)
            axes.set_xticks(sorted(set(rows["layer"])))
            axes.set_yticks([0, 0.5, 1], ["0", "0.5", "1"] if place == 0 else [""] * 3)
            if place == 1:
                axes.set_xlabel("blocks passed", labelpad=1.5)
    for number, of_line in enumerate(entries):
        style.key(sheet, 0.05, down * line + 0.08 + 0.17 * number, of_line)
    return figure


def _panel(axes: Axes, rows: DataFrame, colours: dict[str, str]) -> None:
    axes.plot(*_by_layer(rows, "chance"), **_CHANCE)
    for weights, line in (("random", _RANDOM), ("trained", _TRAINED)):
        for mask in style.ordered(rows["mask"]):
            of_mask = rows.filter(mask=mask, weights=weights)
            colour = style.cell_colour(mask, of_mask["role"][0], colours)
            axes.plot(*_by_layer(of_mask, "mean"), color=colour, **line)
            if weights == "trained":
                axes.plot(of_mask["layer"], of_mask["value"], linestyle="none", color=colour, zorder=3, **_SEED)
    last = max(rows["layer"], default=1)
    axes.set(xlim=(-0.15, last + 0.15), ylim=(-0.06, 1.06))


def _by_layer(rows: DataFrame, name: str) -> tuple[Series, Series]:
    by_layer = rows.select("layer", pl.mean(name).over("layer")).unique("layer", keep="first").sort("layer")
    return by_layer["layer"], by_layer[name]


def _key(data: DataFrame) -> tuple[list[tuple[str, dict[str, Any]]], ...]:
    """The masks; what the marks mean."""
    colours = style.colours(data["mask"])
    studied = data.filter(role="study")["mask"]
    masks = [(mask, {**_TRAINED, "color": colours[mask]}) for mask in style.ordered(studied)]
    if (data["role"] == "control").any():
        masks.append(("control", {**_TRAINED, "color": style.CONTROL}))
    marks: list[tuple[str, dict[str, Any]]] = [
        ("trained, one seed", {**_SEED, "color": style.QUIET}),
        ("mean", {**_TRAINED, "color": style.QUIET}),
        ("random weights", {**_RANDOM, "color": style.QUIET}),
        ("chance", _CHANCE),
    ]
    return masks, marks
