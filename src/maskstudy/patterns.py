"""Patterns of access by name: what a matrix is called, where it departs from what was expected, and how it is printed.

A matrix has one row a query and one column a key; True means that the query sees the key. The names are those of the
masks of the study, with what else occurs in models:

    none               nothing, not even itself
    diagonal           itself alone
    causal             itself and all keys before it
    strictly-causal    all keys before it
    anticausal         itself and all keys after it
    full               every key
    lookahead-K        itself, all keys before it and K after it
    prefix-N           the first N keys, itself and all keys before it
    window-A-B         itself, A keys before it and B after it: A + B + 1 keys
    block-N            every key of its own block, where every N positions are a block
    block-N-M-…        the same with blocks of N, M, … positions, which add up to the length
    causal-block-…     itself and the keys before it in its own block

No torch: the command line and the figures read matrices that were measured elsewhere.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maskstudy.errors import StudyError

Matrix = NDArray[np.bool_]

SEEN, UNSEEN, FORBIDDEN, MISSING = "■", "·", "✗", "○"  # the marks of a printed grid
LEGEND = f"{SEEN} seen   {UNSEEN} not seen   {FORBIDDEN} seen, but must not be   {MISSING} not seen, but must be"
_WIDE = 32  # longest side that is printed with a mark a pair; above, a character holds two queries
_LONGEST = 96  # longest side that is printed whole; above, neighbours share a character


@dataclass(frozen=True)
class Verdict:
    """What a matrix is, in a word and in a sentence.

    Attributes:
        name: of the pattern, or `other`.
        sentence: who sees whom, in plain words.
    """

    name: str
    sentence: str

    def __str__(self) -> str:
        """`name: sentence`."""
        return f"{self.name}: {self.sentence}"


# --- from a name to a matrix ------------------------------------------------------------------------------------------


def pattern(name: str, length: int) -> Matrix:
    """The matrix of the pattern with this name.

    Args:
        name: one of the names above.
        length: positions.

    Returns:
        `[length, length]` bool.

    Raises:
        StudyError: there is no such pattern, or its blocks do not add up to `length`.
    """
    query, key = np.arange(length)[:, None], np.arange(length)[None, :]
    if name in _FIXED:
        return np.asarray(_FIXED[name](query, key))
    family, numbers = _numbers(name)
    if family == "lookahead" and len(numbers) == 1:
        return key <= query + numbers[0]
    if family == "prefix" and len(numbers) == 1:
        return (key <= query) | (key < numbers[0])
    if family == "window" and len(numbers) == 2:
        return (key >= query - numbers[0]) & (key <= query + numbers[1])
    if family in ("block", "causal-block") and numbers and min(numbers) > 0:
        document = _documents(name, numbers, length)
        together = document[:, None] == document[None, :]
        return together & (key <= query) if family == "causal-block" else together
    raise StudyError(
        f"pattern {name!r} is not known; use one of {', '.join(_FIXED)}, lookahead-K, prefix-N, window-A-B, "
        "block-N, block-N-M-…, causal-block-N or causal-block-N-M-…"
    )


_FIXED: dict[str, Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.bool_]]] = {
    "none": lambda query, key: (query < 0) & (key < 0),
    "diagonal": lambda query, key: key == query,
    "causal": lambda query, key: key <= query,
    "strictly-causal": lambda query, key: key < query,
    "anticausal": lambda query, key: key >= query,
    "full": lambda query, key: (query >= 0) & (key >= 0),
}


def as_matrix(expected: str | ArrayLike, length: int) -> Matrix:
    """What is expected, as a matrix: a name of a pattern, or a `[length, length]` boolean matrix, True = sees.

    Raises:
        StudyError: an unknown name, another shape, or values that are not boolean.
    """
    if isinstance(expected, str):
        return pattern(expected, length)
    matrix = np.asarray(expected)
    if matrix.dtype != np.bool_ or matrix.shape != (length, length):
        raise StudyError(
            f"a boolean matrix of shape ({length}, {length}) or the name of a pattern is expected, "
            f"not {matrix.dtype} of shape {matrix.shape}; True means that the query (row) sees the key (column)"
        )
    return matrix


def _numbers(name: str) -> tuple[str, list[int]]:
    """`block-3-4` -> `block`, [3, 4]; a name of another form has no numbers."""
    match = re.fullmatch(r"([a-z]+(?:-[a-z]+)*)((?:-\d+)+)", name)
    return (match[1], [int(number) for number in match[2][1:].split("-")]) if match else (name, [])


def _documents(name: str, sizes: list[int], length: int) -> NDArray[np.int64]:
    """The number of the block of each position."""
    if len(sizes) == 1:
        return np.arange(length) // sizes[0]
    if sum(sizes) != length:
        raise StudyError(f"the blocks of {name!r} hold {sum(sizes)} positions, but there are {length}")
    return np.repeat(np.arange(len(sizes)), sizes)


# --- from a matrix to a name ------------------------------------------------------------------------------------------


def verdict(matrix: Matrix) -> Verdict:
    """The plainest pattern that the matrix is, or `other` with the one that it comes nearest to.

    Args:
        matrix: `[length, length]` bool.
    """
    length = len(matrix)
    candidates = list(_candidates(matrix))
    for name in candidates:
        if np.array_equal(pattern(name, length), matrix):
            return Verdict(name, _sentence(name))
    distances = {name: int((pattern(name, length) != matrix).sum()) for name in candidates}
    nearest = min(candidates, key=lambda name: distances[name])
    query, key = first_difference(matrix, pattern(nearest, length)) or (0, 0)
    does = "sees" if matrix[query, key] else "does not see"
    return Verdict(
        "other",
        f"{int(matrix.sum())} of {matrix.size} pairs are seen; nearest is {nearest}, which differs at "
        f"{_count(distances[nearest], 'pair')}, first where query {query} {does} key {key}",
    )


def _candidates(matrix: Matrix) -> Iterator[str]:
    """Names that the matrix may have, the plainest first; their numbers are read off its edges."""
    yield from ("full", "causal", "diagonal", "none", "strictly-causal", "anticausal")
    query, key = np.nonzero(matrix)
    if not len(query):
        return
    # The widest reach is exact if the matrix has the pattern; the commonest one finds what an outlier departs from.
    reaches = dict.fromkeys([(int((query - key).max()), int((key - query).max())), _commonest_reach(matrix)])
    for _, after in reaches:
        if after > 0:
            yield f"lookahead-{after}"
    for keys in (matrix, matrix[:1]):
        yield f"prefix-{_leading(np.asarray(keys.all(0)))}"
    sizes = _block_sizes(matrix)
    for family in ("block", "causal-block"):
        if len(sizes) > 1:
            even = all(size == sizes[0] for size in sizes[:-1]) and sizes[-1] <= sizes[0]
            yield "-".join([family, *map(str, sizes[:1] if even else sizes)])
    for before, after in reaches:
        if min(before, after) >= 0 and max(before, after) > 0:
            yield f"window-{before}-{after}"


def _leading(seen: NDArray[np.bool_]) -> int:
    """How many of the first keys are seen."""
    return len(seen) if seen.all() else int(np.argmin(seen))


def _commonest_reach(matrix: Matrix) -> tuple[int, int]:
    """How many keys before and after itself most queries see, of those whose reach the ends of the row do not cut."""
    queries = np.flatnonzero(matrix.any(1))
    first, last = matrix[queries].argmax(1), len(matrix) - 1 - matrix[queries, ::-1].argmax(1)
    return _commonest((queries - first)[first > 0]), _commonest((last - queries)[last < len(matrix) - 1])


def _commonest(reaches: NDArray[np.int64]) -> int:
    return int(np.bincount(np.maximum(reaches, 0)).argmax()) if len(reaches) else 0


def _block_sizes(matrix: Matrix) -> list[int]:
    """Sizes of the smallest runs of neighbouring positions between which nothing is seen in either direction."""
    length = len(matrix)
    linked = matrix | matrix.T
    reach = np.array([max([query, *np.flatnonzero(linked[query])]) for query in range(length)])
    ends = np.flatnonzero(np.maximum.accumulate(reach) == np.arange(length)) + 1
    return [int(size) for size in np.diff(ends, prepend=0)]


def _sentence(name: str) -> str:
    """The pattern in plain words."""
    if name in _SENTENCES:
        return _SENTENCES[name]
    family, numbers = _numbers(name)
    if family == "lookahead":
        return f"each query sees itself, every key before it and {_count(numbers[0], 'key')} after it"
    if family == "prefix":
        return f"each query sees the first {_count(numbers[0], 'key')}, itself and every key before it"
    if family == "window":
        sides = [
            f"{_count(keys, 'key')} {side} it" for keys, side in zip(numbers, ("before", "after"), strict=True) if keys
        ]
        return "each query sees " + " and ".join([", ".join(["itself", *sides[:-1]]), sides[-1]])
    blocks = f"blocks of {' + '.join(map(str, numbers))} positions do not see each other"
    return f"{blocks}; inside, a query sees {'every key' if family == 'block' else 'itself and every key before it'}"


_SENTENCES = {
    "none": "nothing influences anything, not even itself",
    "diagonal": "each query sees itself alone",
    "causal": "each query sees itself and every key before it",
    "strictly-causal": "each query sees every key before it, but not itself",
    "anticausal": "each query sees itself and every key after it",
    "full": "each query sees every key",
}


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


# --- where two matrices differ ----------------------------------------------------------------------------------------


def first_difference(matrix: Matrix, expected: Matrix) -> tuple[int, int] | None:
    """The first (query, key) at which two matrices differ: a key that must not be seen before one that is missing."""
    for wrong in (matrix & ~expected, expected & ~matrix):
        if wrong.any():
            query, key = np.argwhere(wrong)[0]
            return int(query), int(key)
    return None


# --- printed ----------------------------------------------------------------------------------------------------------


def grid(matrix: Matrix, expected: Matrix | None = None) -> str:
    """The matrix as text, queries down and keys across.

    Up to 32 positions every pair has its own mark, `■` seen and `·` not seen; where `expected` says otherwise, `✗` is
    seen but must not be and `○` is not seen but must be. Longer ones are drawn with two queries a line; beyond 96
    positions neighbouring positions share a character, full where all pairs are seen and shaded where some are.

    Args:
        matrix: `[length, length]` bool.
        expected: of the same shape; None where nothing is expected.
    """
    length = len(matrix)
    if length <= _WIDE:
        return _grid_of_marks(matrix, matrix if expected is None else expected)
    step = -(-length // _LONGEST)
    if step == 1:
        return _grid_of_halves(matrix)
    return _grid_of_shares(matrix, step)


def _grid_of_marks(matrix: Matrix, expected: Matrix) -> str:
    length = len(matrix)
    digits = len(str(length - 1))
    marks = np.where(matrix, np.where(expected, SEEN, FORBIDDEN), np.where(expected, MISSING, UNSEEN))
    left = len("query ") + digits
    lines = [" " * (left + 2) + "key", " " * left + "".join(f" {key:>{digits}}" for key in range(length))]
    for query, row in enumerate(marks):
        label = f"{'query ' if query == 0 else '':<6}{query:>{digits}}"
        lines.append(label + "".join(f" {mark:>{digits}}" for mark in row))
    return "\n".join(lines)


def _grid_of_halves(matrix: Matrix) -> str:
    length = len(matrix)
    padded = np.vstack([matrix, np.zeros((length % 2, length), dtype=bool)])
    lines = [f"{'key':>13}s 0 … {length - 1}"]
    for query in range(0, length, 2):
        upper, lower = padded[query], padded[query + 1]
        label = f"{'query ' if query == 0 else '':<6}{query:>3} "
        lines.append(label + "".join(" ▄▀█"[2 * above + below] for above, below in zip(upper, lower, strict=True)))
    return "\n".join(f"{line}│" if number else line for number, line in enumerate(lines))


def _grid_of_shares(matrix: Matrix, step: int) -> str:
    length = len(matrix)
    lines = [f"{'key':>15}s 0 … {length - 1}, {step} a character; {2 * step} queries a line"]
    for query in range(0, length, 2 * step):
        shares = [matrix[query : query + 2 * step, key : key + step].mean() for key in range(0, length, step)]
        label = f"{'query ' if query == 0 else '':<6}{query:>5} "
        lines.append(label + "".join("█" if share == 1 else "▒" if share else " " for share in shares) + "│")
    return "\n".join(lines)
