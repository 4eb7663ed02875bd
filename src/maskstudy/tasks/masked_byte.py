"""Masked bytes: text with some bytes hidden → the hidden bytes. The objective of representation learning.

The text is cut into windows of `length` bytes that neither overlap nor reach from one document into the next; the short
rest of a document is a shorter, padded example. At a hidden position the input is `MASK`, always. Devlin et al. (2019,
section 3.1) leave a tenth of the picked tokens as they are and replace another tenth by random ones, because their
model is used afterwards on text without `MASK`. Nothing follows here, and an answer that stands in the input at the
position where it is scored would be a leak.

    >>> task = MaskedByte(length=8, hidden=0.25)
    >>> whole = task.windows([Document("a proverb", "Look before")])
    >>> whole.tokens
    array([[ 76, 111, 111, 107,  32,  98, 101, 102],
           [111, 114, 101, 257, 257, 257, 257, 257]], dtype=int16)
    >>> batch = task.batch(whole, np.array([0, 1]), np.random.default_rng(0))
    >>> batch.tokens
    array([[ 76, 111, 256, 256,  32,  98, 101, 102],
           [256, 114, 101, 257, 257, 257, 257, 257]], dtype=int16)
    >>> batch.targets
    array([[-100, -100,  111,  107, -100, -100, -100, -100],
           [ 111, -100, -100, -100, -100, -100, -100, -100]], dtype=int16)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from maskstudy.baselines import backoff_log_probabilities, neighbours, visible_future
from maskstudy.data.documents import Document
from maskstudy.data.hiding import hide
from maskstudy.data.windows import BYTES, by_split, cut
from maskstudy.parameters import check_share, check_whole
from maskstudy.tasks.task import LARGEST, NOT_SCORED, Examples

MASK = 256  # stands in the input where a byte is hidden
PAD = 257
REACH = 5  # known bytes on each side for the baseline: of 3 … 6 the best on WikiText-2's validation text, in nats
_HIDING_SEED = 20181011


@dataclass(frozen=True)
class MaskedByte:
    """Hidden bytes of a text, to be restored from the bytes around them.

    Attributes:
        length: bytes of a window.
        hidden: share of an example's bytes that is hidden, at least one byte.
        train_windows: at most so many train examples, spread evenly over all documents; None for all.
        validation_windows: the same for validation.
        test_windows: the same for test.

    Raises:
        StudyError: a parameter is out of its range.
    """

    dataset: ClassVar[str | None] = "text"
    generative: ClassVar[bool] = False

    length: int = 64
    hidden: float = 0.15
    train_windows: int | None = None
    validation_windows: int | None = None
    test_windows: int | None = None

    def __post_init__(self) -> None:
        """Refuse parameters that make no task."""
        check_whole("masked_byte: length", self.length, 1, LARGEST)
        check_share("masked_byte: hidden", self.hidden)
        for split, limit in self._limits().items():
            check_whole(f"masked_byte: {split}_windows", limit, 1, or_null=True)

    @property
    def vocabulary(self) -> int:
        """256 bytes, `MASK` and `PAD`."""
        return BYTES + 2

    @property
    def answers(self) -> int:
        """A byte."""
        return BYTES

    @property
    def mask_token(self) -> int:
        """`MASK`, which stands in the input where a byte is hidden."""
        return MASK

    def splits(self, documents: Mapping[str, Sequence[Document]]) -> dict[str, Examples]:
        """Windows by split. Train is whole (`batch` hides); the others are hidden here, once, for every mask and seed.

        Raises:
            StudyError: a split holds no byte of text.
        """
        splits = by_split(documents, self._limits(), self.windows, "masked_byte")
        for place, split in enumerate(splits):
            if split != "train":
                splits[split] = hide(splits[split], self.hidden, MASK, np.random.default_rng([_HIDING_SEED, place]))
        return splits

    def windows(self, documents: Sequence[Document]) -> Examples:
        """All windows of the documents, in order, nothing hidden and nothing scored; `groups` names the document."""
        return cut(documents, self.length, PAD)

    def batch(self, examples: Examples, index: NDArray[np.int64], generator: np.random.Generator) -> Examples:
        """The windows at `index`, with new positions hidden, drawn from `generator`."""
        return hide(examples[index], self.hidden, MASK, generator)

    def check_cell(self, mask: str, model: Mapping[str, Any]) -> None:  # noqa: ARG002
        """Refuse a mask whose access is no window around a position."""
        visible_future(mask)

    def baseline(self, mask: str, train: Examples, test: Examples) -> NDArray[np.float64]:
        """Byte n-gram back-off over the known bytes next to the hidden one, as far as the mask lets a model see them.

        Up to `REACH` bytes on each visible side, nearest first; another hidden byte, or the end of the window, cuts the
        side off. Counts are those of the whole train windows, every byte being an answer.

        Returns:
            `[scored positions of test, 256]` natural log-probabilities.

        Raises:
            StudyError: what a position sees under the mask is no window around it (`baselines.visible_future`).
        """
        known = (train.tokens < BYTES) & (np.arange(train.tokens.shape[1]) < train.lengths[:, None])
        every_byte = replace(train, targets=np.where(known, train.tokens, np.int16(NOT_SCORED)))
        return backoff_log_probabilities(every_byte, test, neighbours(mask, REACH), answers=BYTES, hidden=MASK)

    def ceiling(self, mask: str, test: Examples) -> None:  # noqa: ARG002
        """None: nobody knows the distribution that real text was drawn from."""
        return None

    def _limits(self) -> dict[str, int | None]:
        return {"train": self.train_windows, "validation": self.validation_windows, "test": self.test_windows}
