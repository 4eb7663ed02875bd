"""The measured access of one model: who sees whom, and how large the effect is by either way.

No figure of the study: it is drawn from what `maskstudy access --json` prints, for a model of the reader's own.
"""

import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, ListedColormap, LogNorm
from matplotlib.figure import Figure
from numpy.typing import NDArray

from maskstudy.figures import style
from maskstudy.patterns import Matrix

_UNSEEN = "#EEEEEE"
_SIDE, _GAP, _TOP = 1.75, 0.62, 0.84  # inches: of a grid, between grids, above them
_BELOW = _TOP + _SIDE + 0.18
_WHOLE = 48  # positions up to which every pair is a square of its own with a gap around it


def draw(report: Mapping[str, Any], expected: Matrix | None = None) -> Figure:
    """The picture.

    Args:
        report: `maskstudy.access.Access.as_dict()`, or the JSON made of it.
        expected: `[length, length]` bool; pairs that are not as expected are marked. None where nothing is expected.
    """
    with style.context():
        matrix = np.array(report["matrix"], dtype=bool)
        effects = {way: _largest(report, way) for way in ("perturbation", "gradient")}
        shown = {way: values for way, values in effects.items() if values is not None}
        colour = style.colours([report["verdict"]])[report["verdict"]]
        width = 0.55 + (1 + len(shown)) * (_SIDE + _GAP) + 0.1
        figure, sheet = style.sheet(width, _TOP + _SIDE + 0.5)
        sheet.text(
            0.05, 0.1, report["verdict"], fontsize=style.LARGE, weight="bold", va="center", color=style.darker(colour)
        )
        lines = textwrap.wrap(report["sentence"], width=int(16 * width))
        sheet.text(0.05, 0.22, "\n".join(lines), va="top", linespacing=1.2)

        axes = _place(figure, 0, "seen by any measurement")
        _mesh(axes, matrix.astype(float), ListedColormap([_UNSEEN, colour]), vmin=0, vmax=1)
        axes.set_ylabel("query")
        if expected is not None:
            _mark_offences(axes, sheet, matrix, expected)

        positive = np.concatenate([values[values > report["tolerance"]] for values in shown.values()] or [np.ones(1)])
        norm = LogNorm(*_limits(positive))
        shades = LinearSegmentedColormap.from_list("effect", ["#DFE3F2", colour, style.INK])
        for number, (way, values) in enumerate(shown.items(), start=1):
            axes = _place(figure, number, f"effect by {way}")
            seen = np.where(np.nan_to_num(values) > report["tolerance"], values, np.nan)
            unseen = np.where(values <= report["tolerance"], 0.0, np.nan)
            _mesh(axes, unseen, ListedColormap([_UNSEEN]))
            mesh = _mesh(axes, np.minimum(seen, norm.vmax or 1.0), shades, norm=norm)
        if shown:
            left = 0.55 + len(shown) * (_SIDE + _GAP) + _SIDE + 0.08
            bar = figure.colorbar(mesh, cax=style.place(figure, left, _TOP, 0.07, _SIDE))
            bar.outline.set_visible(False)
            bar.ax.tick_params(labelsize=6, length=1.5)
            bar.ax.minorticks_off()
            bar.set_label("of the answers' typical size", fontsize=6, color=style.QUIET, labelpad=2)
            words = "grey: no effect" + ("; white: not measured" if _incomplete(shown) else "")
            sheet.text(0.55, _BELOW + 0.17, words, va="center", color=style.QUIET)
        return figure


def _incomplete(shown: Mapping[str, NDArray[np.float64]]) -> bool:
    return any(bool(np.isnan(values).any()) for values in shown.values())


def _largest(report: Mapping[str, Any], way: str) -> NDArray[np.float64] | None:
    """`[queries, keys]`, the largest effect of one way in any mode, NaN where it did not look."""
    measured = [
        np.array(measurement["effects"], dtype=np.float64)
        for measurement in report["measurements"]
        if measurement["way"] == way
    ]
    return np.fmax.reduce(measured) if measured else None


def _limits(positive: NDArray[np.float64]) -> tuple[float, float]:
    """Of the scale of effects: at least a decade, whole decades, without what is out of all proportion."""
    if not len(positive):
        return 0.1, 1.0
    low, high = np.floor(np.log10(positive.min())), np.ceil(np.log10(min(positive.max(), 1e6)))
    return 10.0**low, 10.0 ** max(high, low + 1)


def _place(figure: Figure, number: int, title: str) -> Axes:
    axes = style.place(figure, 0.55 + number * (_SIDE + _GAP), _TOP, _SIDE, _SIDE)
    axes.set_title(title, fontsize=style.SMALL, weight="normal", pad=16)
    axes.set_xlabel("key", labelpad=2)
    axes.xaxis.set_label_position("top")
    axes.xaxis.tick_top()
    axes.tick_params(length=0, pad=1, labelsize=6)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return axes


def _mesh(axes: Axes, values: NDArray[np.float64], colours: Any, **limits: Any) -> Any:
    """The values as squares, the first query on top."""
    length = len(values)
    gap = {"edgecolors": "white", "linewidth": min(1.0, 12 / length)} if length <= _WHOLE else {"rasterized": True}
    edges = np.arange(length + 1) - 0.5
    mesh = axes.pcolormesh(edges, edges, np.ma.masked_invalid(values), cmap=colours, **gap, **limits)
    axes.set(xlim=(-0.5, length - 0.5), ylim=(length - 0.5, -0.5))
    step = next(step for step in (1, 2, 4, 8, 16, 32, 64, 128, length) if length / step <= 12 or step == length)
    axes.set_xticks(range(0, length, step))
    axes.set_yticks(range(0, length, step))
    return mesh


def _mark_offences(axes: Axes, sheet: Axes, matrix: Matrix, expected: Matrix) -> None:
    """A cross on what is seen but must not be, a ring on what is not seen but must be, and a key to both."""
    size = 72 * _SIDE / len(matrix)
    entries = []
    for wrong, marker, words in (
        (matrix & ~expected, "x", "seen, but must not be"),
        (expected & ~matrix, "o", "not seen, but must be"),
    ):
        queries, keys = np.nonzero(wrong)
        if len(queries):
            mark: dict[str, Any] = {
                "marker": marker,
                "color": style.INK,
                "markerfacecolor": "none",
                "markeredgewidth": 0.8,
            }
            axes.plot(keys, queries, linestyle="none", markersize=max(1.0, 0.5 * size), **mark)
            entries.append((words, {**mark, "markersize": 4}))
    if entries:
        style.key(sheet, 0.5, _BELOW, entries)
    else:
        sheet.text(0.55, _BELOW, "as expected", va="center", color=style.QUIET)
