"""The leak: the loss of a model that sees its answer, and the text that it writes where it cannot see it."""

from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from polars import DataFrame

from maskstudy.figures import style
from maskstudy.figures.results import Cell, Results
from maskstudy.files import read_json

SUMMARY = "The leak: a low loss, and garbage"
CAPTION = (
    "Left, the test loss of models that predict the next token, and of controls that see it. A small point is one "
    "seed, the large point the mean; open diamonds mark the baseline with the same access, and the dotted line what "
    "the frequencies of the tokens alone are worth. Where the source is known, the solid line is its entropy rate: "
    "nobody comes below it but by seeing the answer, so that a loss in the grey area is proof of a leak. Right, "
    "what the model of the first seed writes by itself, sampled token by token after a prompt in grey. Above it "
    "stands how surprising such text is to the ideal observer, or where there is none to the baseline, when it sees "
    "the past alone: the mean over all prompts and seeds, beside the same for true text."
)

_COLUMNS = ["task", "mask", "role", "seed", "nats", "accuracy", "ceiling", "unigram", "baseline"]
_COLUMNS += ["judge", "judged_nats", "true_judged_nats", "prompt", "text"]
_LINE, _LINES = 60, 3  # characters of text
_MONO, _SIZE = "DejaVu Sans Mono", 6.0  # points
_CHARACTER = 0.602 * _SIZE / 72  # inches: every character of the font is this wide
_BLOCK, _HEAD, _FOOT = 0.62, 0.28, 0.42  # inches: a row, above and below the rows of a task
_SEED: dict[str, Any] = {"marker": "o", "markersize": 2.2, "markeredgewidth": 0, "alpha": 0.6}
_MEAN: dict[str, Any] = {"marker": "o", "markersize": 4.5, "markeredgecolor": "white", "markeredgewidth": 0.6}
_BASELINE: dict[str, Any] = {
    "marker": "D",
    "color": style.QUIET,
    "markersize": 3,
    "markerfacecolor": "white",
    "markeredgewidth": 0.8,
}
_FLOOR: dict[str, Any] = {"color": style.INK, "linewidth": 1}
_UNIGRAM: dict[str, Any] = {"color": style.QUIET, "linewidth": 0.9, "dashes": (1, 1.6)}
_BELOW = "#EEEEEE"


def data(results: Results) -> DataFrame:
    """One row a run of every task that has controls and whose models write text.

    `ceiling`, `unigram` and `baseline` are nats on the test data; `ceiling` is that of the task's first study mask, its
    floor for all who do not see the answer. `judged_nats` is what the judge thinks of the run's sampled text and
    `true_judged_nats` of true text; `prompt` and `text` are the first of the run.
    """
    rows = []
    for task in results.settings.tasks:
        cells = [cell for cell in results.settings.cells if cell.task == task]
        references = {cell.mask: _reference(results, cell) for cell in cells}
        first = references[cells[0].mask]
        if cells[-1].role != "control" or first["unigram"] is None:
            continue
        for cell in cells:
            for seed in cell.seeds:
                run = results.folder / "runs" / task / cell.mask / f"seed-{seed}"
                generated = read_json(run / "generated.json")
                metrics = read_json(run / "metrics.json")["metrics"]
                rows.append(
                    {
                        "task": task,
                        "mask": cell.mask,
                        "role": cell.role,
                        "seed": seed,
                        "nats": metrics["nats"],
                        "accuracy": metrics["accuracy"],
                        "ceiling": first["ceiling"] and first["ceiling"]["nats"],
                        "unigram": first["unigram"]["nats"],
                        "baseline": references[cell.mask]["baseline"]["nats"],
                        "judge": generated["judge"],
                        "judged_nats": generated["metrics"]["sampled"]["judged_nats"],
                        "true_judged_nats": generated["metrics"]["true"]["judged_nats"],
                        "prompt": generated["texts"][0]["prompt"],
                        "text": generated["texts"][0]["sampled"],
                    }
                )
    return DataFrame(rows, _COLUMNS, schema_overrides={"ceiling": pl.Float64}, infer_schema_length=None)


@style.styled
def draw(data: DataFrame) -> Figure:
    """One block a task, one row a mask: its loss to the left, its text to the right."""
    if data.is_empty():
        return style.nothing_to_draw("No task of this study has a control whose models write text.")
    tasks = {task: rows for (task,), rows in data.group_by("task", maintain_order=True)}
    cells = {task: list(rows.group_by("mask", "role", maintain_order=True)) for task, rows in tasks.items()}
    names = [_name(*cell) for of_task in cells.values() for cell, _ in of_task]
    left = 0.12 + max(style.text_width(name) for name in names)
    text_left = max(left + 1.6, style.WIDTH - _LINE * _CHARACTER)
    heights = {task: _HEAD + _BLOCK * len(of_task) + _FOOT for task, of_task in cells.items()}
    foot = sum(heights.values())
    figure, sheet = style.sheet(text_left + _LINE * _CHARACTER + 0.05, foot + 0.2)
    colours = style.colours(data["mask"])
    top = 0.0
    for task, of_task in cells.items():
        sheet.text(0.05, top + 0.13, task, va="center", weight="bold", fontsize=style.LARGE)
        axes = style.place(figure, left, top + _HEAD, text_left - left - 0.25, _BLOCK * len(of_task))
        _losses(axes, tasks[task], of_task, colours)
        for place, ((mask, role), runs) in enumerate(of_task):
            start = top + _HEAD + place * _BLOCK
            colour = style.cell_colour(mask, role, colours)
            words: dict[str, Any] = {"color": style.darker(colour), "linespacing": 1.3}
            sheet.text(left - 0.08, start + _BLOCK / 2, _name(mask, role), ha="right", va="center", **words)
            _write(sheet, text_left, start, runs)
        top += heights[task]
    entries = [("one seed", {**_SEED, "color": style.QUIET}), ("mean", {**_MEAN, "color": style.QUIET})]
    if data["ceiling"].is_not_null().any():
        entries.append(("entropy rate", _FLOOR))
    entries += [("token frequencies", _UNIGRAM), ("baseline", _BASELINE)]
    style.key(sheet, 0.05, foot + 0.1, entries)
    return figure


def _reference(results: Results, cell: Cell) -> dict[str, Any]:
    reference: dict[str, Any] = read_json(results.folder / "references" / cell.task / f"{cell.mask}.json")
    return reference


def _losses(axes: Axes, rows: DataFrame, cells: list[Any], colours: dict[str, str]) -> None:
    ceiling, unigram = rows["ceiling"][0], rows["unigram"][0]
    if ceiling is not None:
        axes.axvspan(0, ceiling, color=_BELOW, linewidth=0, zorder=0)
        axes.axvline(ceiling, **_FLOOR)
        between = 0.5 * (len(cells) - 1)
        axes.text(ceiling / 2, between, "only by seeing the answer", ha="center", va="center", color=style.QUIET)
    axes.axvline(unigram, **_UNIGRAM)
    for place, ((mask, role), runs) in enumerate(cells):
        colour = style.cell_colour(mask, role, colours)
        axes.plot(runs["baseline"][0], place, **_BASELINE)
        axes.plot(runs["nats"], [place + 0.2] * len(runs), linestyle="none", color=colour, **_SEED)
        axes.plot(runs["nats"].mean(), place - 0.2, color=colour, zorder=4, **_MEAN)
    most = max(unigram, *rows["nats"], *rows["baseline"])
    axes.set(xlim=(-0.03 * most, 1.05 * most), ylim=(len(cells) - 0.5, -0.5), yticks=[])
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(4, min_n_ticks=2))
    axes.set_xlabel(style.METRIC_NAMES["nats"])


def _write(sheet: Axes, left: float, top: float, runs: DataFrame) -> None:
    """Prompt and text of the first seed in lines of `_LINE` characters, under what the judge thinks of such text."""
    true, judged = runs.select(pl.mean("true_judged_nats", "judged_nats")).row(0)
    words = f"its text: {judged:.2f} nats per token (true text: {true:.2f})"
    sheet.text(left, top + 0.06, words, va="center", color=style.QUIET)
    prompt, text = (style.visible(runs[name][0]) for name in ("prompt", "text"))
    for number in range(_LINES):
        start, end = number * _LINE, (number + 1) * _LINE
        in_prompt = prompt[start:end]
        written = text[max(0, start - len(prompt)) : max(0, end - len(prompt))]
        for part, across, colour in ((in_prompt, 0, style.QUIET), (written, len(in_prompt), style.INK)):
            sheet.text(
                left + across * _CHARACTER,
                top + 0.2 + 0.115 * number,
                part,
                va="center_baseline",
                family=_MONO,
                fontsize=_SIZE,
                color=colour,
                parse_math=False,  # a text may hold dollars
            )


def _name(mask: str, role: str) -> str:
    return f"{mask}\n(control)" if role == "control" else mask
