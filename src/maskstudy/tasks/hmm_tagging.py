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

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from maskstudy.baselines import backoff_log_probabilities, neighbours, visible_future
from maskstudy.ceilings import HiddenMarkovModel, state_posteriors, stationary
from maskstudy.errors import StudyError
from maskstudy.randomness import stream
from maskstudy.tasks.task import NOWHERE, Examples

BASELINE_REACH = 3  # symbols on each side that the n-gram baseline counts; more are too rare to help
_LARGEST = 2**15 - 1  # what the int16 of tokens and targets holds


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
            if not _is_whole(value := getattr(self, name), least) or value > _LARGEST:
                raise StudyError(f"hmm_tagging: {name}: {value!r}; allowed: whole numbers from {least} to {_LARGEST}")
        for name in ("train_examples", "validation_examples", "test_examples", "chain_seed"):
            least = 0 if name == "chain_seed" else 1
            if not _is_whole(value := getattr(self, name), least):
                raise StudyError(f"hmm_tagging: {name}: {value!r}; allowed: whole numbers from {least}")
        for name in ("transition_concentration", "emission_concentration"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < np.inf:
                raise StudyError(f"hmm_tagging: {name}: {value!r}; allowed: numbers above 0")

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
        chain, taken, splits = self.chain(), set[bytes](), {}
        counts = {"test": self.test_examples, "validation": self.validation_examples, "train": self.train_examples}
        for split, count in counts.items():
            splits[split] = self._examples(chain, split, count, taken)
            taken.update(row.tobytes() for row in splits[split].tokens)
        return splits

    def batch(self, examples: Examples, index: NDArray[np.int64], generator: np.random.Generator) -> Examples:  # noqa: ARG002
        """The examples at `index`; nothing is hidden."""
        return examples[index]

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

    def _examples(self, chain: HiddenMarkovModel, split: str, count: int, taken: set[bytes]) -> Examples:
        """`count` sequences that are not in `taken`."""
        generator = stream(self.chain_seed, f"hmm_tagging {split}")
        states, symbols = chain.sample(count, self.length, generator)
        for _ in range(1000):
            known = np.array([row.tobytes() in taken for row in symbols])
            if not known.any():
                break
            states[known], symbols[known] = chain.sample(int(known.sum()), self.length, generator)
        else:
            raise StudyError(
                f"hmm_tagging: length {self.length} leaves too few different sequences for separate splits; raise it"
            )
        lengths = np.full(count, self.length, dtype=np.int32)
        return Examples(
            tokens=symbols,
            targets=states,
            lengths=lengths,
            condition_lengths=np.zeros_like(lengths),
            target_positions=np.full_like(symbols, NOWHERE),
            groups=np.array([f"{split}-{number}" for number in range(count)], dtype=np.str_),
        )


def _is_whole(value: object, least: int) -> bool:
    """A whole number from `least`; True and 2.0 are none."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
