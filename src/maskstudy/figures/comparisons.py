"""Forest plot of all comparisons: effect, interval, margin, the kind of claim, and the verdict in words."""

from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator
from polars import DataFrame

from maskstudy.figures import style
from maskstudy.figures.results import Results, verdict_words
from maskstudy.statistics import HIGHER_IS_BETTER

SUMMARY = "All comparisons"
_LINEAR = 0.01  # up to here the axis is linear, beyond it logarithmic where effects differ much in size

CAPTION = (
    "Mean paired difference of each two masks with its bootstrap interval over seeds; right of zero the first mask is "
    "the better one. Filled points were declared before any run and are corrected for being several; open points are "
    "exploratory. The grey band is the margin inside which the declaration calls two masks equivalent. A vertical "
    "tick is the difference of the best possible results, that is, what information alone accounts for. Where access "
    "is equal, a difference is about learning; where it is unequal, it is first of all about information. Where "
    f"effects differ much in size the axis is logarithmic beyond ±{_LINEAR:g}."
)

GAINS = {"accuracy": "accuracy gained", "nats": "nats saved", "per": "phoneme errors saved", "wer": "word errors saved"}
_PAIR = ["task", "mask_a", "mask_b"]
_ROW = 0.165
_BAND = "#DDE3EA"
_BEST: dict[str, Any] = {"marker": "|", "color": style.INK, "markersize": 9, "markeredgewidth": 0.8}
_MUCH = 10  # how many times the effect at the lower quartile the largest must be for that


def data(results: Results) -> DataFrame:
    """One row a comparison.

    `gain`, `gain_low`, `gain_high` are the effect turned so that above 0 the first mask is better, whatever the
    metric; `ceiling_gain` is the same for the two ceilings.
    """
    table = results.comparisons
    cell = ["task", "metric", "mask"]
    ceilings = results.metrics.unique(cell, keep="first").select(*cell, "ceiling")
    for mask in ("mask_a", "mask_b"):
        of_mask = ceilings.rename({"mask": mask, "ceiling": f"ceiling_{mask}"})
        table = table.join(of_mask, on=["task", "metric", mask], how="left", validate="m:1", maintain_order="left")
    sign = pl.when(pl.col("metric").replace_strict(HIGHER_IS_BETTER)).then(1.0).otherwise(-1.0)
    low, high = sign * pl.col("low"), sign * pl.col("high")
    return table.select(
        *results.comparisons.columns,
        gain=sign * pl.col("effect"),
        gain_low=pl.min_horizontal(low, high),
        gain_high=pl.max_horizontal(low, high),
        ceiling_gain=sign * (pl.col("ceiling_mask_a") - pl.col("ceiling_mask_b")),
    )


@style.styled
def draw(data: DataFrame) -> Figure:
    """Declared comparisons above, exploratory ones below; one row a pair of masks, one column a metric."""
    if data.is_empty():
        return style.nothing_to_draw("No task of this study has two masks to compare.")
    metrics = [metric for metric in HIGHER_IS_BETTER if metric in set(data["metric"])]
    titles = {task: style.in_lines(task, 15) for task in dict.fromkeys(data["task"])}
    pairs = {(a, b): f"{a} − {b}" for a, b in zip(data["mask_a"], data["mask_b"], strict=True)}
    verdicts = [verdict_words(*row) for row in data.select("verdict", "mask_a", "mask_b").iter_rows()]
    left = 0.05
    pair_left = left + max(style.text_width(title, bold=True) for title in titles.values()) + 0.15
    access_left = pair_left + max(style.text_width(pair) for pair in pairs.values()) + 0.15
    first = access_left + style.text_width("unequal") + 0.15
    words = max(style.text_width(text, bold=True) for text in verdicts) + 0.22
    panel = max(1.25, (style.WIDTH - first) / len(metrics) - words)
    limits = {metric: _limits(data.filter(metric=metric)) for metric in metrics}

    sections = [
        (title, rows)
        for title, rows in (
            ("declared before any run", data.filter(declared=True)),
            ("exploratory", data.filter(declared=False)),
        )
        if not rows.is_empty()
    ]
    layout = [(title, rows, _lines(rows, titles)) for title, rows in sections]
    head, foot = 0.34, 0.38
    height = sum(head + _ROW * lines[-1][1] + foot for _, _, lines in layout)
    figure, sheet = style.sheet(first + len(metrics) * (panel + words), height + 0.12)
    top = 0.0
    for title, rows, lines in layout:
        count = lines[-1][1]
        sheet.text(left, top + 0.14, title, va="center", weight="bold", fontsize=style.LARGE)
        sheet.text(access_left, top + 0.14, "access", va="center", color=style.QUIET)
        start = top + head
        sheet.plot([left, first + len(metrics) * (panel + words)], [start - 0.06] * 2, color=style.FAINT, linewidth=0.6)
        for number, metric in enumerate(metrics):
            place = first + number * (panel + words)
            sheet.text(place, top + 0.14, f"{GAINS[metric]} by the first mask", va="center", color=style.QUIET)
        previous = None
        for (task, mask_a, mask_b), line in lines[:-1]:
            middle = start + (line + 0.5) * _ROW
            if task != previous:
                if previous is not None:
                    sheet.plot([left, access_left - 0.15], [middle - _ROW / 2] * 2, color=style.FAINT, linewidth=0.4)
                sheet.text(left, middle - 0.06, titles[task], va="top", weight="bold", linespacing=1.3)
            previous = task
            equal = rows.filter(task=task, mask_a=mask_a, mask_b=mask_b)["equal_access"][0]
            sheet.text(pair_left, middle, pairs[mask_a, mask_b], va="center")
            sheet.text(
                access_left, middle, "equal" if equal else "unequal", va="center",
                color=style.QUIET, weight="bold" if equal else "normal",
            )  # fmt: skip
        for number, metric in enumerate(metrics):
            place = first + number * (panel + words)
            axes = style.place(figure, place, start, panel, _ROW * count)
            of_metric = rows.filter(metric=metric).rows_by_key(_PAIR, named=True, include_key=True, unique=True)
            marks = [(line, of_metric[pair]) for pair, line in lines[:-1] if pair in of_metric]
            _forest(axes, marks, count, *limits[metric])
            for line, row in marks:
                _write_verdict(sheet, place + panel + 0.1, start + (line + 0.5) * _ROW, row)
        top += head + _ROW * count + foot
    entries: list[tuple[str, dict[str, Any]]] = []
    if data["margin"].is_not_null().any():
        band = {"marker": "s", "color": _BAND, "markersize": 6, "markeredgewidth": 0}
        entries.append(("declared margin of equivalence", band))
    if data["ceiling_gain"].is_not_null().any():
        entries.append(("difference of the best possible results", _BEST))
    style.key(sheet, left, height, entries)
    return figure


def _lines(rows: DataFrame, titles: dict[str, str]) -> list[tuple[Any, int]]:
    """(pair, line it stands on) of every pair, with a little room after each task; last the number of lines."""
    lines: list[tuple[Any, int]] = []
    line = 0
    for (task,), of_task in rows.group_by("task", maintain_order=True):
        pairs = list(dict.fromkeys(of_task.select(_PAIR).iter_rows()))
        lines += [(pair, line + number) for number, pair in enumerate(pairs)]
        line += max(len(pairs), 1 + titles[task].count("\n"))
    return [*lines, (None, line)]


def _limits(rows: DataFrame) -> tuple[float, float, bool]:
    """Ends of the axis, and whether effects differ so much in size that it must be logarithmic."""
    ends = rows.select("gain_low", "gain_high", "ceiling_gain", "margin", below=-pl.col("margin")).to_numpy()
    low, high = float(np.nanmin(ends, initial=0.0)), float(np.nanmax(ends, initial=0.0))
    sizes = rows["gain"].abs().to_numpy()
    logarithmic = bool(sizes.max() > _MUCH * np.quantile(sizes, 0.25) and sizes.max() > _MUCH * _LINEAR)
    if logarithmic:
        return min(2 * low, -_LINEAR), max(2 * high, _LINEAR), True
    pad = 0.06 * (high - low) or 0.01
    return low - pad, high + pad, False


def _forest(axes: Axes, marks: list[tuple[int, Any]], count: int, low: float, high: float, logarithmic: bool) -> None:
    axes.set_ylim(count, 0)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    if logarithmic:
        axes.set_xscale("symlog", linthresh=_LINEAR, linscale=0.6)
        powers = [_LINEAR * 10**power for power in range(5)]
        ticks = [tick for tick in [*(-power for power in reversed(powers)), 0.0, *powers] if low <= tick <= high]
        named = [tick for tick in ticks if tick == 0 or abs(tick) > 2 * _LINEAR]
        axes.set_xticks(named, [f"{tick:g}".replace("-", "−").replace("0.", ".") for tick in named])
        axes.set_xticks([-_LINEAR, _LINEAR], minor=True)
        axes.tick_params(axis="x", which="minor", length=1.5, width=0.6)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(4, min_n_ticks=2))
    axes.set_xlim(low, high)
    axes.axvline(0, color=style.QUIET, linewidth=0.5)
    for line, row in marks:
        middle = line + 0.5
        colour = style.INK if row["declared"] else style.QUIET
        if row["margin"] is not None:
            axes.add_patch(
                Rectangle((-row["margin"], middle - 0.42), 2 * row["margin"], 0.84, color=_BAND, linewidth=0, zorder=0)
            )
        if row["ceiling_gain"] is not None:
            axes.plot(row["ceiling_gain"], middle, **_BEST)
        axes.plot([row["gain_low"], row["gain_high"]], [middle] * 2, color=colour, linewidth=1.2)
        face = colour if row["declared"] else "white"
        axes.plot(row["gain"], middle, "o", color=colour, mfc=face, markersize=3.8, markeredgewidth=0.9)


def _write_verdict(sheet: Axes, left: float, middle: float, row: Any) -> None:
    winner = {"a": row["mask_a"], "b": row["mask_b"]}.get(row["verdict"])
    colour = style.QUIET if winner is None else style.darker(style.colours([winner])[winner])
    words = verdict_words(row["verdict"], row["mask_a"], row["mask_b"])
    sheet.text(left, middle, words, va="center", color=colour, weight="bold" if row["declared"] else "normal")
