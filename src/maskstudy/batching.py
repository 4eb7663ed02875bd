"""Which examples each training step sees: batches of examples of like length, so that little is spent on padding.

The order is drawn from the seed alone: all masks of a seed see the same batches.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from maskstudy.randomness import stream

_MOSTLY_FULL = 0.95  # mean length, as a share of the longest: above it there is little padding to be saved


def batches(lengths: NDArray[np.int32], steps: int, batch: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """The indices `[batch]` of the examples of every step.

    Each pass over the examples is a new permutation of all of them, and a batch that the end of a pass leaves short is
    filled up from the next one. Where lengths differ much, a pass is sorted by length and cut into batches, whose order
    is drawn again; the examples that are left over, and those that fill up the batch before, are drawn first, so that
    no length is always the last one.

    Args:
        lengths: `[examples]`, real tokens of each.
        steps: how many batches.
        batch: examples a batch.
        seed: of the run.
    """
    generator = stream(seed, "batches")
    waiting = np.empty(0, dtype=np.int64)
    for _ in range(steps):
        while len(waiting) < batch:
            missing = -len(waiting) % batch
            waiting = np.concatenate([waiting, _one_pass(lengths, missing, batch, generator)])
        yield waiting[:batch]
        waiting = waiting[batch:]


def _one_pass(
    lengths: NDArray[np.int32], missing: int, batch: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    """All examples in the order of one pass; the first `missing` of them fill up a batch that has begun."""
    order = generator.permutation(len(lengths))
    end = missing + max(0, len(order) - missing) // batch * batch  # of the last whole batch
    inside = order[missing:end]
    if len(inside) and lengths.mean() < _MOSTLY_FULL * lengths.max():
        # A stable sort leaves examples of one length in the order in which they were drawn.
        order[missing:end] = generator.permutation(
            inside[np.argsort(lengths[inside], kind="stable")].reshape(-1, batch)
        ).ravel()
    return order
