"""Words without their accents → which accented word was meant: the answer often stands one word to the right.

Input: the words of a text, in small letters, all accents taken off. Answer, at *ambiguous* words alone: the word as it
was written. A word is ambiguous if two or more accented forms of it are each seen at least `least` times in train: in
Spanish el (the) and él (he), esta (this) and está (is), si (if) and sí (yes). In `esta …` it is mostly the next word
that tells: `esta casa` (this house), but `está aquí` (is here).

A text is cut at empty lines; each part has an edge before and after it, and is cut again into pieces of `length` words.
Pieces without an ambiguous word are left out. Words that are not among the `words` most frequent ones of train are all
one unknown word.

    >>> task = Accents(length=7, words=4, forms=2, least=2)
    >>> texts = ["Esta casa está aquí.", "Allí está. ¿Ves esta casa?", "¡Sí!"]
    >>> documents = {split: [Document(split, text) for text in texts] for split in ("train", "validation", "test")}
    >>> task.names(documents)
    {'tokens': ['esta', 'casa', 'alli', 'aqui', '(unknown)', '(edge)', '(padding)'], 'answers': ['esta', 'está']}
    >>> test = task.splits(documents)["test"]
    >>> test.tokens
    array([[5, 0, 1, 0, 3, 5, 6],
           [5, 2, 0, 4, 0, 1, 5]], dtype=int16)
    >>> test.targets
    array([[-100,    0, -100,    1, -100, -100, -100],
           [-100, -100,    1, -100,    0, -100, -100]], dtype=int16)
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from maskstudy.baselines import backoff_log_probabilities, neighbours, visible_future
from maskstudy.data.documents import Document
from maskstudy.data.padding import lengths, padded
from maskstudy.data.windows import by_split
from maskstudy.data.words import EDGE, Vocabulary, by_frequency, without_accents, word_dropout, words
from maskstudy.errors import StudyError
from maskstudy.parameters import check_dropout, check_whole
from maskstudy.tasks.task import LARGEST, NOT_SCORED, NOWHERE, Examples

REACH = 2  # words on each visible side for the baseline


@dataclass(frozen=True)
class Lexicon:
    """What the train split says about words.

    Attributes:
        vocabulary: the words without accents, ambiguous ones first.
        forms: accented form -> its number as an answer.
    """

    vocabulary: Vocabulary
    forms: Mapping[str, int]


@dataclass(frozen=True)
class Accents:
    """Put the accents back on the words that need to be told apart.

    Attributes:
        length: most words of an example.
        words: how many of the most frequent words are told apart.
        forms: most accented forms that can be answers; those of the most frequent words are kept.
        least: how often a form must be seen in train to be one.
        word_dropout: share of the words, scored ones aside, that training replaces by the unknown word.
        train_examples: at most so many examples to train on, spread evenly over all documents; None for all.
        validation_examples: the same for validation.
        test_examples: the same for test.

    Raises:
        StudyError: a parameter is out of its range.
    """

    dataset: ClassVar[str | None] = "text"
    generative: ClassVar[bool] = False

    length: int = 32
    words: int = 8000
    forms: int = 256
    least: int = 20
    word_dropout: float = 0.0
    train_examples: int | None = None
    validation_examples: int | None = None
    test_examples: int | None = None

    def __post_init__(self) -> None:
        """Refuse parameters that make no task."""
        check_whole("accents: length", self.length, 1, LARGEST)
        check_whole("accents: words", self.words, 1, LARGEST + 1 - Vocabulary.SPECIAL)
        check_whole("accents: forms", self.forms, 2, LARGEST + 1)
        check_whole("accents: least", self.least, 1)
        check_dropout("accents: word_dropout", self.word_dropout)
        for split, limit in self._limits().items():
            check_whole(f"accents: {split}_examples", limit, 1, or_null=True)

    @property
    def vocabulary(self) -> int:
        """Words without accents, the unknown word, and padding."""
        return self.words + Vocabulary.SPECIAL

    @property
    def answers(self) -> int:
        """The accented forms of ambiguous words."""
        return self.forms

    def splits(self, documents: Mapping[str, Sequence[Document]]) -> dict[str, Examples]:
        """Pieces of text that hold an ambiguous word, by split; which words are ambiguous is up to train alone.

        Raises:
            StudyError: no word of train is ambiguous, or a split holds none of them.
        """
        lexicon = self.lexicon(documents["train"])
        return by_split(documents, self._limits(), lambda each: self.examples(each, lexicon), "accents")

    def names(self, documents: Mapping[str, Sequence[Document]]) -> dict[str, list[str]]:
        """What the tokens and answers stand for."""
        lexicon = self.lexicon(documents["train"])
        return {"tokens": lexicon.vocabulary.names(), "answers": list(lexicon.forms)}

    def lexicon(self, train: Sequence[Document]) -> Lexicon:
        """Number the words and the accented forms of the train documents.

        Raises:
            StudyError: no word is ambiguous.
        """
        written = Counter(word for document in train for word in words(document.text))
        counts: Counter[str] = Counter()
        forms: defaultdict[str, list[str]] = defaultdict(list)
        for form in by_frequency(written):
            counts[without_accents(form)] += written[form]
            if written[form] >= self.least:
                forms[without_accents(form)].append(form)
        ranked = by_frequency(counts)
        answers: list[str] = []
        ambiguous: list[str] = []
        for word in ranked:
            if len(forms[word]) > 1 and len(answers) + len(forms[word]) <= self.forms and len(ambiguous) < self.words:
                ambiguous.append(word)
                answers += forms[word]
        if not ambiguous:
            raise StudyError(
                f"accents: no word of train has two accented forms that are each seen {self.least} times; add text to "
                "the dataset, or lower `least`"
            )
        others = set(ambiguous)
        vocabulary = Vocabulary([*ambiguous, *(word for word in ranked if word not in others)], self.words)
        return Lexicon(vocabulary, {form: number for number, form in enumerate(answers)})

    def examples(self, documents: Sequence[Document], lexicon: Lexicon) -> Examples:
        """All pieces with an ambiguous word, in order; `groups` names the document."""
        vocabulary = lexicon.vocabulary
        pieces = [
            (piece, document.group)
            for document in documents
            for piece in self._pieces(document.text)
            if not lexicon.forms.keys().isdisjoint(piece)
        ]
        rows = [vocabulary.encode(map(without_accents, piece)) for piece, _ in pieces]
        answers = [[lexicon.forms.get(word, NOT_SCORED) for word in piece] for piece, _ in pieces]
        ends = lengths(rows)
        tokens = padded(rows, self.length, vocabulary.padding)
        return Examples(
            tokens=tokens,
            targets=padded(answers, self.length, NOT_SCORED),
            lengths=ends,
            condition_lengths=np.zeros_like(ends),
            target_positions=np.full_like(tokens, NOWHERE),
            groups=np.array([group for _, group in pieces], dtype=np.str_),
        )

    def batch(self, examples: Examples, index: NDArray[np.int64], generator: np.random.Generator) -> Examples:
        """The examples at `index`, with `word_dropout`."""
        return word_dropout(examples[index], self.word_dropout, self.words, generator)

    def check_cell(self, mask: str, model: Mapping[str, Any]) -> None:  # noqa: ARG002
        """Refuse a mask whose access is no window around a position."""
        visible_future(mask)

    def baseline(self, mask: str, train: Examples, test: Examples) -> NDArray[np.float64]:
        """Back-off over the word itself and up to `REACH` visible words on each side, nearest first, right before left.

        Returns:
            `[scored positions of test, forms]` natural log-probabilities.

        Raises:
            StudyError: what a position sees under the mask is no window around it (`baselines.visible_future`).
        """
        around = sorted(neighbours(mask, REACH), key=lambda offset: (abs(offset), -offset))
        return backoff_log_probabilities(train, test, (0, *around), self.answers)

    def ceiling(self, mask: str, test: Examples) -> None:  # noqa: ARG002
        """None: nobody knows the distribution that real text was drawn from."""
        return None

    def _pieces(self, text: str) -> Iterator[list[str]]:
        """The words of each paragraph, cut into at most `length`."""
        for paragraph in re.split(r"\n\s*\n", text):
            found = [EDGE, *words(paragraph), EDGE]
            yield from (found[start : start + self.length] for start in range(0, len(found), self.length))

    def _limits(self) -> dict[str, int | None]:
        return {
            "train": self.train_examples,
            "validation": self.validation_examples,
            "test": self.test_examples,
        }
