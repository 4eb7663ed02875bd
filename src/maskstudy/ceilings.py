"""Ideal observers: the exact posterior of an answer given what a mask lets a position see.

No model with the same access can score better in expectation, so their scores are the ceilings of the synthetic tasks.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maskstudy.errors import StudyError
from maskstudy.randomness import categories


@dataclass(frozen=True)
class HiddenMarkovModel:
    """A hidden Markov model over `states` hidden states and `symbols` emitted symbols.

    Attributes:
        initial: `[states]`, probability of the first state.
        transition: `[states, states]`, row = from, column = to.
        emission: `[states, symbols]`, row = state, column = what it emits.
    """

    initial: NDArray[np.float64]
    transition: NDArray[np.float64]
    emission: NDArray[np.float64]

    def sample(
        self, sequences: int, length: int, generator: np.random.Generator
    ) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
        """Draw hidden states and emitted symbols, each `[sequences, length]`."""
        states = np.empty((sequences, length), dtype=np.int16)
        symbols = np.empty((sequences, length), dtype=np.int16)
        state = categories(np.broadcast_to(self.initial, (sequences, len(self.initial))), generator)
        for step in range(length):
            states[:, step] = state
            symbols[:, step] = categories(self.emission[state], generator)
            state = categories(self.transition[state], generator)
        return states, symbols


@dataclass(frozen=True)
class MarkovChain:
    """A Markov chain whose states are seen.

    Attributes:
        initial: `[states]`, probability of the first state.
        transition: `[states, states]`, row = from, column = to.
    """

    initial: NDArray[np.float64]
    transition: NDArray[np.float64]

    def sample(self, sequences: int, length: int, generator: np.random.Generator) -> NDArray[np.int16]:
        """Draw states, `[sequences, length]`."""
        states = np.empty((sequences, length), dtype=np.int16)
        states[:, 0] = categories(np.broadcast_to(self.initial, (sequences, len(self.initial))), generator)
        for step in range(1, length):
            states[:, step] = categories(self.transition[states[:, step - 1]], generator)
        return states


def stationary(transition: NDArray[np.float64]) -> NDArray[np.float64]:
    """The distribution `[states]` that a transition matrix leaves unchanged.

    Raises:
        StudyError: more than one distribution is left unchanged.
    """
    states = len(transition)
    equations = np.vstack([transition.T - np.eye(states), np.ones(states)])
    solution, _, rank, _ = np.linalg.lstsq(equations, np.append(np.zeros(states), 1.0), rcond=None)
    if rank < states:
        raise StudyError("Markov chain: it falls into parts, so it has no single stationary distribution")
    solution = np.maximum(solution, 0)  # a state that is never visited comes out as a zero of either sign
    return solution / solution.sum()


def random_chain(states: int, concentration: float, seed: int) -> MarkovChain:
    """A chain in its stationary distribution from the first position on, its transition rows drawn at random.

    Args:
        states: how many there are.
        concentration: of the Dirichlet distribution of the rows; small = the next state is almost sure.
        seed: which chain is drawn.

    Raises:
        StudyError: the chain falls into parts.
    """
    transition = np.random.default_rng(seed).dirichlet([concentration] * states, states)
    return MarkovChain(stationary(transition), transition)


def state_posteriors(model: HiddenMarkovModel, symbols: NDArray[np.integer], future: int | None) -> NDArray[np.float64]:
    """Probability of each hidden state at each position, given all symbols up to `future` positions after it.

    `future = 0` is forward filtering, `future = K` fixed-lag smoothing, `future = None` (everything) forward–backward
    smoothing (Rabiner 1989, "A Tutorial on Hidden Markov Models", §III.A–B; Särkkä 2013, "Bayesian Filtering and
    Smoothing", §8 and §10.1 for the lag).

    Args:
        model: the source that emitted the symbols.
        symbols: `[sequences, length]`.
        future: how many symbols after a position are seen; None for all.

    Returns:
        `[sequences, length, states]`, each row summing to 1.
    """
    likelihood = model.emission.T[symbols]  # sequences, length, states
    joint = _forward(model, likelihood) * _backward(model, likelihood, future)
    return joint / joint.sum(-1, keepdims=True)


def _forward(model: HiddenMarkovModel, likelihood: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(state at i | symbols up to i), `[sequences, length, states]`."""
    filtered = np.empty_like(likelihood)
    predicted = np.broadcast_to(model.initial, likelihood[:, 0].shape)
    for step in range(likelihood.shape[1]):
        joint = predicted * likelihood[:, step]
        filtered[:, step] = joint / joint.sum(-1, keepdims=True)
        predicted = filtered[:, step] @ model.transition
    return filtered


def _backward(model: HiddenMarkovModel, likelihood: NDArray[np.float64], future: int | None) -> NDArray[np.float64]:
    """P(the next `future` symbols | state at i) up to a factor a position, `[sequences, length, states]`."""
    length = likelihood.shape[1]
    if future is None:
        message = np.ones_like(likelihood)
        for step in range(length - 2, -1, -1):
            folded = (likelihood[:, step + 1] * message[:, step + 1]) @ model.transition.T
            message[:, step] = folded / folded.sum(-1, keepdims=True)
        return message
    message = np.ones_like(likelihood)
    for ahead in range(min(future, length - 1), 0, -1):
        # All positions at once: each folds in the symbol that stands `ahead` after it, the farthest first.
        folded = (likelihood[:, ahead:] * message[:, : length - ahead]) @ model.transition.T
        message[:, : length - ahead] = folded / folded.sum(-1, keepdims=True)  # else a long lag would underflow to 0
    return message
