"""Examples drawn from a synthetic source: independent sequences, none of which stands in two splits."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from maskstudy.errors import StudyError
from maskstudy.randomness import stream
from maskstudy.tasks.task import Examples

Sequences = tuple[NDArray[np.int16], NDArray[np.int16], NDArray[np.int16]]
_ATTEMPTS = 1000


def independent_splits(
    task: str, seed: int, counts: Mapping[str, int], draw: Callable[[int, np.random.Generator], Sequences]
) -> dict[str, Examples]:
    """Draw every split; a sequence that already stands in another is drawn anew.

    Args:
        task: names the random streams, and the group of every example.
        seed: of the source.
        counts: split -> how many examples, in the order in which the splits are drawn: the first is left as it came.
        draw: gives tokens, targets and target positions, `[count, length]` each, of so many sequences.

    Raises:
        StudyError: there are too few different sequences.
    """
    taken: set[bytes] = set()
    splits = {}
    for split, count in counts.items():
        splits[split] = _fresh(task, split, count, taken, seed, draw)
        taken.update(row.tobytes() for row in splits[split].tokens)
    return splits


def _fresh(
    task: str,
    split: str,
    count: int,
    taken: set[bytes],
    seed: int,
    draw: Callable[[int, np.random.Generator], Sequences],
) -> Examples:
    """`count` sequences that are not in `taken`."""
    generator = stream(seed, f"{task} {split}")
    drawn = draw(count, generator)
    for _ in range(_ATTEMPTS):
        known = np.array([row.tobytes() in taken for row in drawn[0]])
        if not known.any():
            break
        for array, new in zip(drawn, draw(int(known.sum()), generator), strict=True):
            array[known] = new
    else:
        raise StudyError(
            f"{task}: length {drawn[0].shape[1]} leaves too few different sequences for separate splits; make "
            "them longer"
        )
    tokens, targets, target_positions = drawn
    lengths = np.full(count, tokens.shape[1], dtype=np.int32)
    return Examples(
        tokens=tokens,
        targets=targets,
        lengths=lengths,
        condition_lengths=np.zeros_like(lengths),
        target_positions=target_positions,
        groups=np.array([f"{split}-{number}" for number in range(count)], dtype=np.str_),
    )
