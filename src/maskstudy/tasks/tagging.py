"""The words of a sentence → a tag at each: how much do the words after it tell?

Input: the words of a sentence as they are written, an edge before and after them. Answer, at every word: its tag, such
as its part of speech.

    >>> task = Tagging(length=6, words=5, tags=3)
    >>> sentence = Tagged("she ducks", ("She", "ducks", "."), ("PRON", "VERB", "PUNCT"))
    >>> documents = {split: [sentence] for split in ("train", "validation", "test")}
    >>> task.names(documents)
    {'tokens': ['.', 'She', 'ducks', '', '', '(unknown)', '(edge)', '(padding)'], 'answers': ['PRON', 'PUNCT', 'VERB']}
    >>> test = task.splits(documents)["test"]
    >>> test.tokens, test.targets
    (array([[6, 1, 2, 0, 6, 7]], dtype=int16), array([[-100,    0,    2,    1, -100, -100]], dtype=int16))

Long sentences are cut into pieces of `length`. Words that are not among the `words` most frequent ones of train are all
one unknown word.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from maskstudy.baselines import backoff_log_probabilities, neighbours, visible_future
from maskstudy.data.documents import Tagged
from maskstudy.data.padding import lengths, padded
from maskstudy.data.words import EDGE, Vocabulary, by_frequency
from maskstudy.errors import StudyError
from maskstudy.parameters import check_whole
from maskstudy.tasks.task import LARGEST, NOT_SCORED, NOWHERE, Examples

REACH = 2  # words on each visible side for the baseline


@dataclass(frozen=True)
class Tagging:
    """Tag every word of a sentence.

    Attributes:
        length: most words of an example, edges included.
        words: how many of the most frequent words are told apart.
        tags: how many tags there are at most; 17 are the parts of speech of Universal Dependencies.

    Raises:
        StudyError: a parameter is out of its range.
    """

    dataset: ClassVar[str | None] = "tagged"
    generative: ClassVar[bool] = False

    length: int = 64
    words: int = 8000
    tags: int = 17

    def __post_init__(self) -> None:
        """Refuse parameters that make no task."""
        check_whole("tagging: length", self.length, 2, LARGEST)
        check_whole("tagging: words", self.words, 1, LARGEST + 1 - Vocabulary.SPECIAL)
        check_whole("tagging: tags", self.tags, 2, LARGEST + 1)

    @property
    def vocabulary(self) -> int:
        """Words, the unknown word, the edge, and padding."""
        return self.words + Vocabulary.SPECIAL

    @property
    def answers(self) -> int:
        """The tags."""
        return self.tags

    def splits(self, documents: Mapping[str, Sequence[Tagged]]) -> dict[str, Examples]:
        """Sentences, or pieces of long ones, by split.

        Raises:
            StudyError: there are more tags than `tags`.
        """
        vocabulary, tags = self._vocabulary(documents), self._tags(documents)
        return {split: self._examples(each, vocabulary, tags) for split, each in documents.items()}

    def names(self, documents: Mapping[str, Sequence[Tagged]]) -> dict[str, list[str]]:
        """What the tokens and answers stand for."""
        return {"tokens": self._vocabulary(documents).names(), "answers": self._tags(documents)}

    def batch(self, examples: Examples, index: NDArray[np.int64], generator: np.random.Generator) -> Examples:  # noqa: ARG002
        """The examples at `index`; nothing is hidden."""
        return examples[index]

    def check_cell(self, mask: str, model: Mapping[str, Any]) -> None:  # noqa: ARG002
        """Refuse a mask whose access is no window around a position."""
        visible_future(mask)

    def baseline(self, mask: str, train: Examples, test: Examples) -> NDArray[np.float64]:
        """Back-off over the word itself and up to `REACH` visible words on each side, nearest first.

        Returns:
            `[scored positions of test, tags]` natural log-probabilities.

        Raises:
            StudyError: what a position sees under the mask is no window around it (`baselines.visible_future`).
        """
        return backoff_log_probabilities(train, test, (0, *neighbours(mask, REACH)), self.answers)

    def ceiling(self, mask: str, test: Examples) -> None:  # noqa: ARG002
        """None: nobody knows the distribution that real text was drawn from."""
        return None

    def _vocabulary(self, documents: Mapping[str, Sequence[Tagged]]) -> Vocabulary:
        counts = Counter(word for document in documents["train"] for word in document.words)
        return Vocabulary(by_frequency(counts), self.words)

    def _tags(self, documents: Mapping[str, Sequence[Tagged]]) -> list[str]:
        found = sorted({tag for each in documents.values() for document in each for tag in document.tags})
        if len(found) > self.tags:
            raise StudyError(
                f"tagging: the dataset has {len(found)} tags, not at most {self.tags}; set `tags: {len(found)}`"
            )
        return found

    def _examples(self, documents: Sequence[Tagged], vocabulary: Vocabulary, tags: Sequence[str]) -> Examples:
        numbers = {tag: number for number, tag in enumerate(tags)}
        rows, answers, groups = [], [], []
        for document in documents:
            row = vocabulary.encode([EDGE, *document.words, EDGE])
            answer = [NOT_SCORED, *(numbers[tag] for tag in document.tags), NOT_SCORED]
            for start in range(0, len(document.words) + 1, self.length):  # a piece of one edge alone is none
                rows.append(row[start : start + self.length])
                answers.append(answer[start : start + self.length])
                groups.append(document.group)
        ends = lengths(rows)
        tokens = padded(rows, self.length, vocabulary.padding)
        return Examples(
            tokens=tokens,
            targets=padded(answers, self.length, NOT_SCORED),
            lengths=ends,
            condition_lengths=np.zeros_like(ends),
            target_positions=np.full_like(tokens, NOWHERE),
            groups=np.array(groups, dtype=np.str_),
        )
