"""Rows of different lengths as one matrix."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def padded(rows: Sequence[Sequence[int]], length: int, fill: int) -> NDArray[np.int16]:
    """`[rows, length]`, each row filled up on the right.

    >>> padded([[1, 2], [3]], 3, 9)
    array([[1, 2, 9],
           [3, 9, 9]], dtype=int16)
    """
    matrix = np.full((len(rows), length), fill, dtype=np.int16)
    for place, row in enumerate(rows):
        matrix[place, : len(row)] = row
    return matrix


def lengths(rows: Sequence[Sequence[int]]) -> NDArray[np.int32]:
    """`[rows]`, how long each is."""
    return np.array([len(row) for row in rows], dtype=np.int32)
