"""Validation loss against training tokens: every seed, its mean, and the best that the access allows."""

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator
from polars import DataFrame

from maskstudy.figures import style
from maskstudy.figures.results import Results

SUMMARY = "How fast each mask learns"
CAPTION = (
    "Validation loss against the number of training tokens, one panel a task; with up to three tasks, validation "
    "accuracy below it. Each thin line is one seed, the bold line their mean. A dashed line is the best possible "
    "under that mask's access (the exact ideal observer, scored on the test data); a dotted line, drawn where at most "
    "two masks share a panel, is the baseline with the same access. Controls, which see their answer, are grey."
)

_MOST_WITH_ACCURACY = 3  # tasks; beyond that the figure shows the loss alone
_START = 0.1  # share of training that may leave the panel at the top: the loss of an untrained model hides the rest
_DASHES = {"ceiling": (4, 2), "baseline": (1, 1.6)}
_KEY = [
    ("one seed", {"color": style.QUIET, "linewidth": 0.5}),
    ("mean", {"color": style.QUIET, "linewidth": 1.4}),
    ("best possible", {"color": style.QUIET, "linewidth": 0.8, "dashes": _DASHES["ceiling"]}),
    ("baseline", {"color": style.QUIET, "linewidth": 0.8, "dashes": _DASHES["baseline"]}),
]


def data(results: Results) -> DataFrame:
    """One row a (run, validation step), with the cell's ceiling and baseline on the test data beside it."""
    curves = results.history.filter(split="validation").drop("split", "learning_rate")
    references = results.metrics.pivot(
        "metric",
        on_columns=["nats", "accuracy"],
        index=["task", "mask"],
        values=["ceiling", "baseline"],
        aggregate_function="first",
        maintain_order=True,
    )
    return curves.join(references, on=["task", "mask"], how="left", validate="m:1", maintain_order="left")


@style.styled
def draw(data: DataFrame) -> Figure:
    """One panel a task, labelled at the end of the lines."""
    tasks = list(dict.fromkeys(data["task"]))
    colours = style.colours(data["mask"])
    both = len(tasks) <= _MOST_WITH_ACCURACY
    across = len(tasks) if both else 3
    places = [(task, *divmod(index, across)) for index, task in enumerate(tasks)]
    labels = [0.0] * across  # the widest label of each column
    titles = 0.0
    for task, _, column in places:
        cells = data.filter(task=task).select("mask", "role").unique()
        names = {style.cell_name(*cell) for cell in cells.iter_rows()}
        labels[column] = max(labels[column], *(style.text_width(name) for name in names))
        titles = max(titles, style.text_width(task, style.LARGE, bold=True) - min(labels) - 0.2)
    left, gap, height, top, bottom = 0.42, 0.18, 1.3 if len(tasks) <= 6 else 1.05, 0.32, 0.4
    panel = (style.WIDTH - 0.12 - sum(labels) - across * (left + gap)) / across
    panel = max(1.1, titles, min(3.2, panel))
    lefts = [left + 0.12 + column * (left + panel + gap) + sum(labels[:column]) for column in range(across)]
    down = places[-1][1] + 1
    tall = height + 0.25 + height if both else height
    foot = down * (top + tall + bottom)
    figure, sheet = style.sheet(lefts[-1] + panel + gap + labels[-1], foot + 0.2)
    style.key(sheet, 0.05, foot + 0.1, _KEY)
    for task, row, column in places:
        for number, metric in enumerate(("nats", "accuracy") if both else ("nats",)):
            above = row * (top + tall + bottom) + top + number * (height + 0.25)
            axes = style.place(figure, lefts[column], above, panel, height)
            _panel(axes, data.filter(task=task), metric, colours, height)
            if number == 0:
                axes.set_title(task, pad=7)
            if column == 0:
                axes.set_ylabel(style.METRIC_NAMES[metric])
            if both and number == 0:
                axes.tick_params(labelbottom=False)
        if (row + 1, column) not in {(below, beside) for _, below, beside in places}:
            axes.set_xlabel("training tokens")
    return figure


def _panel(axes: Axes, curves: DataFrame, metric: str, colours: dict[str, str], height: float) -> None:
    ends: list[tuple[float, str, str]] = []
    few = curves["mask"].n_unique() <= 2
    references: list[float] = []
    final = max(curves["tokens_seen"])
    for (mask, role), cell in curves.group_by("mask", "role", maintain_order=True):
        colour = style.cell_colour(mask, role, colours)
        for _, run in cell.group_by("seed", maintain_order=True):
            axes.plot(run["tokens_seen"], run[metric], color=colour, linewidth=0.5, alpha=0.35)
        # By step, not by tokens: padding makes the tokens of a step differ between seeds.
        mean = (
            cell.select("step", pl.mean("tokens_seen", metric).over("step")).unique("step", keep="first").sort("step")
        )
        axes.plot(mean["tokens_seen"], mean[metric], color=colour, linewidth=1.4)
        ends.append((mean[metric][-1], style.cell_name(mask, role), style.darker(colour)))
        for reference, dashes in _DASHES.items():
            value = cell[f"{reference}_{metric}"][0]
            if value is not None and (reference == "ceiling" or (few and role == "study")):
                axes.plot([0, final], [value] * 2, color=colour, linewidth=0.8, dashes=dashes)
                references.append(value)

    trained = curves.filter(pl.col("step") >= _START * pl.max("step"))[metric]
    low, high = min(*trained, *references), max(*trained, *references)
    pad = 0.06 * (high - low) or 0.05
    axes.set_ylim(low - pad, high + pad)
    axes.set_xlim(0, final)
    axes.xaxis.set_major_locator(MaxNLocator(3))
    axes.yaxis.set_major_locator(MaxNLocator(4, min_n_ticks=3))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    style.label_ends(axes, ends, height)
