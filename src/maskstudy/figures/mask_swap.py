"""Mask swap at test time: what a model scores under a mask that it was not trained with."""

from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from polars import DataFrame

from maskstudy.figures import style
from maskstudy.figures.results import Results

SUMMARY = "A mask swapped at test time (exploratory)"
CAPTION = (
    "Test accuracy of models that were trained under one mask and are asked under another; nothing of this was "
    "declared beforehand. Along the horizontal axis stands the mask at test time; the colour is the mask of the "
    "training, grey for a control. A small point is one seed, the large point the mean with its bootstrap interval "
    "over seeds: filled under the mask of the training, open under another, with a line between points of the same "
    "models. On a grey ground the mask shows the answer, so that a score there is that of a leak and no improvement."
)

_PAIR = ["task", "trained_mask", "tested_mask"]
_COLUMNS = [*_PAIR, "role", "leaks", "seed", "accuracy", "mean", "low", "high"]
_MEAN: dict[str, Any] = {"marker": "o", "markersize": 4.5, "markeredgewidth": 1}
_SEED: dict[str, Any] = {"marker": "o", "markersize": 2, "markeredgewidth": 0, "alpha": 0.5}
_LEAK = "#EEEEEE"
_HEADING, _ENTRY = "trained under", 0.17  # the key: its first words, and the height of a line in inches
_SLOT = style.WIDTH / 3  # inches: a panel takes one or more of these across
_LEFT, _GAP, _TOP, _HEIGHT, _FOOT = 0.5, 0.15, 0.12, 1.05, 0.2  # inches: beside and around the axes of a panel
_SPREAD = 0.62  # of the distance between two masks: over this much the points of different trainings stand side by side


def data(results: Results) -> DataFrame:
    """One row a run and mask at test time, its own mask among them; `leaks` is of the mask at test time."""
    swaps = results.swaps.filter(metric="accuracy")
    own = swaps.unique(["task", "trained_mask", "seed"], keep="first", maintain_order=True).with_columns(
        tested_mask="trained_mask", value="own_value", leaks=pl.col("role") == "control"
    )
    parts = [swaps.clear()]
    for _, runs in pl.concat([swaps, own]).group_by("task", "trained_mask", maintain_order=True):
        parts += [runs.filter(tested_mask=tested) for tested in style.ordered(runs["tested_mask"])]
    table = pl.concat(parts).rename({"value": "accuracy"})
    means = results.mean_intervals(table, _PAIR, "accuracy")
    return table.join(means, on=_PAIR, maintain_order="left").select(_COLUMNS)


@style.styled
def draw(data: DataFrame) -> Figure:
    """One panel a task, from left to right and top to bottom; a panel of many masks is wider."""
    if data.is_empty():
        return style.nothing_to_draw("No task of this study has two masks that its models could be swapped between.")
    tasks = {task: runs for (task,), runs in data.group_by("task", maintain_order=True)}
    masks = {task: style.ordered(runs["tested_mask"]) for task, runs in tasks.items()}
    ticks = {task: [_tick(mask, tasks[task]) for mask in of_task] for task, of_task in masks.items()}
    titles = {task: style.in_lines(task, 26) for task in tasks}
    slots = {}
    for task in tasks:
        needed = len(ticks[task]) * (max(style.text_width(tick) for tick in ticks[task]) + 0.12) + _LEFT + _GAP
        needed = max(needed, style.text_width(titles[task], style.LARGE, bold=True) + _GAP)
        slots[task] = int(np.ceil(needed / _SLOT))
    lines = _in_lines(slots)
    across = max(3, max(sum(slots[task] for task in line) for line in lines))
    colours = style.colours(data["trained_mask"])
    heads = [_TOP + 0.13 * max(1 + titles[task].count("\n") for task in line) for line in lines]
    feet = [_FOOT + 0.12 * max(tick.count("\n") + 1 for task in line for tick in ticks[task]) for line in lines]
    foot = sum(heads) + sum(feet) + _HEIGHT * len(lines)
    masks_key, marks_key = _key(data, colours)
    heading = style.text_width(_HEADING) + 0.2
    entries = style.folded(masks_key, across * _SLOT - heading)
    figure, sheet = style.sheet(across * _SLOT, foot + _ENTRY * (len(entries) + 1) + 0.05)
    top = 0.0
    for line, head, below in zip(lines, heads, feet, strict=True):
        place = 0
        for task in line:
            left, width = place * _SLOT, slots[task] * _SLOT
            sheet.text(left + 0.05, top + 0.06, titles[task], va="top", weight="bold", fontsize=style.LARGE)
            axes = style.place(figure, left + _LEFT, top + head, width - _LEFT - _GAP, _HEIGHT)
            _panel(axes, tasks[task], masks[task], colours)
            axes.set_xticks(range(len(masks[task])), ticks[task])
            axes.set_ylabel("accuracy" if place == 0 else "")
            place += slots[task]
        top += head + _HEIGHT + below
    sheet.text(0.05, foot + 0.1, _HEADING, va="center_baseline", color=style.QUIET)
    for number, of_line in enumerate(entries):
        style.key(sheet, heading, foot + 0.1 + _ENTRY * number, of_line)
    style.key(sheet, 0.05, foot + 0.1 + _ENTRY * len(entries), marks_key)
    return figure


def _panel(axes: Axes, runs: DataFrame, masks: list[str], colours: dict[str, str]) -> None:
    for place in (masks.index(mask) for mask in set(runs.filter("leaks")["tested_mask"])):
        axes.axvspan(place - 0.5, place + 0.5, color=_LEAK, linewidth=0, zorder=0)
    trained = style.ordered(runs["trained_mask"])
    step = min(0.2, _SPREAD / len(trained))
    for number, mask in enumerate(trained):
        of_mask = runs.filter(trained_mask=mask)
        colour = style.cell_colour(mask, of_mask["role"][0], colours)
        shift = step * (number - (len(trained) - 1) / 2) - step / 4
        cells = of_mask.unique("tested_mask", keep="first", maintain_order=True)
        places = np.array([masks.index(tested) for tested in cells["tested_mask"]]) + shift
        axes.plot(places, cells["mean"], color=colour, linewidth=0.9, alpha=0.55, zorder=2)
        for place, cell in zip(places, cells.iter_rows(named=True), strict=True):
            seeds = of_mask.filter(tested_mask=cell["tested_mask"])["accuracy"]
            axes.plot([place + step / 2] * len(seeds), seeds, linestyle="none", color=colour, zorder=3, **_SEED)
            if cell["low"] is not None:
                axes.plot([place] * 2, [cell["low"], cell["high"]], color=colour, linewidth=1.4, zorder=3)
            face = colour if cell["tested_mask"] == mask else "white"
            axes.plot(place, cell["mean"], color=colour, markerfacecolor=face, zorder=4, **_MEAN)
    axes.set_xlim(-0.5, len(masks) - 0.5)
    axes.yaxis.set_major_locator(MaxNLocator(4, min_n_ticks=2))
    axes.margins(y=0.1)


def _in_lines(slots: dict[str, int]) -> list[list[str]]:
    """The tasks in lines of three slots, each as full as their order allows."""
    lines: list[list[str]] = [[]]
    for task, needed in slots.items():
        if lines[-1] and sum(slots[other] for other in lines[-1]) + needed > 3:
            lines.append([])
        lines[-1].append(task)
    return lines


def _tick(mask: str, runs: DataFrame) -> str:
    """The name of a mask at test time, in lines; a control says so."""
    name = style.in_lines(mask, 12)
    return f"{name}\n(control)" if runs.filter(tested_mask=mask)["leaks"].any() else name


def _key(data: DataFrame, colours: dict[str, str]) -> tuple[list[tuple[str, dict[str, Any]]], ...]:
    """The masks of the training; what the marks mean."""
    trained = data.filter(role="study")["trained_mask"]
    masks = [(mask, {**_MEAN, "color": colours[mask]}) for mask in style.ordered(trained)]
    if (data["role"] == "control").any():
        masks.append(("control", {**_MEAN, "color": style.CONTROL}))
    marks = [
        ("own mask", {**_MEAN, "color": style.QUIET}),
        ("another mask", {**_MEAN, "color": style.QUIET, "markerfacecolor": "white"}),
        ("one seed", {**_SEED, "color": style.QUIET}),
    ]
    if data["leaks"].any():
        marks.append(("the mask shows the answer", {"marker": "s", "color": _LEAK, "markersize": 7}))
    return masks, marks
