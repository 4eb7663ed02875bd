"""A value recalled by its key, the query after the pairs: both masks see all that the answer needs.

Input: pairs `key value key value …`, then a query, one of the keys once more. Answer, at the query: the value of its
key. The query is the last token, so `causal` lets it see exactly what `full` does: the access of the only scored
position is equal, the ceilings are, and a difference between the two cells is one of learning.

    >>> import numpy as np
    >>> sizes = {"train_examples": 1, "validation_examples": 1, "test_examples": 1}
    >>> task = RecallAfter(keys=4, values=3, pairs=3, **sizes)
    >>> test = task.splits(None)["test"]
    >>> test.tokens  # keys are 0 … 3, values 4 … 6; the key 1 is asked for
    array([[0, 4, 1, 5, 3, 5, 1]], dtype=int16)
    >>> test.targets  # the token 5 is answer 1
    array([[-100, -100, -100, -100, -100, -100,    1]], dtype=int16)
    >>> np.exp(task.ceiling("causal", test)), np.exp(task.ceiling("full", test))
    (array([[0., 1., 0.]]), array([[0., 1., 0.]]))

**Ceiling.** Every mask lets a position see itself and all before it, so the query sees its pair whatever the mask, and
keys differ from each other: the answer is certain, 1 in accuracy and 0 nats.

**Not a leak.** The answer stands in the input, and is seen: to find it there *is* the question. See "Where an answer
stands" in docs/tasks.md.
"""

from dataclasses import dataclass
from typing import ClassVar

from maskstudy.recall import Recall


@dataclass(frozen=True)
class RecallAfter(Recall):
    """Pairs, then the query."""

    name: ClassVar[str] = "recall_after"
    query_first: ClassVar[bool] = False
