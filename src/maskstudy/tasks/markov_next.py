"""The next state of a Markov chain: no model that is not shown the answer can lose less than the entropy rate.

Input: a sequence of states. Answer, at every position: the next state. A chain forgets all but its present state, so
the ideal observer under the causal mask says what the transition matrix says, and its loss is the entropy rate of the
chain. Under a mask that shows the next token the answer is *seen*: the ceiling is a loss of 0, and a model that comes
near it has learned to copy. That is what the control is for; what it has learned is worth nothing where it must go on
by itself (`maskstudy generate`).

    >>> sizes = {"length": 4, "train_examples": 1, "validation_examples": 1, "test_examples": 1}
    >>> task = MarkovNext(symbols=3, concentration=1, chain_seed=6, **sizes)
    >>> test = task.splits(None)["test"]
    >>> test.tokens, test.targets
    (array([[0, 2, 1, 1]], dtype=int16), array([[   2,    1,    1, -100]], dtype=int16))
    >>> np.exp(task.ceiling("causal", test)).round(2)  # the rows of the transition matrix of 0, 2 and 1
    array([[0.47, 0.12, 0.41],
           [0.74, 0.17, 0.09],
           [0.2 , 0.28, 0.52]])
    >>> np.exp(task.ceiling("full", test)).round(2)  # the answer stands in the input, and is seen
    array([[0., 0., 1.],
           [0., 1., 0.],
           [0., 1., 0.]])

Nothing is scored at the last position, whose answer stands nowhere. It would be the one position at which the control
cannot copy, and once it copies everywhere else, all of its gradient would come from there: it would learn to predict
after all, and its text would no longer show the leak. Language models are trained in the same way: they shift the
labels inside the window, and the last position has none.

The rows of the transition matrix are drawn from a Dirichlet distribution with concentration `concentration`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from maskstudy.baselines import backoff_log_probabilities, next_token_context, visible_future
from maskstudy.ceilings import MarkovChain, random_chain
from maskstudy.data.sequences import Sequences, independent_splits
from maskstudy.parameters import check_positive, check_whole
from maskstudy.tasks.task import LARGEST, Examples, next_tokens

BASELINE_REACH = 3  # states before the answer that the n-gram baseline counts: it is not told that one is enough


@dataclass(frozen=True)
class MarkovNext:
    """Predict the next state of a Markov chain from those so far.

    Attributes:
        symbols: number of states, the vocabulary and the possible answers.
        length: states of a sequence; all but the last are scored.
        concentration: of the Dirichlet distribution of transition rows; small = the next state is almost sure.
        chain_seed: which chain is drawn.
        train_examples: sequences to train on.
        validation_examples: sequences to choose by.
        test_examples: sequences to score on.

    Raises:
        StudyError: a parameter is out of its range.
    """

    dataset: ClassVar[str | None] = None
    generative: ClassVar[bool] = True

    symbols: int = 12
    length: int = 65
    concentration: float = 0.3
    chain_seed: int = 0
    train_examples: int = 16384
    validation_examples: int = 512
    test_examples: int = 2048

    def __post_init__(self) -> None:
        """Refuse parameters that make no task."""
        for name in ("symbols", "length"):
            check_whole(f"markov_next: {name}", getattr(self, name), 2, LARGEST)
        for name, least in (("train_examples", 1), ("validation_examples", 1), ("test_examples", 1), ("chain_seed", 0)):
            check_whole(f"markov_next: {name}", getattr(self, name), least)
        check_positive("markov_next: concentration", self.concentration)

    @property
    def vocabulary(self) -> int:
        """The states."""
        return self.symbols

    @property
    def answers(self) -> int:
        """The states."""
        return self.symbols

    def chain(self) -> MarkovChain:
        """The source of the sequences, in its stationary distribution from the first position on."""
        return random_chain(self.symbols, self.concentration, self.chain_seed)

    def splits(self, documents: Any) -> dict[str, Examples]:  # noqa: ARG002
        """Independent sequences for train, validation and test; no sequence of one stands in another."""
        chain = self.chain()

        def draw(count: int, generator: np.random.Generator) -> Sequences:
            tokens = chain.sample(count, self.length, generator)
            return tokens, *next_tokens(tokens, np.full(count, self.length, dtype=np.int32))

        counts = {"test": self.test_examples, "validation": self.validation_examples, "train": self.train_examples}
        return independent_splits("markov_next", self.chain_seed, counts, draw)

    def batch(self, examples: Examples, index: NDArray[np.int64], generator: np.random.Generator) -> Examples:  # noqa: ARG002
        """The examples at `index`; nothing is hidden."""
        return examples[index]

    def check_cell(self, mask: str, model: Mapping[str, Any]) -> None:  # noqa: ARG002
        """Refuse a mask whose access is no window around a position."""
        visible_future(mask)

    def baseline(self, mask: str, train: Examples, test: Examples) -> NDArray[np.float64]:
        """Back-off over the states before the answer, nearest first, and over the answer itself where it is seen.

        Returns:
            `[scored positions of test, symbols]` natural log-probabilities.

        Raises:
            StudyError: what a position sees under the mask is no window around it (`baselines.visible_future`).
        """
        return backoff_log_probabilities(train, test, next_token_context(mask, BASELINE_REACH), self.answers)

    def ceiling(self, mask: str, test: Examples) -> NDArray[np.float64]:
        """Exact log-probabilities of the next state given what the mask lets a position see.

        That is the transition row of its own state, for a chain forgets the rest; where the mask shows the next token,
        it is certainty.

        Returns:
            `[scored positions of test, symbols]` natural log-probabilities.

        Raises:
            StudyError: what a position sees under the mask is no window around it (`baselines.visible_future`).
        """
        distributions = self.chain().transition[test.tokens[test.scored]]  # scored positions, symbols
        if visible_future(mask) != 0:
            distributions = np.eye(self.symbols)[test.targets[test.scored]]
        with np.errstate(divide="ignore"):  # a step that cannot happen has probability 0
            return np.log(distributions)
