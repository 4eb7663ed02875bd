"""How much the future is worth: accuracy against the number of tokens that a mask lets a position look ahead."""

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from polars import DataFrame

from maskstudy.figures import style
from maskstudy.figures.results import Results

SUMMARY = "How much the future is worth"
CAPTION = (
    "Test accuracy against how many tokens of the future a position may see: none under the causal mask, all under "
    "full attention. Each small point is one seed; the large point is the mean with its bootstrap interval. The line "
    "is the best possible with that access, computed exactly where the source is known: no model can be above it "
    "except by luck. Open diamonds are the baseline with the same access."
)

_CELL = ["task", "mask"]
_COLUMNS = ["task", "mask", "lookahead", "seed", "accuracy", "mean", "low", "high", "ceiling", "baseline"]


def data(results: Results) -> DataFrame:
    """One row a run of every task that has causal, lookahead-K and full; `lookahead` is infinite for full."""
    rows = results.metrics.filter(metric="accuracy", role="study").rename({"value": "accuracy"})
    lookahead = pl.col("mask").map_elements(style.lookahead, return_dtype=pl.Float64)
    rows = rows.with_columns(lookahead=lookahead).drop_nulls("lookahead")
    reach = pl.col("lookahead")
    is_a_series = (reach == 0).any() & reach.is_infinite().any() & (reach.n_unique() > 2)
    rows = rows.filter(is_a_series.over("task"))
    rows = rows.join(results.mean_intervals(rows, _CELL, "accuracy"), on=_CELL, maintain_order="left")
    return rows.sort(pl.col("task").rle_id(), "lookahead", "seed").select(_COLUMNS)


@style.styled
def draw(data: DataFrame) -> Figure:
    """One panel a task; look-ahead runs to the right, full attention stands after a break."""
    if data.is_empty():
        return style.nothing_to_draw("No task of this study has causal, lookahead-K and full masks.")
    tasks = list(dict.fromkeys(data["task"]))
    across = min(2, len(tasks))
    down = -(-len(tasks) // across)
    left, right, top, bottom, height = 0.55, 1.0, 0.3, 0.45, 1.7
    column = max(style.WIDTH / 2, max(style.text_width(task, style.LARGE, bold=True) for task in tasks) + left)
    figure, _ = style.sheet(across * column, down * (top + height + bottom))
    for index, task in enumerate(tasks):
        row, place = divmod(index, across)
        axes = style.place(
            figure, place * column + left, row * (top + height + bottom) + top, column - left - right, height
        )
        _panel(axes, data.filter(task=task), height)
        axes.set_title(task, pad=7)
        axes.set_xlabel("tokens of look-ahead")
        axes.set_ylabel("accuracy" if place == 0 else "")
    return figure


def _panel(axes: Axes, runs: DataFrame, height: float) -> None:
    reaches = sorted(set(runs["lookahead"]))
    beyond = reaches[-2] + max(1.5, 0.4 * reaches[-2])  # where full attention stands
    x = {reach: beyond if np.isinf(reach) else reach for reach in reaches}
    unit = beyond / 40
    colours = style.colours(runs["mask"])
    cells = runs.unique("mask", keep="first", maintain_order=True).sort("lookahead")
    places = [x[reach] for reach in cells["lookahead"]]
    ceilings, baselines = (cells[name].to_numpy() for name in ("ceiling", "baseline"))
    labels: list[tuple[float, str, str]] = []

    if np.isfinite(ceilings).any():
        axes.plot(places[:-1], ceilings[:-1], color=style.INK, linewidth=1)
        axes.plot(places[-2:], ceilings[-2:], color=style.INK, linewidth=1, dashes=(2, 2))
        axes.plot(places, ceilings, "_", color=style.INK, markersize=9, markeredgewidth=1)
        labels.append((float(ceilings[-1]), "best possible", style.INK))
    for cell in cells.iter_rows(named=True):
        colour, centre = colours[cell["mask"]], x[cell["lookahead"]]
        accuracies = runs.filter(mask=cell["mask"])["accuracy"]
        count = len(accuracies)
        offsets = unit * (1.1 + 1.6 * np.arange(count) / max(1, count - 1))
        axes.plot(centre + offsets, accuracies, "o", color=colour, markersize=2, alpha=0.6, mew=0)
        if cell["low"] is not None:
            axes.plot([centre] * 2, [cell["low"], cell["high"]], color=colour, linewidth=1.6, zorder=3)
        axes.plot(centre, cell["mean"], "o", color=colour, markersize=4.5, mec="white", mew=0.6, zorder=4)
    labels.append((cells["mean"][-1], "transformer", style.INK))
    if np.isfinite(baselines).any():
        axes.plot(places, baselines, color=style.QUIET, linewidth=0.5, dashes=(1, 2))
        axes.plot(places, baselines, "D", color=style.QUIET, markersize=3.2, mfc="white", mew=0.8)
        labels.append((float(baselines[-1]), "baseline", style.QUIET))

    axes.set_xlim(-2.5 * unit, beyond + 4 * unit)
    axes.set_xticks(list(x.values()), ["∞" if np.isinf(reach) else f"{reach:g}" for reach in x])
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.margins(y=0.08)
    axes.set_ylim(axes.get_ylim())
    style.label_ends(axes, labels, height)
    # Two strokes through the axis: what lies between the last look-ahead and full attention is left out.
    gap_at = (reaches[-2] + beyond) / 2
    for stroke in (-0.6, 0.6):
        axes.plot(
            [gap_at + (stroke - 0.5) * unit, gap_at + (stroke + 0.5) * unit],
            [-0.02, 0.02],
            transform=axes.get_xaxis_transform(),
            color=style.QUIET,
            linewidth=0.6,
            clip_on=False,
        )
