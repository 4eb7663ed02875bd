"""The byte after a window of text, asked for once, at the last byte: the fair way to let full attention predict.

The windows are those of `next_byte` without their last byte, which is the answer. It stands in no input, so nobody
sees it, and at the last position `causal` and `full` see the same bytes. The final position of a window thus sees the
same in `next_byte` under `causal`, `final_byte` under `causal` and `final_byte` under `full`, and their answers to
the same questions may be put side by side (`maskstudy supervision`): the first two differ in how many answers of a
window were trained on, the last two in the mask.

    >>> windows = FinalByte(length=4).windows([Document("a proverb", "Look before")])
    >>> windows.tokens
    array([[ 76, 111, 111, 107],
           [ 32,  98, 101, 102],
           [111, 114, 256, 256]], dtype=int16)
    >>> windows.targets
    array([[-100, -100, -100,   32],
           [-100, -100, -100,  111],
           [-100,  101, -100, -100]], dtype=int16)
    >>> "Look before"[4], "Look before"[8]  # the answers after the two whole windows, 32 and 111
    (' ', 'o')
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
from maskstudy.tasks.task import LARGEST, NOT_SCORED, Examples, next_tokens

PAD = 256
REACH = 5  # bytes before the answer for the baseline, as in `next_byte`


@dataclass(frozen=True)
class FinalByte:
    """The byte after a window of text.

    Attributes:
        length: bytes of a window, the answer not among them: one less than that of the `next_byte` it goes with.
        train_windows: at most so many train examples, spread evenly over all documents; None for all.
        validation_windows: the same for validation.
        test_windows: the same for test.

    Raises:
        StudyError: a parameter is out of its range.
    """

    dataset: ClassVar[str | None] = "text"
    generative: ClassVar[bool] = False
    answer_follows: ClassVar[bool] = True

    length: int = 128
    train_windows: int | None = None
    validation_windows: int | None = None
    test_windows: int | None = None

    def __post_init__(self) -> None:
        """Refuse parameters that make no task."""
        check_whole("final_byte: length", self.length, 1, LARGEST - 1)
        for split, limit in self._limits().items():
            check_whole(f"final_byte: {split}_windows", limit, 1, or_null=True)

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
        return by_split(documents, self._limits(), self.windows, "final_byte")

    def windows(self, documents: Sequence[Document]) -> Examples:
        """All windows of the documents, in order; `groups` names the document."""
        whole = cut(documents, self.length + 1, PAD, shared=1)
        rows, last = np.arange(len(whole)), whole.lengths - 1  # where the answer stands in the whole window
        tokens, targets = whole.tokens.copy(), whole.targets.copy()
        targets[rows, last - 1] = tokens[rows, last]
        tokens[rows, last] = PAD
        return replace(
            whole,
            tokens=tokens[:, :-1],
            targets=targets[:, :-1],
            lengths=last,
            target_positions=whole.target_positions[:, :-1],
        )

    def batch(self, examples: Examples, index: NDArray[np.int64], generator: np.random.Generator) -> Examples:  # noqa: ARG002
        """The windows at `index`; nothing is hidden."""
        return examples[index]

    def check_cell(self, mask: str, model: Mapping[str, Any]) -> None:  # noqa: ARG002
        """Refuse a mask whose access is no window around a position."""
        visible_future(mask)

    def baseline(self, mask: str, train: Examples, test: Examples) -> NDArray[np.float64]:  # noqa: ARG002
        """Byte n-gram back-off over up to `REACH` bytes before the answer, which every mask shows.

        Counts are those of the whole train windows, every byte being an answer: it is the baseline of `next_byte`.

        Returns:
            `[scored positions of test, 256]` natural log-probabilities.
        """
        inside, _ = next_tokens(train.tokens, train.lengths)
        every_byte = replace(train, targets=np.where(inside == NOT_SCORED, train.targets, inside))
        return backoff_log_probabilities(every_byte, test, next_token_context("causal", REACH), BYTES)

    def ceiling(self, mask: str, test: Examples) -> None:  # noqa: ARG002
        """None: nobody knows the distribution that real text was drawn from."""
        return None

    def _limits(self) -> dict[str, int | None]:
        return {"train": self.train_windows, "validation": self.validation_windows, "test": self.test_windows}
