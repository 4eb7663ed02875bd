"""Samples in words: what the models of each mask answered to the same questions of real data."""

from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from polars import DataFrame

from maskstudy.figures import style
from maskstudy.figures.results import Results
from maskstudy.samples import AHEAD, SPREAD, spread

SUMMARY = "The same questions, answered under each mask"
CAPTION = (
    "Questions of the test data of every task on real data that has two masks or more, with the place that is asked "
    "about on a dark ground: there stands what is seen of it, or an empty box where the answer itself would stand. "
    "Beside them the right answer, and under each mask the answer that most seeds gave and how many gave it; a filled "
    "point marks it as right, an open one as wrong. Nobody chose them by eye: the first are spread evenly over all "
    "questions; the others are those where the first or the last mask of the task is right under most seeds more than "
    "the other, and where many are equal, an even spread of these. In brackets, at how many of all questions the one "
    "is right under more seeds than the other. Ends of a text are marked by |, line breaks by ↵, and bytes that are no "
    "characters are escaped."
)

_SHOWN = {SPREAD: 2, AHEAD: 2}  # questions a task, of each kind and order of masks
_QUESTION = ["task", "chosen", "mask_a", "mask_b", "ahead", "questions", "example", "position"]
_COLUMNS = [*_QUESTION, "before", "place", "after", "truth", "mask", "seeds", "right", "answer", "agreeing"]
_EDGE = "(edge)"  # the name of the token where a text begins or ends
_MONO, _SIZE = "DejaVu Sans Mono", 6.0  # points
_CHARACTER = 0.602 * _SIZE / 72  # inches: every character of the font is this wide
_LEAST, _NAME = 24, 11  # characters of a question, at least, and of a line of the name of a mask, at most
_ROW, _HEAD, _GROUP, _FOOT = 0.15, 0.4, 0.16, 0.12  # inches
_GAP, _POINT = 0.14, 0.1  # inches between columns, and taken by the point before an answer
_AHEAD_OF_PLACE = 0.75  # of what room there is, for what stands before the place


def data(results: Results) -> DataFrame:
    """One row a question that is drawn and mask, of every task on real data with two masks or more."""
    table = results.samples.drop_nulls("dataset")
    kept = [table.clear()]
    for _, rows in table.group_by("task", maintain_order=True):
        masks = list(dict.fromkeys(rows["mask"]))
        if len(masks) < 2:
            continue
        ends = {masks[0], masks[-1]}
        for (chosen, mask_a, mask_b), group in rows.group_by("chosen", "mask_a", "mask_b", maintain_order=True):
            if chosen == SPREAD or {mask_a, mask_b} == ends:
                keys = ["example", "position"]
                questions = group.select(keys).unique(maintain_order=True)
                shown = questions[spread(len(questions), _SHOWN[chosen])]
                kept.append(shown.join(group, on=keys, nulls_equal=True, maintain_order="left_right"))
    return pl.concat([frame.select(_COLUMNS) for frame in kept])


@style.styled
def draw(data: DataFrame) -> Figure:
    """One block a task, one line a question: the question, the right answer, and the answer under each mask."""
    if data.is_empty():
        return style.nothing_to_draw("No task of this study has real data and two masks to compare.")
    blocks = [_Block(task, rows) for (task,), rows in data.group_by("task", maintain_order=True)]
    figure, sheet = style.sheet(style.WIDTH, sum(block.height for block in blocks) + 0.16)
    colours = style.colours(data["mask"])
    top = 0.0
    for block in blocks:
        block.draw(sheet, top, colours)
        top += block.height
    entries: list[tuple[str, dict[str, Any]]] = [
        ("the commonest answer is right", _mark(style.QUIET, right=True)),
        ("it is wrong", _mark(style.QUIET, right=False)),
    ]
    style.key(sheet, 0.05, top + 0.08, entries)
    return figure


class _Block:
    """What is drawn of one task."""

    def __init__(self, task: str, rows: DataFrame) -> None:
        """Work out the widths of the columns: answers as wide as they are if there is room, and then the question."""
        self.task, self.rows = task, rows
        self.masks = list(dict.fromkeys(rows["mask"]))
        self.groups = list(rows.group_by("chosen", "mask_a", "mask_b", maintain_order=True))
        questions = rows.n_unique(_QUESTION)
        self.height = _HEAD + _GROUP * len(self.groups) + _ROW * questions + _FOOT
        truths = ["right answer", *map(_answer, rows["truth"])]
        wanted = [max(map(_width, truths))]
        for mask in self.masks:
            said = [_answer(row["answer"]) + _count(row) for row in rows.filter(mask=mask).iter_rows(named=True)]
            header = style.text_width(style.in_lines(mask, _NAME), bold=True)
            wanted.append(max(header, _POINT + max(map(_width, said)) + 0.05))
        longest = max(sum(map(len, _question(row))) for row in rows.iter_rows(named=True))
        room = style.WIDTH - 0.1 - _GAP * len(wanted)
        self.widths = levelled(wanted, room - min(longest, _LEAST) * _CHARACTER)
        self.characters = min(longest, int((room - sum(self.widths)) / _CHARACTER))
        self.lefts = [0.05 + self.characters * _CHARACTER + _GAP]
        for width in self.widths[:-1]:
            self.lefts.append(self.lefts[-1] + width + _GAP)

    def draw(self, sheet: Axes, top: float, colours: dict[str, str]) -> None:
        """Draw the block below `top`, in inches."""
        sheet.text(0.05, top + 0.11, self.task, va="center", weight="bold", fontsize=style.LARGE)
        names = [("right answer", style.QUIET, "normal")]
        names += [(style.in_lines(mask, _NAME), style.darker(colours[mask]), "bold") for mask in self.masks]
        for left, (name, colour, weight) in zip(self.lefts, names, strict=True):
            sheet.text(left, top + _HEAD - 0.06, name, va="bottom", color=colour, weight=weight, linespacing=1.05)
        sheet.plot([0.05, style.WIDTH - 0.05], [top + _HEAD - 0.02] * 2, color=style.FAINT, linewidth=0.6)
        middle = top + _HEAD
        for (chosen, mask_a, mask_b), rows in self.groups:
            first = rows.row(0, named=True)
            words = "spread evenly over all questions" if chosen == SPREAD else f"{mask_a} ahead of {mask_b}"
            of_all = f"{first['questions']:,}".replace(",", "\u202f")
            if chosen == AHEAD:
                of_all = f"at {first['ahead']:,} of {of_all}".replace(",", "\u202f")
            note = f"{words} ({of_all})"
            sheet.text(0.05, middle + _GROUP / 2, note, va="center_baseline", color=style.QUIET, style="italic")
            middle += _GROUP
            for _, of_question in rows.group_by(_QUESTION, maintain_order=True):
                self._line(sheet, middle + _ROW / 2, of_question, colours)
                middle += _ROW

    def _line(self, sheet: Axes, middle: float, rows: DataFrame, colours: dict[str, str]) -> None:
        """One question and all answers to it."""
        first = rows.row(0, named=True)
        before, place, after = fitting(*_question(first), self.characters)
        across = 0.05
        for part, words in ((before, {}), (place, _ON_DARK), (after, {})):
            plain: dict[str, Any] = {"family": _MONO, "fontsize": _SIZE, "va": "center_baseline", "parse_math": False}
            if part:
                sheet.text(across, middle, part, **plain, **words)
            across += len(part) * _CHARACTER
        truth = shortened(_answer(first["truth"]), self.widths[0])
        sheet.text(self.lefts[0], middle, truth, va="center_baseline", parse_math=False)
        for left, width, mask in zip(self.lefts[1:], self.widths[1:], self.masks, strict=True):
            row = rows.filter(mask=mask).row(0, named=True)
            right = _is_right(row)
            sheet.plot(left + 0.03, middle - 0.005, linestyle="none", **_mark(colours[mask], right))
            answer = shortened(_answer(row["answer"]), width - _POINT - _width(_count(row)) - 0.05)
            sheet.text(left + _POINT, middle, answer, va="center_baseline", parse_math=False)
            after_answer = left + _POINT + _width(answer) + 0.05
            sheet.text(after_answer, middle, _count(row).strip(), va="center_baseline", color=style.QUIET, fontsize=5.5)


_ON_DARK: dict[str, Any] = {
    "color": "white",
    "bbox": {"boxstyle": "square,pad=0.12", "facecolor": style.INK, "edgecolor": "none"},
}


def fitting(before: str, place: str, after: str, room: int) -> tuple[str, str, str]:
    """The parts of a question in at most `room` characters: what is nearest to the place, with … where it was cut.

    >>> fitting("the quick brown fox ", "jumps", " over the lazy dog", 24)
    ('…brown fox ', 'jumps', ' over t…')
    """
    rest = max(2, room - len(place))
    left = min(len(before), max(int(_AHEAD_OF_PLACE * rest), rest - len(after)))
    right = min(len(after), rest - left)
    if left < len(before):
        before = "…" + before[len(before) - left + 1 :]
    if right < len(after):
        after = after[: max(0, right - 1)] + "…" * (right > 0)
    return before, place, after


def levelled(wanted: list[float], room: float) -> list[float]:
    """Widths that fit into `room`: as wanted, but for the widest, which are made equal.

    >>> levelled([1.0, 5.0, 2.0, 4.0], 9.0)
    [1.0, 3.0, 2.0, 3.0]
    """
    left, columns = room, len(wanted)
    for width in sorted(wanted):
        if width * columns > left:
            return [min(each, left / columns) for each in wanted]
        left, columns = left - width, columns - 1
    return wanted


def shortened(text: str, width: float) -> str:
    """As much of a text as fits into `width` inches, with … where it was cut."""
    if _width(text) <= width:
        return text
    while text and _width(text + "…") > width:
        text = text[:-1]
    return text.rstrip() + "…"


def _width(text: str) -> float:
    """Of a text in inches; two dollars would be taken for a formula, and a digit is as wide as one."""
    return style.text_width(text.replace("$", "0"))


def _question(row: dict[str, Any]) -> tuple[str, str, str]:
    """The question as it is drawn, in three parts; the edge of a text is a line."""
    parts = (row["before"], row["place"], row["after"])
    before, place, after = (style.visible(part.replace(_EDGE, "|")) for part in parts)
    return before, place, after


def _answer(text: str) -> str:
    """An answer as it is drawn: a space alone would not be seen."""
    return style.visible(text) if text.strip(" ") else "␣" * len(text)


def _is_right(row: dict[str, Any]) -> bool:
    """Whether the commonest answer is right: it is, or it is one of several right ones."""
    return row["answer"] in row["truth"].split(" / ")


def _count(row: dict[str, Any]) -> str:
    return f"  {row['agreeing']}/{row['seeds']}"


def _mark(colour: str, right: bool) -> dict[str, Any]:
    face = colour if right else "white"
    return {"marker": "o", "markersize": 3.4, "color": colour, "markerfacecolor": face, "markeredgewidth": 0.9}
