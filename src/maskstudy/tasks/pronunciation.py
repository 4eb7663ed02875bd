"""The letters of a word → its phonemes: does it matter who reads the letters, and how, if everybody sees all of them?

An example is one sequence, `letters, separator, phonemes`. The letters are the condition. Scored are the positions from
the separator on, each answered by the next phoneme and the last by the end. All masks see the same there, every letter
and the phonemes so far: under `causal` letters do not see the letters after them, under `prefix` they do, and under
`encoder-decoder` an encoder reads the letters and a decoder, which begins with the separator, writes the phonemes.

    >>> task = Pronunciation(length=9, letters=4, phonemes=5)
    >>> documents = [Pair("cat", "cat", "K AE T"), Pair("at", "at", "AE T"), Pair("at", "at", "AH T")]
    >>> named = task.names({"train": documents})
    >>> named["answers"], named["tokens"][6:]
    (['AE', 'AH', 'K', 'T', '', '(end)'], ['a', 'c', 't', '', '(separator)', '(padding)'])
    >>> examples = task.examples(documents, named)
    >>> examples.tokens
    array([[ 7,  6,  8, 10,  2,  0,  3, 11, 11],
           [ 6,  8, 10,  0,  3, 11, 11, 11, 11],
           [ 6,  8, 10,  1,  3, 11, 11, 11, 11]], dtype=int16)
    >>> examples.targets
    array([[-100, -100, -100,    2,    0,    3,    5, -100, -100],
           [-100, -100,    0,    3,    5, -100, -100, -100, -100],
           [-100, -100,    1,    3,    5, -100, -100, -100, -100]],
          dtype=int16)
    >>> examples.target_positions  # where the answer stands: the end is an answer alone, and stands nowhere
    array([[-1, -1, -1,  4,  5,  6, -1, -1, -1],
           [-1, -1,  3,  4, -1, -1, -1, -1, -1],
           [-1, -1,  3,  4, -1, -1, -1, -1, -1]], dtype=int16)
    >>> examples.condition_lengths
    array([3, 2, 2], dtype=int32)

A word with several pronunciations has an example each, all of them in one split. What a model writes by itself is right
if it is any of them, so the examples of one word in the test split are together what it is compared with.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from maskstudy import joint_ngram
from maskstudy.data.documents import Pair
from maskstudy.data.padding import lengths, padded
from maskstudy.data.windows import evenly
from maskstudy.errors import StudyError
from maskstudy.parameters import check_whole
from maskstudy.tasks.task import LARGEST, NOT_SCORED, NOWHERE, Examples
from maskstudy.transcripts import Word, words

# Word error rates are of answers that are none of the listed pronunciations.
_DIFFERS = "an older release of the dictionary, split otherwise, of about 113 000 pronunciations to train on"
PUBLISHED = {
    "cmudict": [
        {
            "method": "joint n-gram",
            "per": 0.0588,
            "wer": 0.2453,
            "source": "Bisani & Ney 2008, “Joint-sequence models for grapheme-to-phoneme conversion”, "
            "Speech Communication 50",
            "differs": _DIFFERS,
        },
        {
            "method": "bidirectional LSTM on alignments",
            "per": 0.0545,
            "wer": 0.2355,
            "source": "Yao & Zweig 2015, “Sequence-to-sequence neural net models for grapheme-to-phoneme "
            "conversion”, Interspeech",
            "differs": f"{_DIFFERS}; a far larger network, trained far longer",
        },
    ]
}

END, SEPARATOR, PADDING = "(end)", "(separator)", "(padding)"
UNUSED = ""


@dataclass(frozen=True)
class Pronunciation:
    """Write the phonemes of a word, or any target of a source.

    A source is read letter by letter; a target is its symbols with spaces between them.

    Attributes:
        length: most tokens of an example: letters, separator, phonemes, and room for the end.
        letters: how many different letters there are at most.
        phonemes: how many different phonemes there are at most.
        train_words: at most so many words to train on, spread evenly over all; None for all.
        validation_words: the same for validation.
        test_words: the same for test.

    Raises:
        StudyError: a parameter is out of its range.
    """

    dataset: ClassVar[str | None] = "pairs"
    generative: ClassVar[bool] = False  # not every position is answered by the next token: letters are given

    length: int = 58
    letters: int = 29
    phonemes: int = 39
    train_words: int | None = None
    validation_words: int | None = None
    test_words: int | None = None

    def __post_init__(self) -> None:
        """Refuse parameters that make no task."""
        check_whole("pronunciation: length", self.length, 4, LARGEST)
        check_whole("pronunciation: letters", self.letters, 1, LARGEST // 2)
        check_whole("pronunciation: phonemes", self.phonemes, 1, LARGEST // 2 - 3)
        for split, limit in self._limits().items():
            check_whole(f"pronunciation: {split}_words", limit, 1, or_null=True)

    @property
    def answers(self) -> int:
        """The phonemes and the end."""
        return self.phonemes + 1

    @property
    def vocabulary(self) -> int:
        """The answers, the letters, the separator and padding."""
        return self.answers + self.letters + 2

    @property
    def end(self) -> int:
        """The answer after the last phoneme."""
        return self.phonemes

    def splits(self, documents: Mapping[str, Sequence[Pair]]) -> dict[str, Examples]:
        """Examples by split.

        Raises:
            StudyError: there are more letters or phonemes than the task has room for, a pair is too long, or a split
                has none.
        """
        named, found = self.names(documents), {}
        for split, limit in self._limits().items():
            if not documents[split]:
                raise StudyError(f"pronunciation: no pair in {split}; add pairs to the dataset")
            found[split] = self.examples(_spread(documents[split], limit), named)
        return found

    def names(self, documents: Mapping[str, Sequence[Pair]]) -> dict[str, list[str]]:
        """What the tokens and answers stand for: the alphabets of all splits, and room that is left.

        Raises:
            StudyError: there are more letters or phonemes than the task has room for.
        """
        pairs = [pair for each in documents.values() for pair in each]
        letters = _alphabet("letters", {letter for pair in pairs for letter in pair.source}, self.letters)
        phonemes = _alphabet("phonemes", {one for pair in pairs for one in pair.target.split()}, self.phonemes)
        return {"answers": [*phonemes, END], "tokens": [*phonemes, END, *letters, SEPARATOR, PADDING]}

    def examples(self, pairs: Sequence[Pair], named: Mapping[str, Sequence[str]]) -> Examples:
        """One example a pair, in order.

        Args:
            pairs: of one split.
            named: of `names`.

        Raises:
            StudyError: a pair does not fit.
        """
        phoneme = {name: number for number, name in enumerate(named["answers"][: self.phonemes])}
        letter = {name: self.answers + number for number, name in enumerate(named["tokens"][self.answers :])}
        sources = [[letter[name] for name in pair.source] for pair in pairs]
        answers = [[phoneme[name] for name in pair.target.split()] for pair in pairs]
        rows = [
            [*source, self.answers + self.letters, *answer] for source, answer in zip(sources, answers, strict=True)
        ]
        if (longest := max(map(len, rows)) + 1) > self.length:
            raise StudyError(
                f"pronunciation: length: {self.length}, but a pair has {longest} tokens, the end included; raise it"
            )
        targets = [
            [*[NOT_SCORED] * len(source), *answer, self.end] for source, answer in zip(sources, answers, strict=True)
        ]
        positions = [
            [*[NOWHERE] * len(source), *range(len(source) + 1, len(row))]
            for source, row in zip(sources, rows, strict=True)
        ]
        return Examples(
            tokens=padded(rows, self.length, self.vocabulary - 1),
            targets=padded(targets, self.length, NOT_SCORED),
            lengths=lengths(rows),
            condition_lengths=lengths(sources),
            target_positions=padded(positions, self.length, NOWHERE),
            groups=np.array([pair.group for pair in pairs], dtype=np.str_),
        )

    def batch(self, examples: Examples, index: NDArray[np.int64], generator: np.random.Generator) -> Examples:  # noqa: ARG002
        """The examples at `index`; nothing is hidden."""
        return examples[index]

    def check_cell(self, mask: str, model: Mapping[str, Any]) -> None:
        """Any mask will do: letters stand before the answers, and all of them are seen."""

    def baseline(self, mask: str, train: Examples, test: Examples) -> None:  # noqa: ARG002
        """None: the simple method writes whole words, and says nothing of the next phoneme after a given one."""
        return None

    def written_baseline(self, train: Examples, test: Examples) -> list[list[int]]:
        """A joint n-gram of letters and phonemes; every mask lets an answer see all letters, as it does."""
        known = words(train)
        model = joint_ngram.train(
            [self._letters(word) for word in known for _ in word.variants],
            [variant for word in known for variant in word.variants],
        )
        return joint_ngram.write(model, [self._letters(word) for word in words(test)])

    def ceiling(self, mask: str, test: Examples) -> None:  # noqa: ARG002
        """None: nobody knows how a word is pronounced before they hear it."""
        return None

    def _letters(self, word: Word) -> list[int]:
        """The letters of a word, numbered from 0."""
        return [token - self.answers for token in word.condition]

    def _limits(self) -> dict[str, int | None]:
        return {"train": self.train_words, "validation": self.validation_words, "test": self.test_words}


def _alphabet(name: str, found: set[str], room: int) -> list[str]:
    """The symbols in order, and empty names for the room that is left."""
    if len(found) > room:
        raise StudyError(f"pronunciation: {name}: {room}, but the data has {len(found)} different ones; raise it")
    return [*sorted(found), *[UNUSED] * (room - len(found))]


def _spread(pairs: Sequence[Pair], limit: int | None) -> list[Pair]:
    """All pairs of at most `limit` sources, spread evenly."""
    sources = list(dict.fromkeys(pair.source for pair in pairs))
    chosen = {sources[place] for place in evenly(len(sources), len(sources) if limit is None else limit)}
    return [pair for pair in pairs if pair.source in chosen]
