"""A text → its class, read at the end: does it matter which way the words before it may look?

Input: the words and signs of a text, in small letters, an edge before and after them. Answer, at the last position: the
class of the text. That position sees the whole text under every mask, so none has more information than another; what
differs is how the positions before it can prepare theirs.

    >>> task = Classification(length=6, words=4, classes=2)
    >>> question = Labelled("who is she", "Who is she?", "human")
    >>> splits = task.splits({"train": [question], "validation": [question], "test": [question]})
    >>> splits["test"].tokens
    array([[5, 3, 1, 2, 0, 5]], dtype=int16)
    >>> task.names({"train": [question], "validation": [question], "test": [question]})["tokens"]
    ['?', 'is', 'she', 'who', '(unknown)', '(edge)', '(padding)']
    >>> splits["test"].targets
    array([[-100, -100, -100, -100, -100,    0]], dtype=int16)

Words that are not among the `words` most frequent ones of train are all one unknown word. Of a text that is longer than
`length`, the beginning is kept. On the dataset `trec` this is the question type of Li & Roth (2002, "Learning Question
Classifiers"): what kind of answer does a question ask for?
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from maskstudy.data.documents import Labelled
from maskstudy.data.padding import lengths, padded
from maskstudy.data.words import EDGE, Vocabulary, by_frequency, word_dropout, words_and_signs
from maskstudy.errors import StudyError
from maskstudy.parameters import check_dropout, check_whole
from maskstudy.tasks.task import LARGEST, NOT_SCORED, NOWHERE, Examples


@dataclass(frozen=True)
class Classification:
    """Name the class of a text.

    Attributes:
        length: most words and signs of an example, with its two edges.
        words: how many of the most frequent words and signs are told apart.
        classes: how many classes there are at most.
        word_dropout: share of the words that training replaces by the unknown word.

    Raises:
        StudyError: a parameter is out of its range.
    """

    dataset: ClassVar[str | None] = "labelled"
    generative: ClassVar[bool] = False

    length: int = 48
    words: int = 8000
    classes: int = 6
    word_dropout: float = 0.0

    def __post_init__(self) -> None:
        """Refuse parameters that make no task."""
        check_whole("classification: length", self.length, 3, LARGEST)
        check_whole("classification: words", self.words, 1, LARGEST + 1 - Vocabulary.SPECIAL)
        check_whole("classification: classes", self.classes, 2, LARGEST + 1)
        check_dropout("classification: word_dropout", self.word_dropout)

    @property
    def vocabulary(self) -> int:
        """Words and signs, the unknown word, the edge, and padding."""
        return self.words + Vocabulary.SPECIAL

    @property
    def answers(self) -> int:
        """The classes."""
        return self.classes

    def splits(self, documents: Mapping[str, Sequence[Labelled]]) -> dict[str, Examples]:
        """One example a text.

        Raises:
            StudyError: there are more classes than `classes`.
        """
        vocabulary, classes = self._vocabulary(documents), self._classes(documents)
        return {split: self._examples(each, vocabulary, classes) for split, each in documents.items()}

    def names(self, documents: Mapping[str, Sequence[Labelled]]) -> dict[str, list[str]]:
        """What the tokens and answers stand for."""
        return {"tokens": self._vocabulary(documents).names(), "answers": self._classes(documents)}

    def batch(self, examples: Examples, index: NDArray[np.int64], generator: np.random.Generator) -> Examples:
        """The examples at `index`, with `word_dropout`."""
        return word_dropout(examples[index], self.word_dropout, self.words, generator)

    def check_cell(self, mask: str, model: Mapping[str, Any]) -> None:
        """Any mask will do: the read-out sees the whole text under each."""

    def baseline(self, mask: str, train: Examples, test: Examples) -> NDArray[np.float64]:  # noqa: ARG002
        """Logistic regression on the words that stand in the text; the read-out sees all of them under every mask.

        Returns:
            `[scored positions of test, classes]` natural log-probabilities.

        Raises:
            StudyError: all of `train` is of one class.
        """
        from maskstudy.bag_of_words import class_log_probabilities  # slow to import, and no other verb needs it

        return class_log_probabilities(train, test, self.words, self.classes)

    def ceiling(self, mask: str, test: Examples) -> None:  # noqa: ARG002
        """None: nobody knows the distribution that real text was drawn from."""
        return None

    def _vocabulary(self, documents: Mapping[str, Sequence[Labelled]]) -> Vocabulary:
        counts = Counter(word for document in documents["train"] for word in words_and_signs(document.text))
        return Vocabulary(by_frequency(counts), self.words)

    def _classes(self, documents: Mapping[str, Sequence[Labelled]]) -> list[str]:
        found = sorted({document.label for each in documents.values() for document in each})
        if len(found) > self.classes:
            raise StudyError(
                f"classification: the dataset has {len(found)} classes, not at most {self.classes}; "
                f"set `classes: {len(found)}`"
            )
        return found

    def _examples(self, documents: Sequence[Labelled], vocabulary: Vocabulary, classes: Sequence[str]) -> Examples:
        texts = [words_and_signs(document.text)[: self.length - 2] for document in documents]
        rows = [vocabulary.encode([EDGE, *text, EDGE]) for text in texts]
        ends = lengths(rows)
        tokens = padded(rows, self.length, vocabulary.padding)
        targets = np.full_like(tokens, NOT_SCORED)
        targets[np.arange(len(rows)), ends - 1] = [classes.index(document.label) for document in documents]
        return Examples(
            tokens=tokens,
            targets=targets,
            lengths=ends,
            condition_lengths=np.zeros_like(ends),
            target_positions=np.full_like(tokens, NOWHERE),
            groups=np.array([document.group for document in documents], dtype=np.str_),
        )
