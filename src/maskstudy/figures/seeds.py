"""Every seed of every cell as a point, and beside it the paired difference from the reference mask."""

from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from polars import DataFrame

from maskstudy.figures import style
from maskstudy.figures.results import Results
from maskstudy.statistics import HIGHER_IS_BETTER

SUMMARY = "Every seed, paired across masks"
CAPTION = (
    "Test results of every run. A small point is one seed and a thin line joins the same seed under the next mask; the "
    "large point is the mean. Vertical ticks mark the best possible with that access, where it is known; open diamonds "
    "the baseline with the same access. Beside each panel stands the mean paired difference from the reference mask "
    "with its bootstrap interval over seeds: filled where the comparison was declared before any run, open where it "
    "is exploratory."
)

_COLUMNS = ["task", "mask", "role", "metric", "seed", "value", "mean", "baseline", "ceiling", "reference"]
_DIFFERENCES = ["difference", "low", "high", "declared"]
_BEST: dict[str, Any] = {"marker": "|", "color": style.INK, "markersize": 8, "markeredgewidth": 1}
_BASELINE: dict[str, Any] = {
    "marker": "D",
    "color": style.QUIET,
    "markersize": 3,
    "markerfacecolor": "white",
    "markeredgewidth": 0.8,
}
_SEED: dict[str, Any] = {"marker": "o", "markersize": 2.2, "markeredgewidth": 0, "alpha": 0.6}
_MEAN: dict[str, Any] = {"marker": "o", "markersize": 4.5, "markeredgecolor": "white", "markeredgewidth": 0.6}
_BELOW = 0.17  # seeds stand this share of a row below its middle, the mean as much above it
_DIRECTIONS = {True: "higher is better", False: "lower is better"}


def data(results: Results) -> DataFrame:
    """One row a (run, metric), with the cell's mean and its paired difference from the task's reference mask.

    The reference is the causal mask, or the first of the task where there is none; controls and the reference itself
    have no difference.
    """
    table = results.metrics.with_columns(mean=pl.mean("value").over("task", "mask", "metric"))
    masks = table.filter(role="study").group_by("task", maintain_order=True).agg("mask")
    references = {task: "causal" if "causal" in of_task else of_task[0] for task, of_task in masks.iter_rows()}
    table = table.with_columns(reference=pl.col("task").replace_strict(references, default=None))
    pairs = results.comparisons.rename({"mask_a": "mask", "mask_b": "reference", "effect": "difference"})
    turned = pairs.with_columns(
        mask="reference", reference="mask", difference=-pl.col("difference"), low=-pl.col("high"), high=-pl.col("low")
    )
    keys = ["task", "metric", "mask", "reference"]
    both = pl.concat([pairs, turned]).select(*keys, *_DIFFERENCES)
    found = table.join(both, on=keys, how="left", validate="m:1", maintain_order="left")
    return found.select(*_COLUMNS, *_DIFFERENCES).with_columns(pl.col("declared").fill_null(False))


@style.styled
def draw(data: DataFrame) -> Figure:
    """One line of panels a task, one row a mask."""
    tasks = list(dict.fromkeys(data["task"]))
    metrics = [metric for metric in HIGHER_IS_BETTER if metric in set(data["metric"])]
    colours = style.colours(data["mask"])
    cells = {task: _cells(data.filter(task=task)) for task in tasks}
    rows = sum(len(masks) for masks in cells.values())
    row = 0.17 if rows > 16 else 0.24
    titles = {task: style.in_lines(task, 17) for task in tasks}
    names = {(mask, role): style.cell_name(mask, role) for masks in cells.values() for mask, role in masks}
    task_width = max(style.text_width(title, bold=True) for title in titles.values()) + 0.14
    left = 0.05 + task_width + max(style.text_width(name) for name in names.values()) + 0.12
    unit = max(0.55, (style.WIDTH - left) / len(metrics) / 2.15 - 0.1)
    heading = max(style.text_width(style.METRIC_NAMES[metric], bold=True) for metric in metrics)
    values, differences, gap = max(1.25 * unit, heading - 0.1), max(0.9 * unit, 0.6), 0.2
    metric_width = values + differences + 2 * gap

    heights = {task: max(row * len(masks), 0.13 * (1 + titles[task].count("\n"))) for task, masks in cells.items()}
    head, between = 0.42, 0.32
    foot = head + sum(heights.values()) + between * len(tasks)
    figure, sheet = style.sheet(left + len(metrics) * metric_width - gap + 0.1, foot + 0.22)
    for number, metric in enumerate(metrics):
        start = left + number * metric_width
        sheet.text(start, 0.1, style.METRIC_NAMES[metric], va="center", weight="bold")
        sheet.text(start, 0.25, _DIRECTIONS[HIGHER_IS_BETTER[metric]], va="center", color=style.QUIET)
        if data["difference"].is_not_null().any():
            sheet.text(start + values + gap, 0.1, "difference", va="center", weight="bold")
            sheet.text(start + values + gap, 0.25, _from(data), va="center", color=style.QUIET)

    top = head
    for task, masks in cells.items():
        of_task = data.filter(task=task)
        sheet.text(0.05, top + row / 2 - 0.06, titles[task], va="top", weight="bold", linespacing=1.25)
        for place, (mask, role) in enumerate(masks):
            colour = style.cell_colour(mask, role, colours)
            middle = top + (place + 0.5) * row
            sheet.text(left - 0.12, middle, names[mask, role], ha="right", va="center", color=style.darker(colour))
        height = row * len(masks)
        for number, metric in enumerate(metrics):
            start = left + number * metric_width
            runs = of_task.filter(metric=metric)
            if runs.is_empty():
                continue
            _values(style.place(figure, start, top, values, height), runs, masks, colours)
            if runs["difference"].is_not_null().any():
                axes = style.place(figure, start + values + gap, top, differences, height)
                _differences(axes, runs, masks, colours)
        top += heights[task] + between

    marks = [("one seed", {**_SEED, "color": style.QUIET}), ("mean", {**_MEAN, "color": style.QUIET})]
    style.key(sheet, 0.05, foot + 0.1, [*marks, ("best possible", _BEST), ("baseline", _BASELINE)])
    return figure


def _cells(runs: DataFrame) -> list[tuple[str, str]]:
    """The masks of a task from top to bottom, controls last, with their roles."""
    roles = dict(zip(runs["mask"], runs["role"], strict=True))
    order = style.ordered(roles)
    return [(mask, role) for role in ("study", "control") for mask in order if roles[mask] == role]


def _from(data: DataFrame) -> str:
    references = set(data["reference"].drop_nulls())
    return f"from {references.pop()}" if len(references) == 1 else "from the first mask"


def _values(axes: Axes, runs: DataFrame, masks: list[tuple[str, str]], colours: dict[str, str]) -> None:
    pivot = runs.pivot("seed", index="mask", values="value", maintain_order=True)
    values = {mask: of_seeds for mask, *of_seeds in pivot.iter_rows()}
    paired = [values[mask] for mask, role in masks if role == "study"]
    for of_seed in zip(*paired, strict=True):
        axes.plot(of_seed, np.arange(len(paired)) + _BELOW, color=style.CONTROL, linewidth=0.4, alpha=0.6)
    for place, (mask, role) in enumerate(masks):
        colour = style.cell_colour(mask, role, colours)
        cell = runs.filter(mask=mask).row(0, named=True)
        for value, mark in ((cell["ceiling"], _BEST), (cell["baseline"], _BASELINE)):
            if value is not None:
                axes.plot(value, place, **mark)
        axes.plot(values[mask], [place + _BELOW] * len(values[mask]), linestyle="none", color=colour, **_SEED)
        axes.plot(cell["mean"], place - _BELOW, color=colour, zorder=4, **_MEAN)
    _rows(axes, len(masks))
    axes.margins(x=0.08)
    axes.xaxis.set_major_locator(MaxNLocator(3, min_n_ticks=2, steps=[1, 2, 5, 10]))


def _differences(axes: Axes, runs: DataFrame, masks: list[tuple[str, str]], colours: dict[str, str]) -> None:
    axes.axvline(0, color=style.QUIET, linewidth=0.5)
    for place, (mask, _) in enumerate(masks):
        cell = runs.filter(mask=mask).row(0, named=True)
        if mask == cell["reference"]:
            axes.plot(0, place, "|", color=colours[mask], markersize=6, markeredgewidth=1.2)
        elif cell["difference"] is not None:
            axes.plot([cell["low"], cell["high"]], [place] * 2, color=colours[mask], linewidth=1.4)
            face = colours[mask] if cell["declared"] else "white"
            axes.plot(
                cell["difference"], place, "o", color=colours[mask], mfc=face, markersize=3.6, markeredgewidth=0.9
            )
    _rows(axes, len(masks))
    axes.margins(x=0.1)
    far = max(axes.get_xlim(), key=abs)
    power = 10.0 ** np.floor(np.log10(abs(far)))
    round_number = np.copysign(power * max(step for step in (1, 2, 5) if step * power <= abs(far)), far)
    axes.set_xticks([0, round_number], ["0", f"{round_number:g}".replace("-", "−")])


def _rows(axes: Axes, count: int) -> None:
    axes.set_ylim(count - 0.5, -0.5)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
