"""Key–value pairs and a query: what the tasks `recall_after` and `recall_before` share.

An example has pairs `key value key value …` and one query, a key once more, which stands after them or before them.
The answer, read at the query, is the value of its key. Keys of an example differ from each other; values are drawn
independently and uniformly, so that nothing but the pair itself tells the value of a key.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from maskstudy.baselines import bag_log_probabilities, visible_future
from maskstudy.data.sequences import Sequences, independent_splits
from maskstudy.parameters import check_whole
from maskstudy.tasks.task import LARGEST, NOT_SCORED, NOWHERE, Examples


@dataclass(frozen=True)
class Recall:
    """Recall the value that stands after a key.

    Tokens 0 … `keys` − 1 are keys, the `values` tokens after them values; answer `a` is the token `keys` + `a`.

    Attributes:
        keys: different keys.
        values: different values, the possible answers.
        pairs: of an example, each with a key of its own.
        source_seed: of the examples.
        train_examples: examples to train on.
        validation_examples: examples to choose by.
        test_examples: examples to score on.

    Raises:
        StudyError: a parameter is out of its range.
    """

    name: ClassVar[str]
    query_first: ClassVar[bool]
    dataset: ClassVar[str | None] = None
    generative: ClassVar[bool] = False

    keys: int = 16
    values: int = 8
    pairs: int = 3
    source_seed: int = 0
    train_examples: int = 65536
    validation_examples: int = 512
    test_examples: int = 8192

    def __post_init__(self) -> None:
        """Refuse parameters that make no task."""
        check_whole(f"{self.name}: keys", self.keys, 1, LARGEST // 4)
        check_whole(f"{self.name}: values", self.values, 2, LARGEST // 4)
        check_whole(f"{self.name}: pairs", self.pairs, 1, self.keys)
        for name in ("train_examples", "validation_examples", "test_examples"):
            check_whole(f"{self.name}: {name}", getattr(self, name), 1)
        check_whole(f"{self.name}: source_seed", self.source_seed, 0)

    @property
    def vocabulary(self) -> int:
        """The keys, then the values."""
        return self.keys + self.values

    @property
    def answers(self) -> int:
        """The values."""
        return self.values

    @property
    def length(self) -> int:
        """Two tokens a pair, and the query."""
        return 2 * self.pairs + 1

    @property
    def query_position(self) -> int:
        """Where the query stands and the answer is read."""
        return 0 if self.query_first else 2 * self.pairs

    def splits(self, documents: Any) -> dict[str, Examples]:  # noqa: ARG002
        """Independent examples for train, validation and test; no example of one stands in another."""
        counts = {"test": self.test_examples, "validation": self.validation_examples, "train": self.train_examples}
        return independent_splits(self.name, self.source_seed, counts, self._draw)

    def batch(self, examples: Examples, index: NDArray[np.int64], generator: np.random.Generator) -> Examples:  # noqa: ARG002
        """The examples at `index`; nothing is hidden."""
        return examples[index]

    def check_cell(self, mask: str, model: Mapping[str, Any]) -> None:  # noqa: ARG002
        """Refuse a mask whose access is no window around a position."""
        visible_future(mask)

    def baseline(self, mask: str, train: Examples, test: Examples) -> NDArray[np.float64]:  # noqa: ARG002
        """The values that the query sees, by how often each stands there, whatever its key.

        It is what is left of the task for who does not bind values to keys, and where models dwell before they do.

        Returns:
            `[examples of test, values]` natural log-probabilities.
        """
        seen = test.tokens[:, self._visible(mask)]
        return bag_log_probabilities((seen[:, :, None] == self.keys + np.arange(self.values)).sum(axis=1))

    def ceiling(self, mask: str, test: Examples) -> NDArray[np.float64]:
        """The value of the query's key where the mask shows it to the query; else no value is likelier than another.

        Returns:
            `[examples of test, values]` natural log-probabilities.
        """
        first = 1 if self.query_first else 0
        places = first + 2 * np.arange(self.pairs)  # of the keys
        query = test.tokens[:, self.query_position]
        place = places[(test.tokens[:, places] == query[:, None]).argmax(axis=1)] + 1  # of the value asked for
        value = test.tokens[np.arange(len(test)), place] - self.keys
        shown = self._visible(mask)[place]
        distributions = np.where(shown[:, None], np.eye(self.values)[value], 1 / self.values)
        with np.errstate(divide="ignore"):  # all other values have probability 0
            return np.log(distributions)

    def _visible(self, mask: str) -> NDArray[np.bool_]:
        """`[length]`, which positions the query sees under the mask, all layers together."""
        future = visible_future(mask)
        return np.arange(self.length) <= (self.length if future is None else self.query_position + future)

    def _draw(self, count: int, generator: np.random.Generator) -> Sequences:
        keys = generator.random((count, self.keys)).argsort(axis=1)[:, : self.pairs]  # different in each example
        values = generator.integers(0, self.values, (count, self.pairs))
        asked = generator.integers(0, self.pairs, count)
        rows = np.arange(count)
        pairs = np.stack([keys, self.keys + values], axis=2).reshape(count, -1)
        query = keys[rows, asked][:, None]
        tokens = np.hstack([query, pairs] if self.query_first else [pairs, query]).astype(np.int16)
        targets = np.full_like(tokens, NOT_SCORED)
        targets[:, self.query_position] = values[rows, asked]
        return tokens, targets, np.full_like(tokens, NOWHERE)
