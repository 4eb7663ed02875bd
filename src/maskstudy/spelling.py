"""Tokens and answers as a reader can read them: words, characters, letters or numbers. No torch.

A byte that is no character by itself is escaped (`\\xc3`), so that a text is shown as what it is.
"""

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maskstudy.tasks.task import Examples, Following, Hiding, Task, Written
from maskstudy.transcripts import Word

HIDDEN = "▢"  # stands where the token is that is asked for


def spelled(tokens: NDArray[np.int16], task: Task) -> str:
    """Tokens as text: the bytes of a text as its characters, others as letters, or as numbers where those run out.

    Bytes that are no UTF-8, or no byte at all, are escaped. What is hidden is `HIDDEN`.
    """
    hidden = task.mask_token if isinstance(task, Hiding) else None
    if task.dataset == "text":
        parts = [
            (HIDDEN if token == hidden else f"<{token}>").encode() if token == hidden or token > 255 else bytes([token])
            for token in tokens.tolist()
        ]
        return b"".join(parts).decode("utf-8", errors="backslashreplace")
    if task.vocabulary <= len(string.ascii_uppercase):
        return "".join(HIDDEN if token == hidden else string.ascii_uppercase[token] for token in tokens.tolist())
    return " ".join(HIDDEN if token == hidden else str(token) for token in tokens.tolist())


@dataclass(frozen=True)
class Asked:
    """One question in words.

    Attributes:
        before: what stands before the place that is asked about.
        place: the token there; `HIDDEN` where the answer itself stands, or would stand.
        after: what stands after it.
        truth: the right answer; several, with ` / ` between them, where any of them is right.
    """

    before: str
    place: str
    after: str
    truth: str


@dataclass(frozen=True)
class Speller:
    """Spells what a task asks and what is answered.

    Attributes:
        task: the task.
        names: what its numbers stand for, `tokens` and `answers`, of `summary.json`; None where they are no words.
    """

    task: Task
    names: Mapping[str, Sequence[str]] | None = None

    def tokens(self, tokens: NDArray[np.int16]) -> str:
        """Words with spaces between them; the letters of a word, and the characters of a text, without."""
        if self.names is None:
            return spelled(tokens, self.task)
        return self._between.join(self.names["tokens"][token] for token in tokens.tolist())

    def answer(self, answer: int) -> str:
        """One answer."""
        if self.names is None:
            return spelled(np.array([answer], dtype=np.int16), self.task)
        return self.names["answers"][answer]

    def written(self, answer: Sequence[int]) -> str:
        """A whole answer, with spaces between its tokens."""
        return " ".join(self.answer(one) for one in answer)

    def asked(self, examples: Examples, example: int, position: int) -> Asked:
        """The question at a scored position."""
        tokens = examples.tokens[example, : examples.lengths[example]]
        truth = self.answer(int(examples.targets[example, position]))
        if self.task.generative or isinstance(self.task, Following):
            before, place, after = tokens[: position + 1], None, tokens[position + 2 :]
        else:
            before, place, after = tokens[:position], tokens[position : position + 1], tokens[position + 1 :]
        between = self._between  # so that the three parts can be put together as they are
        left, right = between if len(before) else "", between if len(after) else ""
        return Asked(
            self.tokens(before) + left,
            HIDDEN if place is None else self.tokens(place),
            right + self.tokens(after),
            truth,
        )

    def asked_whole(self, word: Word) -> Asked:
        """A condition whose answer is to be written."""
        truth = " / ".join(self.written(variant) for variant in word.variants)
        return Asked("", self.tokens(np.array(word.condition, dtype=np.int16)), "", truth)

    @property
    def _between(self) -> str:
        """What stands between two tokens."""
        if self.names is not None:
            return "" if isinstance(self.task, Written) else " "
        return "" if self.task.dataset == "text" or self.task.vocabulary <= len(string.ascii_uppercase) else " "
