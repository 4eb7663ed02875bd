"""Hidden states of a Markov chain, from the shown ones around them: what is the other side worth?

Input: a sequence of states, a share of which is hidden: there the input is `MASK`, one token for all, as in
`masked_byte`. Answer, at every hidden position: the state that stood there. Under `causal` a position sees the states
before it that are not hidden themselves, under `full` those on both sides.

    >>> sizes = {"length": 6, "train_examples": 1, "validation_examples": 1, "test_examples": 1}
    >>> task = MarkovMasked(symbols=3, hidden=0.5, concentration=1, chain_seed=6, **sizes)
    >>> task.chain().transition.round(2)
    array([[0.47, 0.12, 0.41],
           [0.2 , 0.28, 0.52],
           [0.74, 0.17, 0.09]])
    >>> test = task.splits(None)["test"]
    >>> test.tokens, test.targets  # 3 stands for a hidden state
    (array([[3, 3, 2, 0, 3, 0]], dtype=int16), array([[   2,    1, -100, -100,    2, -100]], dtype=int16))
    >>> np.exp(task.ceiling("causal", test)).round(2)  # nothing before it, nothing still, then a 0: row 0 of the matrix
    array([[0.51, 0.16, 0.32],
           [0.51, 0.16, 0.32],
           [0.47, 0.12, 0.41]])
    >>> np.exp(task.ceiling("full", test)).round(2)  # two steps before a 2, one step before it, between two 0
    array([[0.46, 0.14, 0.4 ],
           [0.64, 0.26, 0.09],
           [0.4 , 0.05, 0.55]])

The ceiling is exact. Which positions are hidden is drawn apart from the states, so what a position sees is a chain that
is observed in places: a hidden Markov model whose state emits itself where it is shown, and `MASK`, whatever it is,
where it is hidden. The likelihood of a shown state is 1 for itself and 0 for all others, that of `MASK` the same for
all. The best answer is then the posterior of that model given what the mask shows (`ceilings.state_posteriors`):
forward filtering for `causal`, fixed-lag smoothing for look-ahead, forward–backward for `full`. Runs of hidden states
cost nothing extra: the recursions carry the whole distribution across them. By hand, with T the transition matrix: the
nearest shown state on the left, a, is m steps away and the nearest on the right, b, is n steps away, and

    P(x | a) = (T^m)[a, x]                         causal
    P(x | a, b) ∝ (T^m)[a, x] · (T^n)[x, b]        full

The rows of the transition matrix are drawn from a Dirichlet distribution with concentration `concentration`;
docs/tasks.md says how the default chain was chosen.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from maskstudy.baselines import backoff_log_probabilities, neighbours, visible_future
from maskstudy.ceilings import HiddenMarkovModel, MarkovChain, random_chain, state_posteriors
from maskstudy.data.hiding import hide
from maskstudy.data.sequences import Sequences, independent_splits
from maskstudy.parameters import check_positive, check_share, check_whole
from maskstudy.randomness import stream
from maskstudy.tasks.task import LARGEST, NOT_SCORED, NOWHERE, Examples

BASELINE_REACH = 3  # states on each side that the n-gram baseline counts: it is not told that one is enough


@dataclass(frozen=True)
class MarkovMasked:
    """Restore the hidden states of a Markov chain from those around them.

    Attributes:
        symbols: number of states, the possible answers; the vocabulary has one token more, for a hidden one.
        length: states of a sequence.
        hidden: share of a sequence that is hidden, at least one state.
        concentration: of the Dirichlet distribution of transition rows; small = the next state is almost sure.
        chain_seed: which chain is drawn.
        train_examples: sequences to train on.
        validation_examples: sequences to choose by.
        test_examples: sequences to score on.

    Raises:
        StudyError: a parameter is out of its range.
    """

    dataset: ClassVar[str | None] = None
    generative: ClassVar[bool] = False

    symbols: int = 4
    length: int = 32
    hidden: float = 0.15
    concentration: float = 0.3
    chain_seed: int = 0
    train_examples: int = 32768
    validation_examples: int = 512
    test_examples: int = 4096

    def __post_init__(self) -> None:
        """Refuse parameters that make no task."""
        check_whole("markov_masked: symbols", self.symbols, 2, LARGEST - 1)
        check_whole("markov_masked: length", self.length, 2, LARGEST)
        for name, least in (("train_examples", 1), ("validation_examples", 1), ("test_examples", 1), ("chain_seed", 0)):
            check_whole(f"markov_masked: {name}", getattr(self, name), least)
        check_share("markov_masked: hidden", self.hidden)
        check_positive("markov_masked: concentration", self.concentration)

    @property
    def vocabulary(self) -> int:
        """The states and `MASK`."""
        return self.symbols + 1

    @property
    def answers(self) -> int:
        """The states."""
        return self.symbols

    @property
    def mask_token(self) -> int:
        """`MASK`, which stands in the input where a state is hidden."""
        return self.symbols

    def chain(self) -> MarkovChain:
        """The source of the sequences."""
        return random_chain(self.symbols, self.concentration, self.chain_seed)

    def splits(self, documents: Any) -> dict[str, Examples]:  # noqa: ARG002
        """Independent sequences; no sequence of one split stands in another, whatever is hidden.

        Train is whole (`batch` hides); the others are hidden here, once, for every mask and seed.
        """
        chain = self.chain()

        def draw(count: int, generator: np.random.Generator) -> Sequences:
            tokens = chain.sample(count, self.length, generator)
            return tokens, np.full_like(tokens, NOT_SCORED), np.full_like(tokens, NOWHERE)

        counts = {"test": self.test_examples, "validation": self.validation_examples, "train": self.train_examples}
        splits = independent_splits("markov_masked", self.chain_seed, counts, draw)
        for split in ("validation", "test"):
            splits[split] = self._hide(splits[split], stream(self.chain_seed, f"markov_masked {split} hiding"))
        return splits

    def batch(self, examples: Examples, index: NDArray[np.int64], generator: np.random.Generator) -> Examples:
        """The sequences at `index`, with new positions hidden, drawn from `generator`."""
        return self._hide(examples[index], generator)

    def check_cell(self, mask: str, model: Mapping[str, Any]) -> None:  # noqa: ARG002
        """Refuse a mask whose access is no window around a position."""
        visible_future(mask)

    def baseline(self, mask: str, train: Examples, test: Examples) -> NDArray[np.float64]:
        """Back-off over the shown states next to the hidden one, as far as the mask lets a model see them.

        Up to `BASELINE_REACH` states on each visible side, nearest first; another hidden state cuts the side off.
        Counts are those of the whole train sequences, every state being an answer.

        Returns:
            `[scored positions of test, symbols]` natural log-probabilities.
        """
        every_state = replace(train, targets=train.tokens)
        offsets = neighbours(mask, BASELINE_REACH)
        return backoff_log_probabilities(every_state, test, offsets, self.answers, hidden=self.mask_token)

    def ceiling(self, mask: str, test: Examples) -> NDArray[np.float64]:
        """Exact log-probabilities of the hidden states given the shown ones that the mask lets a position see.

        Returns:
            `[scored positions of test, symbols]` natural log-probabilities.
        """
        chain = self.chain()
        shown_or_hidden = np.hstack([np.eye(self.symbols), np.ones((self.symbols, 1))])  # states, symbols and MASK
        observed = HiddenMarkovModel(chain.initial, chain.transition, shown_or_hidden)
        posteriors = state_posteriors(observed, test.tokens, visible_future(mask))  # examples, length, states
        with np.errstate(divide="ignore"):  # a state that cannot stand there has probability 0
            return np.log(posteriors[test.scored])

    def _hide(self, examples: Examples, generator: np.random.Generator) -> Examples:
        return hide(examples, self.hidden, self.mask_token, generator)
