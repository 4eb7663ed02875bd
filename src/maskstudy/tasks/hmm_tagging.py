"""Hidden states of a Markov chain from what they emit: how much is the future worth?

Input: the symbols that a hidden Markov model emits. Answer, at every position: the hidden state that emitted the
symbol. The state lingers in the symbols after it, so each token of look-ahead adds information, and the ceiling of
every mask is known exactly: forward filtering for causal, fixed-lag smoothing for look-ahead, forward–backward for
full.

    >>> sizes = {"length": 4, "train_examples": 1, "validation_examples": 1, "test_examples": 1}
    >>> chain = {"transition_concentration": 1, "emission_concentration": 1, "chain_seed": 10}
    >>> task = HmmTagging(states=2, symbols=3, **chain, **sizes)
    >>> test = task.splits(None)["test"]
    >>> test.tokens, test.targets
    (array([[2, 2, 1, 0]], dtype=int16), array([[0, 0, 1, 0]], dtype=int16))
    >>> np.exp(task.ceiling("causal", test)).round(2)  # P(state | symbols so far), one row a position
    array([[0.63, 0.37],
           [0.64, 0.36],
           [0.05, 0.95],
           [0.95, 0.05]])
    >>> np.exp(task.ceiling("full", test)).round(2)  # P(state | all symbols): the second row gains most
    array([[0.61, 0.39],
           [0.77, 0.23],
           [0.04, 0.96],
           [0.95, 0.05]])

The chain itself is drawn from `chain_seed`: the rows of the transition matrix from a Dirichlet distribution with
concentration `transition_concentration`, those of the emission matrix with `emission_concentration`. docs/tasks.md says
how the default chain was chosen.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from maskstudy.baselines import backoff_log_probabilities, neighbours, visible_future
from maskstudy.ceilings import HiddenMarkovModel, state_posteriors, stationary
from maskstudy.data.sequences import Sequences, independent_splits
from maskstudy.parameters import check_positive, check_whole
from maskstudy.tasks.task import LARGEST, NOWHERE, Examples

BASELINE_REACH = 3  # symbols on each side that the n-gram baseline counts; more are too rare to help


@dataclass(frozen=True)
class HmmTagging:
    """Tag each emitted symbol with the hidden state that emitted it.

    Attributes:
        states: number of hidden states, the possible answers.
        symbols: number of symbols, the vocabulary.
        length: symbols of a sequence.
        transition_concentration: of the Dirichlet distribution of transition rows; small = the next state is almost
            sure.
        emission_concentration: the same for emission rows; small = a state emits few different symbols.
        chain_seed: which chain is drawn.
        train_examples: sequences to train on.
        validation_examples: sequences to choose by.
        test_examples: sequences to score on.

    Raises:
        StudyError: a parameter is out of its range.
    """

    dataset: ClassVar[str | None] = None
    generative: ClassVar[bool] = False

    states: int = 8
    symbols: int = 12
    length: int = 32
    transition_concentration: float = 0.15
    emission_concentration: float = 0.2
    chain_seed: int = 0
    train_examples: int = 65536
    validation_examples: int = 512
    test_examples: int = 2048

    def __post_init__(self) -> None:
        """Refuse parameters that make no task."""
        for name, least in (("states", 2), ("symbols", 2), ("length", 1)):
            check_whole(f"hmm_tagging: {name}", getattr(self, name), least, LARGEST)
        for name, least in (("train_examples", 1), ("validation_examples", 1), ("test_examples", 1), ("chain_seed", 0)):
            check_whole(f"hmm_tagging: {name}", getattr(self, name), least)
        for name in ("transition_concentration", "emission_concentration"):
            check_positive(f"hmm_tagging: {name}", getattr(self, name))

    @property
    def vocabulary(self) -> int:
        """The symbols."""
        return self.symbols

    @property
    def answers(self) -> int:
        """The hidden states."""
        return self.states

    def chain(self) -> HiddenMarkovModel:
        """The source of the sequences, in its stationary distribution from the first position on."""
        generator = np.random.default_rng(self.chain_seed)
        transition = generator.dirichlet([self.transition_concentration] * self.states, self.states)
        emission = generator.dirichlet([self.emission_concentration] * self.symbols, self.states)
        return HiddenMarkovModel(stationary(transition), transition, emission)

    def splits(self, documents: Any) -> dict[str, Examples]:  # noqa: ARG002
        """Independent sequences for train, validation and test; no sequence of one stands in another."""
        chain = self.chain()

        def draw(count: int, generator: np.random.Generator) -> Sequences:
            states, symbols = chain.sample(count, self.length, generator)
            return symbols, states, np.full_like(symbols, NOWHERE)

        counts = {"test": self.test_examples, "validation": self.validation_examples, "train": self.train_examples}
        return independent_splits("hmm_tagging", self.chain_seed, counts, draw)

    def batch(self, examples: Examples, index: NDArray[np.int64], generator: np.random.Generator) -> Examples:  # noqa: ARG002
        """The examples at `index`; nothing is hidden."""
        return examples[index]

    def check_cell(self, mask: str, model: Mapping[str, Any]) -> None:  # noqa: ARG002
        """Refuse a mask whose access is no window around a position."""
        visible_future(mask)

    def baseline(self, mask: str, train: Examples, test: Examples) -> NDArray[np.float64]:
        """Back-off over the symbol itself and its visible neighbours, nearest first.

        Returns:
            `[scored positions of test, states]` natural log-probabilities.
        """
        return backoff_log_probabilities(train, test, (0, *neighbours(mask, BASELINE_REACH)), self.answers)

    def ceiling(self, mask: str, test: Examples) -> NDArray[np.float64]:
        """Exact log-probabilities of the states given what the mask lets a position see.

        Returns:
            `[scored positions of test, states]` natural log-probabilities.

        Raises:
            StudyError: the mask's access is not a window around the position.
        """
        posteriors = state_posteriors(self.chain(), test.tokens, visible_future(mask))
        with np.errstate(divide="ignore"):  # a state that cannot have emitted a symbol has probability 0
            return np.log(posteriors.reshape(-1, self.states))
