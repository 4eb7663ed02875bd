"""Which questions of a test split to show, and what the models of each mask answered to them.

Nobody chooses them by eye. Some stand for all: they are spread evenly over the split. The others are where two masks
differ most: where the models of the one answer right under more seeds than those of the other. Both ways are chosen
from, so that neither mask shows its best side alone, and where many questions differ equally, those chosen are spread
evenly over them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

SPREAD, AHEAD = "spread", "ahead"
REPRESENTATIVE = 8  # questions that are spread evenly
CASES = 4  # questions where one mask is furthest ahead of another, for each order of two masks

Answer = TypeVar("Answer", int, tuple[int, ...])


@dataclass(frozen=True)
class Answers(Generic[Answer]):
    """What the models of one cell answered.

    Attributes:
        right: `[seeds, questions]` bool.
        given: one list a seed, the answer to each question.
        nats: `[questions]`, mean over seeds, per scored position of the example that the question stands in.
    """

    right: NDArray[np.bool_]
    given: Sequence[Sequence[Answer]]
    nats: NDArray[np.float64]

    def commonest(self, question: int) -> tuple[Answer, int]:
        """The answer that most seeds gave, and how many did; of equally common ones, the first seed's."""
        return Counter(of_seed[question] for of_seed in self.given).most_common(1)[0]


@dataclass(frozen=True)
class Chosen:
    """A question that is shown.

    Attributes:
        question: its number.
        why: `SPREAD`, or `AHEAD` where `mask_a` is further ahead of `mask_b` than elsewhere.
        mask_a: the mask that is ahead; None where the question is one of those spread evenly.
        mask_b: the other one.
        ahead: at how many questions `mask_a` is right under more seeds than `mask_b`.
    """

    question: int
    why: str
    mask_a: str | None = None
    mask_b: str | None = None
    ahead: int | None = None


def spread(count: int, most: int) -> NDArray[np.int64]:
    """At most `most` numbers below `count`, as even as can be: the middles of as many parts of equal size.

    >>> spread(10, 2).tolist(), spread(2, 5).tolist()
    ([2, 7], [0, 1])
    """
    parts = min(count, most)
    return (2 * np.arange(parts) + 1) * count // (2 * parts) if parts else np.empty(0, dtype=np.int64)


def furthest(lead: NDArray[np.int64], most: int) -> list[int]:
    """The questions with the largest lead above 0, the largest first; of equal ones, an even spread.

        >>> furthest(np.array([3, 0, -1, 5, 3, 3]), 2)
        [3, 4]

    Args:
        lead: `[questions]`, under how many seeds more one mask is right than another.
        most: how many to find.
    """
    found: list[int] = []
    for value in sorted(set(lead[lead > 0].tolist()), reverse=True):
        tied = np.flatnonzero(lead == value)
        found += tied[spread(len(tied), most - len(found))].tolist()
        if len(found) == most:
            break
    return found


def choose(right: Mapping[str, NDArray[np.bool_]]) -> list[Chosen]:
    """The questions of a task that are shown: those spread evenly, then those of each order of two masks.

    Args:
        right: mask -> `[seeds, questions]`; as many questions for each, seeds as there are runs.
    """
    questions = next(iter(right.values())).shape[1]
    chosen = [Chosen(question, SPREAD) for question in spread(questions, REPRESENTATIVE).tolist()]
    for mask_a, mask_b in permutations(right, 2):
        lead = right[mask_a].sum(axis=0) - right[mask_b].sum(axis=0)
        ahead = int((lead > 0).sum())
        chosen += [Chosen(question, AHEAD, mask_a, mask_b, ahead) for question in furthest(lead, CASES)]
    return chosen
