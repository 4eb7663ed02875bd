"""The token to the left, without positions: here the full mask is the blind one.

Input: tokens drawn independently and uniformly. Answer, at every position but the first: the token to its left. The
model has no position encoding (`positions: none`), so order reaches it by the mask alone.

    >>> sizes = {"train_examples": 1, "validation_examples": 1, "test_examples": 1}
    >>> task = PreviousTokenUnordered(symbols=3, length=5, **sizes)
    >>> test = task.splits(None)["test"]
    >>> test.tokens, test.targets
    (array([[1, 1, 2, 1, 2]], dtype=int16), array([[-100,    1,    1,    2,    1]], dtype=int16))
    >>> np.exp(task.ceiling("causal", test))
    array([[0., 1., 0.],
           [0., 1., 0.],
           [0., 0., 1.],
           [0., 1., 0.]])
    >>> np.exp(task.ceiling("full", test))  # the shares of the four other tokens, in no order
    array([[0.  , 0.5 , 0.5 ],
           [0.  , 0.75, 0.25],
           [0.  , 0.5 , 0.5 ],
           [0.  , 0.75, 0.25]])

**Ceiling under full.** Without positions, full attention treats all positions alike: reorder the tokens, and the
outputs are reordered with them. What comes out at a position is therefore a function of its own token a and of the bag
of all n tokens, and of nothing else. Tokens are exchangeable: given a and the bag, each of the other n − 1 tokens is
equally likely to be the one to the left, wherever the position is. With c(b) how often b stands among them,

    P(b to the left | a, bag) = c(b) / (n − 1)

and no function of a and the bag can say more.

**Ceiling under causal.** The mask differs from position to position, and that tells order. After the first layer
position j can hold its own token and the bag of tokens 0 … j. Of all that position i sees in the second layer, one
bag is smaller than its own by a single token; it is that of i − 1, and the token held with it is the answer. With two
layers or more the answer is certain: 1 in accuracy and 0 nats. A softmax averages, so what attention really passes on
is the *shares* of a bag and not its size; the tests go through all short sequences and find that two layers of shares
tell every answer too. With a single layer a position sees one bag and no order inside it. Such a model is refused:
the ceiling is that of two layers or more.

**Not a leak.** The answer stands in the input and in the access of its position under both masks: to find it *is* the
question. Access says what can be seen, not whether one can tell where it stood, and that is what this task is about.
See "Where an answer stands" in docs/tasks.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from maskstudy.baselines import bag_log_probabilities
from maskstudy.data.sequences import Sequences, independent_splits
from maskstudy.errors import StudyError
from maskstudy.parameters import check_whole
from maskstudy.tasks.task import LARGEST, NOT_SCORED, NOWHERE, Examples


@dataclass(frozen=True)
class PreviousTokenUnordered:
    """Tell the token to the left without being told where any token stands.

    Attributes:
        symbols: different tokens, the vocabulary and the possible answers.
        length: tokens of a sequence; all but the first are scored.
        source_seed: of the sequences.
        train_examples: sequences to train on.
        validation_examples: sequences to choose by.
        test_examples: sequences to score on.

    Raises:
        StudyError: a parameter is out of its range.
    """

    dataset: ClassVar[str | None] = None
    generative: ClassVar[bool] = False

    symbols: int = 8
    length: int = 12
    source_seed: int = 0
    train_examples: int = 65536
    validation_examples: int = 512
    test_examples: int = 2048

    def __post_init__(self) -> None:
        """Refuse parameters that make no task."""
        for name in ("symbols", "length"):
            check_whole(f"previous_token_unordered: {name}", getattr(self, name), 2, LARGEST)
        for name in ("train_examples", "validation_examples", "test_examples"):
            check_whole(f"previous_token_unordered: {name}", getattr(self, name), 1)
        check_whole("previous_token_unordered: source_seed", self.source_seed, 0)

    @property
    def vocabulary(self) -> int:
        """The symbols."""
        return self.symbols

    @property
    def answers(self) -> int:
        """The symbols."""
        return self.symbols

    def splits(self, documents: Any) -> dict[str, Examples]:  # noqa: ARG002
        """Independent sequences for train, validation and test; no sequence of one stands in another."""

        def draw(count: int, generator: np.random.Generator) -> Sequences:
            tokens = generator.integers(0, self.symbols, (count, self.length)).astype(np.int16)
            targets = np.full_like(tokens, NOT_SCORED)
            targets[:, 1:] = tokens[:, :-1]
            return tokens, targets, np.full_like(tokens, NOWHERE)

        counts = {"test": self.test_examples, "validation": self.validation_examples, "train": self.train_examples}
        return independent_splits("previous_token_unordered", self.source_seed, counts, draw)

    def batch(self, examples: Examples, index: NDArray[np.int64], generator: np.random.Generator) -> Examples:  # noqa: ARG002
        """The examples at `index`; nothing is hidden."""
        return examples[index]

    def check_cell(self, mask: str, model: Mapping[str, Any]) -> None:
        """Refuse what the ceiling is not known for.

        Raises:
            StudyError: another mask than causal or full, a model that is told positions, or one with a single layer.
        """
        if mask not in ("causal", "full"):
            raise StudyError(f"mask {mask!r}: without positions, its ceiling is not known; allowed: causal, full")
        if model["positions"] != "none":
            raise StudyError(
                f"model: positions {model['positions']!r} tell the order that this task withholds; allowed: none, "
                "under `model:` of the task"
            )
        if model["layers"] < 2:
            raise StudyError(f"model: layers {model['layers']}: order shows in the second; allowed: 2 or more")

    def baseline(self, mask: str, train: Examples, test: Examples) -> NDArray[np.float64]:  # noqa: ARG002
        """One of the other tokens that are seen, by how often each is: a bag of those before, or of all.

        Returns:
            `[scored positions of test, symbols]` natural log-probabilities.
        """
        return bag_log_probabilities(self._others(mask, test))

    def ceiling(self, mask: str, test: Examples) -> NDArray[np.float64]:
        """Certainty under causal, the shares of the other tokens under full.

        Returns:
            `[scored positions of test, symbols]` natural log-probabilities.
        """
        if mask == "causal":
            distributions = np.eye(self.symbols)[test.targets[test.scored]]
        else:
            distributions = self._others(mask, test) / (self.length - 1)
        with np.errstate(divide="ignore"):  # a token that does not stand there has probability 0
            return np.log(distributions)

    def _others(self, mask: str, test: Examples) -> NDArray[np.int64]:
        """`[scored positions, symbols]`, how often each symbol is seen beside the position's own token."""
        own = (test.tokens[:, :, None] == np.arange(self.symbols)).astype(np.int64)  # examples, length, symbols
        seen = own.cumsum(axis=1) if mask == "causal" else own.sum(axis=1, keepdims=True)
        return (seen - own)[test.scored]
