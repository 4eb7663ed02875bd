"""Equal tuning: the validation loss of every cell at every learning rate of the grid, and which one it took."""

from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator
from polars import DataFrame

from maskstudy.figures import style
from maskstudy.figures.results import Results

SUMMARY = "Every cell searched the same learning rates"
CAPTION = (
    "Validation loss at each multiple of the declared learning rates, less the best of its cell, so that 0 is the "
    "best. It is the mean over the seeds of the tuning, none of which the study reports. A filled point is the "
    "multiple that the cell trains with: the best, or one nearer to the declared rates that is no worse by more than "
    "the tolerance. A filled point at the left or right end says that a better rate may lie outside the grid. "
    "Controls are grey."
)

_COLUMNS = ["task", "mask", "role", "scale", "nats", "above_best", "chosen"]
_LINE: Any = {"linewidth": 1.1}
_POINT: Any = {"marker": "o", "markersize": 4.0, "markeredgewidth": 1.0}


def data(results: Results) -> DataFrame:
    """One row a (cell, scale), its mean loss; the loss is missing where the training diverged."""
    mean = pl.mean("nats").over("task", "mask", "scale")
    points = results.tuning.with_columns(mean).unique(["task", "mask", "scale"], keep="first", maintain_order=True)
    above_best = pl.col("nats") - pl.min("nats").over("task", "mask")
    return points.with_columns(above_best=above_best).select(_COLUMNS)


@style.styled
def draw(data: DataFrame) -> Figure:
    """One panel a task."""
    if data.is_empty():
        return style.nothing_to_draw("The grid of this study has one learning rate: nothing was tuned.")
    tasks = list(dict.fromkeys(data["task"]))
    across = min(4, len(tasks))
    down = -(-len(tasks) // across)
    left, top, bottom, height, gap = 0.55, 0.32, 0.42, 0.95, 0.12
    titles = max(style.text_width(task, style.LARGE, bold=True) for task in tasks)
    panel = max(min(style.WIDTH / across - left - gap, 1.8), titles - left / 2)
    colours = style.colours(data["mask"])
    masks = style.ordered(data.filter(role="study")["mask"])
    foot = down * (top + height + bottom)
    figure, sheet = style.sheet(across * (left + panel + gap), foot + 0.42)
    for index, task in enumerate(tasks):
        row, column = divmod(index, across)
        axes = style.place(
            figure, column * (left + panel + gap) + left, row * (top + height + bottom) + top, panel, height
        )
        _panel(axes, data.filter(task=task), colours)
        axes.set_title(task, pad=7, x=-0.5 * left / panel)
        if column == 0:
            axes.set_ylabel("nats above best")
        if index + across >= len(tasks):
            axes.set_xlabel("× declared rates")
    style.key(sheet, 0.05, foot + 0.1, [(mask, {"color": colours[mask], **_LINE}) for mask in masks])
    chosen = {**_POINT, "color": style.QUIET}
    style.key(sheet, 0.05, foot + 0.3, [("chosen", chosen), ("tried", {**chosen, "mfc": "white"})])
    return figure


def _panel(axes: Axes, cells: DataFrame, colours: dict[str, str]) -> None:
    scales = sorted(set(cells["scale"]))
    for (mask, role), curve in cells.group_by("mask", "role", maintain_order=True):
        colour = style.cell_colour(mask, role, colours)
        curve = curve.sort("scale")
        axes.plot(curve["scale"], curve["above_best"], color=colour, **_LINE)
        points = curve.drop_nulls("above_best").select("scale", "above_best", "chosen")
        for scale, above_best, chosen in points.iter_rows():
            face, zorder = (colour, 4) if chosen else ("white", 3)
            axes.plot(scale, above_best, color=colour, mfc=face, zorder=zorder, **_POINT)
    axes.set_xscale("log")
    axes.set_xticks(scales, [f"{scale:g}" for scale in scales])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.margins(x=0.12, y=0.14)
    axes.yaxis.set_major_locator(MaxNLocator(3))
