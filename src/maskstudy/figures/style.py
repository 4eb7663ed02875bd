"""How every figure looks, and how it is saved so that equal data give equal bytes.

A mask has one colour in every figure. The colours of the named masks stay apart under the three kinds of colour
blindness (a test simulates them) and run, with the future that a mask admits, from causal to full.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, wraps
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.textpath import TextPath
from numpy.typing import NDArray
from polars import DataFrame

from maskstudy.errors import StudyError
from maskstudy.files import replacing

WIDTH = 6.8  # inches: the text width of the paper, and half a slide
INK = "#222222"
QUIET = "#6B6B6B"  # second voice: axes, notes
FAINT = "#D9D9D9"  # hairlines, and what a mask does not admit
CONTROL = "#8A8A8A"
CONTROL_HATCH = "////"
LARGE, SMALL = 8.0, 7.0  # points

MASK_COLOURS = {
    "causal": "#33418E",
    "lookahead-1": "#4FB3E3",
    "lookahead-2": "#12806A",
    "lookahead-4": "#D4A517",
    "full": "#D43D1A",
    "prefix": "#B05CC0",
    "encoder-decoder": "#2A2024",
}
OTHER_COLOURS = ("#8C5A2B", "#7C8A00", "#E58FA6", "#5F7F8C", "#7FC8A9", "#A8324F")  # masks of the reader's own

METRIC_NAMES = {
    "accuracy": "accuracy",
    "nats": "nats per answer",
    "per": "phoneme error rate",
    "wer": "word error rate",
}

_SETTINGS: Any = {
    "font.family": ["DejaVu Sans"],  # comes with matplotlib, so that it is the same everywhere
    "font.size": SMALL,
    "mathtext.fontset": "dejavusans",
    "text.color": INK,
    "axes.titlesize": LARGE,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": SMALL,
    "axes.labelcolor": QUIET,
    "axes.edgecolor": QUIET,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.minor.size": 0,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.solid_capstyle": "round",
    "hatch.linewidth": 0.6,
    "legend.frameon": False,
    "savefig.dpi": 200,
    "svg.fonttype": "path",  # no font is looked up where the figure is read
    "svg.hashsalt": "maskstudy",
}

# No date and no version, so that equal figures are equal bytes.
_METADATA: dict[str, dict[str, None]] = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}


@contextmanager
def context() -> Iterator[None]:
    """The style of the study and nothing of the reader's own matplotlibrc."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        yield


def styled(draw: Callable[[DataFrame], Figure]) -> Callable[[DataFrame], Figure]:
    """Let `draw` run within the style."""

    @wraps(draw)
    def drawn(data: DataFrame) -> Figure:
        with context():
            return draw(data)

    return drawn


def save(figure: Figure, stem: Path) -> None:
    """Write `stem`.svg and `stem`.png; the same figure gives the same bytes."""
    for kind in _METADATA:
        save_as(figure, stem.with_name(f"{stem.name}.{kind}"))


def save_as(figure: Figure, path: Path) -> None:
    """Write one file, SVG or PNG by its ending; the same figure gives the same bytes.

    Raises:
        StudyError: another ending.
    """
    kind = path.suffix.lower().removeprefix(".")
    if kind not in _METADATA:
        raise StudyError(f"{path}: figures are written as {' or '.join(_METADATA)}; give the file such an ending")
    # Without its own salt a second save of one figure would count element names on from the first.
    with context(), replacing(path) as temporary:
        figure.savefig(temporary, format=kind, metadata=_METADATA[kind], bbox_inches="tight", pad_inches=0.05)


def add_note(figure: Figure, text: str) -> None:
    """Write a small remark under the figure."""
    with context():
        size = figure.get_size_inches()
        figure.text(0.06 / size[0], -0.04 / size[1], text, va="top", fontsize=SMALL, style="italic", color=QUIET)


def ordered(masks: Iterable[str]) -> list[str]:
    """Masks in one order everywhere: causal, look-ahead by its reach, full, prefix, encoder-decoder, then others."""
    known = list(MASK_COLOURS)

    def place(mask: str) -> tuple[float, float, str]:
        reach = lookahead(mask)
        if reach is not None and mask not in ("causal", "full"):
            return known.index("lookahead-1"), reach, mask
        return (known.index(mask) if mask in known else len(known)), 0, mask

    return sorted(dict.fromkeys(masks), key=place)


def lookahead(mask: str) -> float | None:
    """How many tokens of the future a mask admits: 0 for causal, K for lookahead-K, infinity for full, else None."""
    if match := re.fullmatch(r"lookahead-(\d+)", mask):
        return float(match[1])
    return {"causal": 0.0, "full": float("inf")}.get(mask)


def colours(masks: Iterable[str]) -> dict[str, str]:
    """The colour of each mask; one that the study does not know gets a colour by its name."""
    chosen: dict[str, str] = {}
    for mask in ordered(masks):
        if mask in MASK_COLOURS:
            chosen[mask] = MASK_COLOURS[mask]
            continue
        start = int(hashlib.sha256(mask.encode()).hexdigest(), 16)
        cycle = [OTHER_COLOURS[(start + step) % len(OTHER_COLOURS)] for step in range(len(OTHER_COLOURS))]
        chosen[mask] = next((colour for colour in cycle if colour not in chosen.values()), cycle[0])
    return chosen


def cell_name(mask: str, role: str) -> str:
    """The name of a cell beside others of its task: that of its mask; a control says that it is one."""
    return f"{mask} (control)" if role == "control" else mask


def cell_colour(mask: str, role: str, colours: Mapping[str, str]) -> str:
    """The colour of a cell: that of its mask, among those of `colours`; all controls are grey."""
    return CONTROL if role == "control" else colours[mask]


def darker(colour: str, most: float = 0.22) -> str:
    """A shade of `colour` that reads as text on white: relative luminance at most `most` (WCAG 2, contrast 3.9)."""
    red, green, blue = mpl.colors.to_rgb(colour)
    while _luminance(np.array([red, green, blue])) > most:
        red, green, blue = 0.96 * red, 0.96 * green, 0.96 * blue
    return mpl.colors.to_hex((red, green, blue))


def _luminance(rgb: NDArray[np.float64]) -> float:
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def spread(positions: Sequence[float], gap: float, low: float = -np.inf, high: float = np.inf) -> list[float]:
    """Move labels apart until neighbours stand at least `gap` from each other, each as near its own place as can be.

    Neighbours that touch become a block around the mean of their places: isotonic regression of the places less
    `gap` times their rank, by pooling adjacent violators, then clipped so that all labels lie between `low` and
    `high` if they fit.
    """
    order = sorted(range(len(positions)), key=lambda index: positions[index])
    blocks: list[tuple[float, int]] = []  # mean, size
    for rank, index in enumerate(order):
        blocks.append((positions[index] - gap * rank, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (mean, size), (other, others) = blocks.pop(), blocks.pop()
            blocks.append(((mean * size + other * others) / (size + others), size + others))
    room = max(low, high - gap * (len(positions) - 1))
    placed = [min(max(mean, low), room) for mean, size in blocks for _ in range(size)]
    result = [0.0] * len(positions)
    for rank, index in enumerate(order):
        result[index] = placed[rank] + gap * rank
    return result


def label_ends(axes: Axes, labels: Sequence[tuple[float, str, str]], height: float) -> None:
    """Write labels right of the axes at the places where lines end, moved apart and tied to their line.

    Args:
        axes: with its limits set.
        labels: (place on the vertical axis, text, colour).
        height: of the axes, in inches.
    """
    low, high = axes.get_ylim()
    ends = [(place - low) / (high - low) for place, _, _ in labels]
    heights = spread(ends, 0.118 / height, 0.03 / height, 1 - 0.03 / height)
    width = height * axes.get_window_extent().width / axes.get_window_extent().height
    for end, label, (_, text, colour) in zip(ends, heights, labels, strict=True):
        x = [1 + part / width for part in (0.03, 0.06, 0.11, 0.14)]
        axes.plot(x, [end, end, label, label], color=colour, linewidth=0.5, transform=axes.transAxes, clip_on=False)
        axes.text(1 + 0.16 / width, label, text, color=colour, va="center_baseline", transform=axes.transAxes)


def sheet(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure with one bare axes over all of it, in inches from the top left corner."""
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    return figure, axes


def place(figure: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """Add axes at a place in inches from the top left corner of the figure."""
    whole_width, whole_height = figure.get_size_inches()
    return figure.add_axes(
        (left / whole_width, 1 - (top + height) / whole_height, width / whole_width, height / whole_height)
    )


def key(sheet: Axes, left: float, top: float, entries: Sequence[tuple[str, dict[str, Any]]]) -> None:
    """Say in one line what the marks of a figure mean.

    Args:
        sheet: the bare axes of `sheet`.
        left: where the line begins, in inches.
        top: the middle of the line, in inches.
        entries: (words, how the mark is plotted); a mark without `marker` is a short line.
    """
    for words, mark in entries:
        if "marker" in mark:
            sheet.plot(left + 0.06, top, linestyle="none", **mark)
            left += 0.15
        else:
            sheet.plot([left, left + 0.24], [top, top], **mark)
            left += 0.3
        sheet.text(left, top, words, va="center_baseline", color=QUIET)
        left += text_width(words) + 0.22


def folded(entries: Sequence[tuple[str, dict[str, Any]]], room: float) -> list[list[tuple[str, dict[str, Any]]]]:
    """The entries of a key in lines, each as full as `room`, in inches, allows."""
    lines: list[list[tuple[str, dict[str, Any]]]] = []
    left = room
    for words, mark in entries:
        width = (0.15 if "marker" in mark else 0.3) + text_width(words)
        if not lines or left + width > room:
            lines.append([])
            left = 0.0
        lines[-1].append((words, mark))
        left += width + 0.22
    return lines


def nothing_to_draw(reason: str) -> Figure:
    """A figure that says why it is empty, for studies that a figure does not apply to."""
    figure, axes = sheet(WIDTH, 0.6)
    axes.text(0.1, 0.3, reason, va="center", fontsize=LARGE, color=QUIET)
    return figure


def in_lines(name: str, most: int) -> str:
    """A name broken after hyphens and underscores into lines of at most `most` letters, where it has any."""
    lines = [""]
    for part in re.findall(r"[^-_]+[-_]*|[-_]+", name):
        if lines[-1] and len(lines[-1]) + len(part) > most:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def text_width(text: str, size: float = SMALL, bold: bool = False) -> float:
    """Width in inches of the longest line of a text."""
    font = FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal")
    widths = [TextPath((0, 0), line, size=size, prop=font).get_extents().width for line in text.split("\n") if line]
    return float(max(widths, default=0.0)) / 72


def visible(text: str) -> str:
    """Line breaks as ↵, spaces in a row as dots; what cannot be printed, or has no glyph in the font, as an escape."""
    text = re.sub(" {2,}", lambda spaces: "·" * len(spaces[0]), text.replace("\n", "↵"))
    printable = [letter.isprintable() and ord(letter) in _glyphs() for letter in text]
    return "".join(
        letter if shown else letter.encode("unicode_escape").decode("ascii")
        for letter, shown in zip(text, printable, strict=True)
    )


@cache
def _glyphs() -> frozenset[int]:
    """The code points that the font for texts of a task can draw."""
    return frozenset(get_font(findfont(FontProperties(family="DejaVu Sans Mono"))).get_charmap())
