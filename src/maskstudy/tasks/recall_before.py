"""A value recalled by its key, the query before the pairs: only who sees the future can answer.

Input: a query, which is one of the keys to come, then pairs `key value key value …`. Answer, at the query: the value of
its key. `recall_after` turned round: the same tokens, the same question, but the query is the first token, and `causal`
shows it nothing but itself.

    >>> import numpy as np
    >>> sizes = {"train_examples": 1, "validation_examples": 1, "test_examples": 1}
    >>> task = RecallBefore(keys=4, values=3, pairs=3, source_seed=5, **sizes)
    >>> test = task.splits(None)["test"]
    >>> test.tokens  # keys are 0 … 3, values 4 … 6; the key 0 is asked for
    array([[0, 3, 4, 1, 5, 0, 6]], dtype=int16)
    >>> test.targets  # the token 6 is answer 2
    array([[   2, -100, -100, -100, -100, -100, -100]], dtype=int16)
    >>> for mask in ("causal", "lookahead-4", "full"):
    ...     print(mask, np.exp(task.ceiling(mask, test)).round(2))
    causal [[0.33 0.33 0.33]]
    lookahead-4 [[0.33 0.33 0.33]]
    full [[0. 0. 1.]]

**Ceiling.** Under `full` the answer is certain: 1 in accuracy and 0 nats. Values are drawn independently of each other
and of all keys, so a query that does not see its own value knows nothing: chance, 1/`values` in accuracy and
ln(`values`) nats. Under `causal` that is so in every example, under `lookahead-K` in those whose pair ends further than
K tokens away.

**Not a leak.** The answer stands in the input, and under `full` it is seen: to find it there *is* the question. See
"Where an answer stands" in docs/tasks.md.
"""

from dataclasses import dataclass
from typing import ClassVar

from maskstudy.recall import Recall


@dataclass(frozen=True)
class RecallBefore(Recall):
    """The query, then pairs."""

    name: ClassVar[str] = "recall_before"
    query_first: ClassVar[bool] = True
