"""What a task is: examples, scored answers, and what a fair judge compares a model with.

One shape serves every task. Position `i` of an example is scored where `targets[i]` is not `NOT_SCORED`; the model's
answer is read at position `i`; `target_positions[i]` says where that answer stands in the input, if anywhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

NOT_SCORED = -100  # the value that torch.nn.functional.cross_entropy skips
NOWHERE = -1
LARGEST = 2**15 - 1  # what the int16 of tokens, targets and positions holds


@dataclass(frozen=True)
class Examples:
    """A batch or a whole split; every array has one row an example.

    Attributes:
        tokens: `[examples, length]` int16, the input, padded on the right.
        targets: `[examples, length]` int16, the answer scored at each position, `NOT_SCORED` elsewhere.
        lengths: `[examples]` int32, how many tokens are real; what follows is padding.
        condition_lengths: `[examples]` int32, how many of the first tokens are the condition (0 without one).
        target_positions: `[examples, length]` int16, where the answer stands in the input, `NOWHERE` otherwise.
        groups: `[examples]` str, what splits are made by (article, sentence, headword).
    """

    tokens: NDArray[np.int16]
    targets: NDArray[np.int16]
    lengths: NDArray[np.int32]
    condition_lengths: NDArray[np.int32]
    target_positions: NDArray[np.int16]
    groups: NDArray[np.str_] = field(default_factory=lambda: np.empty(0, dtype=np.str_))

    def __len__(self) -> int:
        """Number of examples."""
        return len(self.tokens)

    @property
    def scored(self) -> NDArray[np.bool_]:
        """`[examples, length]`, True where an answer is scored."""
        return self.targets != NOT_SCORED

    def __getitem__(self, index: Any) -> Self:
        """The examples that a NumPy index picks, in its order; an array or slice, not a single integer."""
        picked = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return type(self)(**{name: value[index] if len(value) else value for name, value in picked.items()})


def next_tokens(tokens: NDArray[np.int16], lengths: NDArray[np.int32]) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    """The next token as the answer at every position but the last real one.

    The last real token is there as an answer alone: nothing is scored at it, for its own answer would stand nowhere.

        >>> next_tokens(np.array([[5, 6, 7], [8, 9, 0]], dtype=np.int16), np.array([3, 2], dtype=np.int32))
        (array([[   6,    7, -100],
               [   9, -100, -100]], dtype=int16), array([[ 1,  2, -1],
               [ 1, -1, -1]], dtype=int16))

    Args:
        tokens: `[examples, length]`.
        lengths: `[examples]`, how many tokens are real.

    Returns:
        Targets and target positions, `[examples, length]` each.
    """
    answered = np.arange(tokens.shape[1]) < lengths[:, None] - 1  # examples, length
    following = np.roll(tokens, -1, axis=1)
    positions = np.arange(1, tokens.shape[1] + 1, dtype=np.int16)
    return np.where(answered, following, np.int16(NOT_SCORED)), np.where(answered, positions, np.int16(NOWHERE))


class Task(Protocol):
    """What every task offers. Build one with its parameters from config.yaml; all of it is NumPy.

    Attributes:
        dataset: the kind of dataset that the task reads (`text`, …), or None for a synthetic source.
        generative: whether the answer at each position is the next token, so that a model can write on by itself.
        vocabulary: number of input tokens, special tokens included.
        answers: number of possible answers.
        length: positions of an example.
    """

    dataset: ClassVar[str | None]
    generative: ClassVar[bool]

    @property
    def vocabulary(self) -> int: ...  # noqa: D102

    @property
    def answers(self) -> int: ...  # noqa: D102

    @property
    def length(self) -> int: ...  # noqa: D102

    def splits(self, documents: Any) -> dict[str, Examples]:
        """Train, validation and test examples, from documents that are already split by group."""
        ...

    def batch(self, examples: Examples, index: NDArray[np.int64], generator: np.random.Generator) -> Examples:
        """The training batch of the examples at `index`; hides tokens here where the task hides any."""
        ...

    def check_cell(self, mask: str, model: Mapping[str, Any]) -> None:
        """Refuse, before anything is made, a mask or model that the baseline or ceiling cannot be computed for.

        Args:
            mask: under `masks` or `controls` of the task in config.yaml.
            model: the `model` settings of the task.

        Raises:
            StudyError: it is refused.
        """
        ...

    def baseline(self, mask: str, train: Examples, test: Examples) -> NDArray[np.float64] | None:
        """Log-probabilities `[scored positions of test, answers]` of a simple method with the mask's access.

        None where the simple method writes whole answers instead (`Written`).
        """
        ...

    def ceiling(self, mask: str, test: Examples) -> NDArray[np.float64] | None:
        """Log-probabilities `[scored positions of test, answers]` of the ideal observer; None where unknown."""
        ...


@runtime_checkable
class Written(Protocol):
    """What a task also offers if a model is to write whole answers by itself, given the condition of an example.

    All that is scored of an example is its answer: the tokens that follow the condition and one token more, the last of
    them `end`. Examples of one condition are its right answers (`transcripts`).
    """

    @property
    def end(self) -> int: ...  # noqa: D102

    def written_baseline(self, train: Examples, test: Examples) -> list[list[int]]:
        """What a simple method with the same access writes for each of `transcripts.words(test)`, without the end."""
        ...


@runtime_checkable
class Named(Protocol):
    """What a task also offers if its numbers stand for words."""

    def names(self, documents: Any) -> dict[str, list[str]]:
        """What the `tokens` and the `answers` stand for, by number, given the documents that `splits` is given."""
        ...


@runtime_checkable
class Hiding(Protocol):
    """What a task also offers if it hides tokens of the input, to be restored."""

    @property
    def mask_token(self) -> int:
        """What stands in the input where a token is hidden."""
        ...


@runtime_checkable
class Following(Protocol):
    """What a task also says if an answer is the token after the position it is read at, without standing there."""

    answer_follows: ClassVar[bool]
