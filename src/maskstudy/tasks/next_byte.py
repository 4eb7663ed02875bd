"""The next byte of a text, at every position: what generative language models are trained on.

The text is cut into windows of `length` bytes, none of which reaches from one document into the next; the short rest of
a document is a shorter, padded example. The answer at a position is the byte after it. The last byte of a window is the
first of the next: there it is read, here it is only the last answer, so that every byte of a document but its first is
an answer exactly once.

    >>> task = NextByte(length=5)
    >>> windows = task.windows([Document("a proverb", "Look before")])
    >>> windows.tokens
    array([[ 76, 111, 111, 107,  32],
           [ 32,  98, 101, 102, 111],
           [111, 114, 101, 256, 256]], dtype=int16)
    >>> windows.targets
    array([[ 111,  111,  107,   32, -100],
           [  98,  101,  102,  111, -100],
           [ 114,  101, -100, -100, -100]], dtype=int16)
    >>> windows.target_positions  # where the answer stands: under the full mask a position sees it
    array([[ 1,  2,  3,  4, -1],
           [ 1,  2,  3,  4, -1],
           [ 1,  2, -1, -1, -1]], dtype=int16)

Nothing is scored at the last position, for the reason that `markov_next` gives.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from maskstudy.baselines import backoff_log_probabilities, next_token_context, visible_future
from maskstudy.data.documents import Document
from maskstudy.data.windows import BYTES, by_split, cut
from maskstudy.parameters import check_whole
from maskstudy.tasks.task import LARGEST, Examples, next_tokens

PAD = 256
REACH = 5  # bytes before the answer for the baseline: of 3 … 7 the best on WikiText-2's validation text, in nats


@dataclass(frozen=True)
class NextByte:
    """The next byte of a text from the bytes before it.

    Attributes:
        length: bytes of a window; all but the last are scored.
        train_windows: at most so many train examples, spread evenly over all documents; None for all.
        validation_windows: the same for validation.
        test_windows: the same for test.

    Raises:
        StudyError: a parameter is out of its range.
    """

    dataset: ClassVar[str | None] = "text"
    generative: ClassVar[bool] = True

    length: int = 129
    train_windows: int | None = None
    validation_windows: int | None = None
    test_windows: int | None = None

    def __post_init__(self) -> None:
        """Refuse parameters that make no task."""
        check_whole("next_byte: length", self.length, 2, LARGEST)
        for split, limit in self._limits().items():
            check_whole(f"next_byte: {split}_windows", limit, 1, or_null=True)

    @property
    def vocabulary(self) -> int:
        """256 bytes and `PAD`."""
        return BYTES + 1

    @property
    def answers(self) -> int:
        """A byte."""
        return BYTES

    def splits(self, documents: Mapping[str, Sequence[Document]]) -> dict[str, Examples]:
        """Windows by split.

        Raises:
            StudyError: no document of a split holds two bytes.
        """
        return by_split(documents, self._limits(), self.windows, "next_byte")

    def windows(self, documents: Sequence[Document]) -> Examples:
        """All windows of the documents, in order; `groups` names the document."""
        windows = cut(documents, self.length, PAD, shared=1)
        targets, target_positions = next_tokens(windows.tokens, windows.lengths)
        return replace(windows, targets=targets, target_positions=target_positions)

    def batch(self, examples: Examples, index: NDArray[np.int64], generator: np.random.Generator) -> Examples:  # noqa: ARG002
        """The windows at `index`; nothing is hidden."""
        return examples[index]

    def check_cell(self, mask: str, model: Mapping[str, Any]) -> None:  # noqa: ARG002
        """Refuse a mask whose access is no window around a position."""
        visible_future(mask)

    def baseline(self, mask: str, train: Examples, test: Examples) -> NDArray[np.float64]:
        """Byte n-gram back-off over up to `REACH` bytes before the answer, and the answer itself where it is seen.

        Returns:
            `[scored positions of test, 256]` natural log-probabilities.

        Raises:
            StudyError: what a position sees under the mask is no window around it (`baselines.visible_future`).
        """
        return backoff_log_probabilities(train, test, next_token_context(mask, REACH), BYTES)

    def ceiling(self, mask: str, test: Examples) -> None:  # noqa: ARG002
        """None: nobody knows the distribution that real text was drawn from."""
        return None

    def _limits(self) -> dict[str, int | None]:
        return {"train": self.train_windows, "validation": self.validation_windows, "test": self.test_windows}
