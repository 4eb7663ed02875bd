"""Texts as words: how they are cut, compared and numbered. No task here knows parts of words."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import ClassVar

import numpy as np

from maskstudy.tasks.task import Examples

EDGE = ""  # among words, where a text begins or ends

_WORD = re.compile(r"[^\W\d_]+")
_WORD_OR_SIGN = re.compile(r"\w+|[^\w\s]")


def words(text: str) -> list[str]:
    """The runs of letters of a text, in small letters; digits, punctuation and spaces are left out.

    >>> words("¿Qué hora es? ¡Las 12!")
    ['qué', 'hora', 'es', 'las']
    """
    return _WORD.findall(unicodedata.normalize("NFC", text).lower())


def words_and_signs(text: str) -> list[str]:
    """Words and numbers in small letters, and every other sign that is no space by itself.

    >>> words_and_signs("What 's 007 ?")
    ['what', "'", 's', '007', '?']
    """
    return _WORD_OR_SIGN.findall(unicodedata.normalize("NFC", text).lower())


@lru_cache(maxsize=2**16)
def without_accents(word: str) -> str:
    """A word with all marks taken off its letters (the combining ones of Unicode's canonical decomposition).

    >>> without_accents("pingüino"), without_accents("año")
    ('pinguino', 'ano')
    """
    parts = unicodedata.normalize("NFD", word)
    return unicodedata.normalize("NFC", "".join(part for part in parts if not unicodedata.combining(part)))


def likeness(text: str) -> str:
    """What two texts share if they differ in accents, case, punctuation and spaces alone; they belong in one split.

    A text of nothing but punctuation is compared as it stands.

        >>> likeness("¡Está aquí!") == likeness("esta aqui")
        True
    """
    return " ".join(re.findall(r"\w+", without_accents(text.casefold()))) or text.strip()


class Vocabulary:
    """Words by number; every word that has none is one and the same unknown word.

    Attributes:
        known: the words, by number from 0.
        size: numbers set aside for known words; some stay unused where there are fewer words.
        unknown: the number of all other words.
        edge: the number of `EDGE`.
        padding: the number that fills an example up.
    """

    SPECIAL: ClassVar[int] = 3  # numbers that stand for no known word

    def __init__(self, known: Iterable[str], size: int) -> None:
        """Number the first `size` of the `known` words, which must differ."""
        self.known = list(known)[:size]
        self.size = size
        self.unknown, self.edge, self.padding = range(size, size + self.SPECIAL)
        self._numbers = {EDGE: self.edge} | {word: number for number, word in enumerate(self.known)}

    def encode(self, text: Iterable[str]) -> list[int]:
        """The numbers of these words."""
        return [self._numbers.get(word, self.unknown) for word in text]

    def names(self) -> list[str]:
        """What each number stands for."""
        return [*self.known, *[""] * (self.size - len(self.known)), "(unknown)", "(edge)", "(padding)"]


def word_dropout(examples: Examples, share: float, vocabulary: int, generator: np.random.Generator) -> Examples:
    """Replace a share of the words by the unknown word, drawn anew; edges, padding and scored words stay.

    A model that is trained on such texts cannot rely on any one word, and meets the unknown word often enough (Iyyer et
    al. 2015, "Deep Unordered Composition Rivals Syntactic Methods for Text Classification", §3).

    Args:
        examples: whose tokens come from a `Vocabulary`.
        share: of the words, each drawn by itself.
        vocabulary: the `size` of the `Vocabulary`.
        generator: left alone where `share` is 0.
    """
    if not share:
        return examples
    drawn = generator.random(examples.tokens.shape) < share
    replaced = drawn & (examples.tokens < vocabulary) & ~examples.scored
    return replace(examples, tokens=np.where(replaced, np.int16(vocabulary), examples.tokens))


def by_frequency(counts: Counter[str]) -> list[str]:
    """The words of `counts`, the most frequent first, equally frequent ones in the order of the alphabet."""
    return sorted(counts, key=lambda word: (-counts[word], word))
