"""Written answers, such as the phonemes of a word, beside every answer that counts as right.

A condition (the letters of a word) may have several right answers (its pronunciations), each in an example of its own.
They belong together: what is written once for a condition is compared with the nearest of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maskstudy.tasks.task import Examples

Tokens = Sequence[int]


def edit_distance(one: Tokens, other: Tokens) -> int:
    """The fewest insertions, deletions and substitutions that turn `one` into `other`, all of weight 1.

    Levenshtein's distance, by the recurrence of Wagner & Fischer, "The String-to-String Correction Problem", JACM 21
    (1974), one row of its table at a time.

        >>> edit_distance("kitten", "sitting")
        3
    """
    row = list(range(len(other) + 1))  # from nothing of `one` to each beginning of `other`
    for count, symbol in enumerate(one, start=1):
        diagonal, row[0] = row[0], count
        for place, target in enumerate(other, start=1):
            substituted = diagonal + (symbol != target)
            diagonal = row[place]
            row[place] = min(diagonal + 1, row[place - 1] + 1, substituted)
    return row[-1]


@dataclass(frozen=True)
class Word:
    """A condition and all its right answers.

    Attributes:
        examples: the numbers of its examples, in order.
        condition: the tokens of the condition.
        variants: the right answers, without their end, in the order of the examples.
    """

    examples: tuple[int, ...]
    condition: tuple[int, ...]
    variants: tuple[tuple[int, ...], ...]

    def errors(self, written: Tokens) -> tuple[int, int]:
        """The edit distance of what was written to the nearest variant, and the length of that variant.

        Of equally near ones the first counts.
        """
        distances = [(edit_distance(written, variant), len(variant)) for variant in self.variants]
        return min(distances, key=lambda found: found[0])


def words(examples: Examples) -> list[Word]:
    """The different conditions of examples in the order in which they first stand there.

    Args:
        examples: everything from the last token before the answer on is scored, the end last.
    """
    found: dict[tuple[int, ...], tuple[list[int], list[tuple[int, ...]]]] = {}
    for number, (tokens, targets, scored, length) in enumerate(
        zip(examples.tokens, examples.targets, examples.scored, examples.condition_lengths, strict=True)
    ):
        rows, variants = found.setdefault(tuple(tokens[:length].tolist()), ([], []))
        rows.append(number)
        variants.append(tuple(targets[scored][:-1].tolist()))
    return [Word(tuple(rows), condition, tuple(variants)) for condition, (rows, variants) in found.items()]


@dataclass(frozen=True)
class Transcripts:
    """What was written, and how wrong it is. Every array has one entry an example.

    A word counts at the first of its examples, and at the others everything is 0 and nothing is written.

    Attributes:
        words: `[examples]`, 1 or 0.
        wrong_words: `[examples]`, 1 where what was written is none of the variants.
        phonemes: `[examples]`, tokens of the nearest variant.
        phoneme_errors: `[examples]`, edit distance to the nearest variant.
        written: what was written at each example, without an end.
    """

    words: NDArray[np.int32]
    wrong_words: NDArray[np.int32]
    phonemes: NDArray[np.int32]
    phoneme_errors: NDArray[np.int32]
    written: list[list[int]]

    def metrics(self) -> dict[str, float]:
        """PER (phoneme errors per phoneme of the nearest variant) and WER (share of wrong words)."""
        return {
            "per": float(self.phoneme_errors.sum() / self.phonemes.sum()),
            "wer": float(self.wrong_words.sum() / self.words.sum()),
        }


def transcripts(of_words: Sequence[Word], written: Sequence[Tokens]) -> Transcripts:
    """Score what was written for each word.

    Args:
        of_words: all `words` of a split.
        written: one answer a word, in the same order, without an end.
    """
    count = sum(len(word.examples) for word in of_words)
    found, wrong, tokens, distances = np.zeros((4, count), dtype=np.int32)
    rows: list[list[int]] = [[] for _ in range(count)]
    for word, answer in zip(of_words, written, strict=True):
        first = word.examples[0]
        distance, length = word.errors(answer)
        found[first], wrong[first], tokens[first], distances[first] = 1, distance > 0, length, distance
        rows[first].extend(answer)
    return Transcripts(found, wrong, tokens, distances, rows)
