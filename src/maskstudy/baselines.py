"""The simple method that a practitioner would try first, with the access of the mask: n-gram back-off.

`neighbours` says which positions around a scored one a mask leaves visible, nearest first; `backoff_log_probabilities`
predicts the answer from the symbols that stand there. Where the answer is one of the tokens that are seen,
`bag_log_probabilities` guesses by how often each of them is.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from maskstudy.errors import StudyError

if TYPE_CHECKING:
    from maskstudy.tasks.task import Examples

_LARGEST_TABLE = 2**24  # entries, 64 MiB: looking codes up in a table is faster than searching for them


def visible_future(mask: str) -> int | None:
    """How many tokens after its own position a query sees under `mask`, all layers together; None where all of them.

        >>> visible_future("causal"), visible_future("lookahead-2"), visible_future("full")
        (0, 2, None)

    Raises:
        StudyError: what a position sees under the mask is no window around it (`prefix`), or there is no such mask.
    """
    if mask == "causal":
        return 0
    if mask == "full":
        return None
    if match := re.fullmatch(r"lookahead-([1-9]\d*)", mask):
        return int(match[1])
    raise StudyError(
        f"mask {mask!r}: what it lets a position see is no window around it, as this task's baseline and ceiling need; "
        "allowed: causal, lookahead-K (K = 1, 2, …), full"
    )


def neighbours(mask: str, reach: int) -> tuple[int, ...]:
    """Offsets of the positions around a scored one that `mask` leaves visible, nearest first, left before right.

        >>> neighbours("lookahead-1", 3)
        (-1, 1, -2, -3)

    Args:
        mask: a mask of the study.
        reach: the largest distance.

    Raises:
        StudyError: as `visible_future`.
    """
    future = visible_future(mask)
    offsets = [offset for distance in range(1, reach + 1) for offset in (-distance, distance)]
    return tuple(offset for offset in offsets if future is None or offset <= future)


def next_token_context(mask: str, reach: int) -> tuple[int, ...]:
    """Offsets of what tells the token after a position: itself, where `mask` shows it, then those before it.

        >>> next_token_context("causal", 3), next_token_context("full", 3)
        ((0, -1, -2), (1, 0, -1, -2))

    Args:
        mask: a mask of the study.
        reach: how many tokens before the answer.

    Raises:
        StudyError: as `visible_future`.
    """
    before = tuple(range(0, -reach, -1))
    return before if visible_future(mask) == 0 else (1, *before)


def backoff_log_probabilities(
    train: "Examples", test: "Examples", offsets: Sequence[int], answers: int, hidden: int | None = None
) -> NDArray[np.float64]:
    """Answers predicted from the symbols around them, by interpolated Witten–Bell back-off.

    The context of an answer grows by one symbol at a time, in the order of `offsets`. With h a context, h′ the same
    without the symbol that joined last, c the counts in `train` and T(h) the number of different answers seen with h,

        P(w | h) = (c(h, w) + T(h) · P(w | h′)) / (c(h) + T(h))

    (Witten & Bell 1991, method C; interpolated as in Chen & Goodman 1999, section 2). An unseen context says what the
    shorter one says, and below the empty context stands the uniform distribution, so that no probability is 0.

    A symbol joins only if it is known, that is inside its example and not hidden, and so are all nearer ones of
    `offsets` on its side. Where one side is cut, the context goes on growing on the other.

    Args:
        train: the examples to count in; every scored position is one count.
        test: the examples to predict in.
        offsets: where the symbols stand relative to the answer (0: at its own position), in the order of joining.
        answers: number of possible answers.
        hidden: the token that stands for a hidden symbol; None where nothing is hidden.

    Returns:
        `[scored positions of test, answers]` natural log-probabilities, by example and then by position. All are
        finite, and the probabilities of a row sum to 1.

    Raises:
        StudyError: nothing is scored in `train`.
    """
    reach = max((abs(offset) for offset in offsets), default=0)
    unknown = 1 + max(int(examples.tokens.max(initial=0)) for examples in (train, test))
    base = unknown + 1  # symbols 0 … unknown are the digits that contexts are numbered with
    train_symbols, train_answers, counted = _in_one_row(train, reach, hidden, unknown)
    test_symbols, _, asked_places = _in_one_row(test, reach, hidden, unknown)
    if not len(counted):
        raise StudyError("baseline: no answer is scored in the train split, nothing to count; prepare the data again")
    around = test_symbols[asked_places[:, None] + np.asarray(offsets, dtype=np.int64)]  # queries, offsets
    usable = _unbroken(around != unknown, offsets)
    chains = np.argsort(~usable, axis=1, kind="stable")  # queries, offsets: the usable ones first, in their order
    depths = usable.sum(axis=1)
    probabilities = np.empty((len(asked_places), answers))

    # A family of contexts takes its symbols at the same offsets. One entry: how many symbols; the scored places of
    # train whose context is of the family, and its number; the same of the queries; what the shorter contexts say.
    queries = np.arange(len(asked_places))
    uniform = np.full((1, answers), 1 / answers)
    families = [(0, counted, np.zeros_like(counted), queries, np.zeros_like(queries), uniform)]
    del counted  # lists of all places are large: each goes as soon as it has been counted
    while families:
        depth, counted, contexts, queries, asked, shorter = families.pop()
        distributions = _witten_bell(contexts, train_answers[counted], shorter)  # contexts, answers
        done = depths[queries] == depth
        probabilities[queries[done]] = distributions[asked[done]]
        queries, asked = queries[~done], asked[~done]
        joining = chains[queries, depth] if len(queries) else queries
        for choice in np.unique(joining):
            chosen = joining == choice
            longer = asked[chosen] * base + around[queries[chosen], choice]
            # Only contexts that a query needs get a number; train positions in any other drop out here.
            needed, renumbered = np.unique(longer, return_inverse=True)
            codes = contexts.astype(np.int64)
            codes *= base
            codes += train_symbols[counted + offsets[choice]]
            numbered = _renumber(codes, needed, len(distributions) * base)
            kept = numbered >= 0
            families.append(
                (depth + 1, counted[kept], numbered[kept], queries[chosen], renumbered, distributions[needed // base])
            )
    return np.log(probabilities, out=probabilities)


def bag_log_probabilities(counts: NDArray[np.integer]) -> NDArray[np.float64]:
    """Answers predicted by how often each is seen, wherever it stands: one context, smoothed as Witten & Bell do.

    With c the counts of a row, n their sum, T how many different answers are seen, and as many `answers` as columns,

        P(w) = (c(w) + T / answers) / (n + T)

    which is uniform where nothing is seen.

        >>> np.exp(bag_log_probabilities(np.array([[3, 1, 0, 0], [0, 0, 0, 0]]))).round(3)
        array([[0.583, 0.25 , 0.083, 0.083],
               [0.25 , 0.25 , 0.25 , 0.25 ]])

    Args:
        counts: `[scored positions, answers]`, of the tokens that the mask lets each position see.

    Returns:
        `[scored positions, answers]` natural log-probabilities, all finite.
    """
    answers = counts.shape[1]
    kinds = (counts > 0).sum(axis=1, keepdims=True)
    total = counts.sum(axis=1, keepdims=True) + kinds
    shares = np.divide(counts + kinds / answers, total, out=np.full(counts.shape, 1 / answers), where=total > 0)
    return np.log(shares)


def _in_one_row(
    examples: "Examples", reach: int, hidden: int | None, unknown: int
) -> tuple[NDArray[np.int32], NDArray[np.int16], NDArray[np.int32]]:
    """All symbols in one row, all targets in another, and the places in both where an answer is scored.

    Padding and hidden symbols become `unknown`, and `reach` more of them stand before, between and after the examples,
    so that no offset leads into another example.
    """
    known = np.arange(examples.tokens.shape[1]) < examples.lengths[:, None]
    if hidden is not None:
        known &= examples.tokens != hidden
    gap = ((0, 1), (reach, 0))  # one row more, so that `reach` unknown symbols follow the last example too
    symbols = np.pad(np.where(known, examples.tokens, np.int32(unknown)), gap, constant_values=unknown)
    places = np.flatnonzero(np.pad(examples.scored, gap)).astype(np.int32)
    return symbols.ravel(), np.pad(examples.targets, gap).ravel(), places


def _unbroken(known: NDArray[np.bool_], offsets: Sequence[int]) -> NDArray[np.bool_]:
    """`[queries, offsets]`, True where the symbol and all nearer ones of `offsets` on its side are known."""
    unbroken = known.copy()
    for side in (-1, 1):
        places = [place for place, offset in enumerate(offsets) if offset * side > 0]
        outward = sorted(places, key=lambda place: abs(offsets[place]))
        unbroken[:, outward] = np.logical_and.accumulate(known[:, outward], axis=1)
    return unbroken


def _renumber(codes: NDArray[np.int64], needed: NDArray[np.int64], possible: int) -> NDArray[np.int32]:
    """Where each code, one of 0 … `possible` − 1, stands in `needed` (ascending); -1 where it does not."""
    if possible <= _LARGEST_TABLE:
        table = np.full(possible, -1, dtype=np.int32)
        table[needed] = np.arange(len(needed), dtype=np.int32)
        return table[codes]
    found = np.searchsorted(needed, codes).astype(np.int32)
    found[found == len(needed)] = 0
    found[needed[found] != codes] = -1
    return found


def _witten_bell(
    contexts: NDArray[np.int32], seen_answers: NDArray[np.int16], shorter: NDArray[np.float64]
) -> NDArray[np.float64]:
    """`[contexts, answers]` probabilities: the counts of answers by context, mixed with what the shorter ones say."""
    answers = shorter.shape[1]
    codes = contexts.astype(np.int64)
    codes *= answers
    codes += seen_answers
    codes.sort()  # from here on what np.unique does, without its copies
    first = np.ones(len(codes), dtype=np.bool_)
    np.not_equal(codes[1:], codes[:-1], out=first[1:])
    starts = np.flatnonzero(first)
    pairs, counts = codes[starts], np.diff(starts, append=len(codes))
    owners = pairs // answers
    kinds = np.bincount(owners, minlength=len(shorter))
    total = kinds + np.bincount(owners, weights=counts, minlength=len(shorter))
    share = np.divide(kinds, total, out=np.ones(len(shorter)), where=total > 0)
    mixed = shorter * share[:, None]
    mixed.ravel()[pairs] += counts / total[owners]
    return mixed
