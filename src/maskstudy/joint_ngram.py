"""A joint n-gram: the method that one would try first on letters and phonemes, without any network.

A word and its pronunciation are cut together into *units* of one or two letters and none to two phonemes, such as
`ph|F` or `x|K S`. Where to cut is learned by expectation maximisation (Deligne & Bimbot 1995; Bisani & Ney 2008,
"Joint-sequence models for grapheme-to-phoneme conversion", Speech Communication 50, §3). What follows on the units so
far is an n-gram with interpolated Witten–Bell back-off, as in `baselines`. A word is pronounced by the likeliest units
that spell it, which a beam search looks for.

    >>> letters = {"f": 0, "i": 1, "n": 2, "p": 3, "h": 4}
    >>> words = [[letters[letter] for letter in word] for word in ("fin", "in", "phi", "if", "phin")]
    >>> model = train(words, [(0, 1, 2), (1, 2), (0, 1), (1, 0), (0, 1, 2)], order=2)
    >>> write(model, [[letters[letter] for letter in "niph"]])
    [[2, 1, 0]]
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Symbols = Sequence[int]
Unit = tuple[tuple[int, ...], tuple[int, ...]]  # letters, phonemes

SIZES = ((1, 0), (1, 1), (1, 2), (2, 1))  # letters and phonemes of a unit
ITERATIONS = 6  # of expectation maximisation
ORDER = 6  # units of an n-gram
BEAM = 12  # beginnings that are kept
CANDIDATES = (20, 8)  # units that are tried for one letter and for two, the most frequent ones
_NOTHING = -1  # no unit, no context


# --- where to cut -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Group:
    """Words of one length whose pronunciations have one length.

    Attributes:
        rows: `[words]`, their numbers.
        codes: for each of `SIZES`, `[words, letters, phonemes + 1]`: the number of the unit that takes its letters from
            the one place on and its phonemes from the other; `_NOTHING` where there are not so many.
    """

    rows: NDArray[np.int64]
    codes: tuple[NDArray[np.int64], ...]


def _groups(sources: Sequence[Symbols], targets: Sequence[Symbols]) -> Iterator[_Group]:
    """The words by their two lengths; left out are those that no units can spell and pronounce."""
    letters = 1 + max(letter for source in sources for letter in source)
    phonemes = 1 + max((phoneme for target in targets for phoneme in target), default=0)
    lengths = np.array([(len(source), len(target)) for source, target in zip(sources, targets, strict=True)])
    for long, wide in np.unique(lengths, axis=0):
        if long > 0 and wide <= 2 * long:
            rows = np.flatnonzero((lengths == (long, wide)).all(1))
            source, target = (
                np.array([each[row] for row in rows.tolist()], dtype=np.int64).reshape(len(rows), -1)
                for each in (sources, targets)
            )
            yield _Group(rows, tuple(_codes(source, target, size, letters, phonemes) for size in SIZES))


def _codes(
    source: NDArray[np.int64], target: NDArray[np.int64], size: tuple[int, int], letters: int, phonemes: int
) -> NDArray[np.int64]:
    """Of all units of one size, each number for one unit alone: letters and phonemes are the digits, 0 for none."""
    rows, long = source.shape
    wide = target.shape[1]
    codes = np.full((rows, long, wide + 1), _NOTHING, dtype=np.int64)
    some_letters, some_phonemes = long - size[0] + 1, wide - size[1] + 1
    if some_letters < 1 or some_phonemes < 1:
        return codes
    number = np.zeros((rows, some_letters, some_phonemes), dtype=np.int64)
    for place in range(2):
        digit = source[:, place : place + some_letters, None] + 1 if place < size[0] else 0
        number = number * (letters + 1) + digit
    for place in range(2):
        digit = target[:, None, place : place + some_phonemes] + 1 if place < size[1] else 0
        number = number * (phonemes + 1) + digit
    codes[:, :some_letters, :some_phonemes] = number
    return codes


def _decode(code: int, letters: int, phonemes: int) -> Unit:
    """The unit of a number."""
    digits = []
    for base in (phonemes + 1, phonemes + 1, letters + 1, letters + 1):
        code, digit = divmod(code, base)
        digits.append(digit)
    spelled, sounded = digits[:1:-1], digits[1::-1]
    return tuple(digit - 1 for digit in spelled if digit), tuple(digit - 1 for digit in sounded if digit)


def _steps(weights: tuple[NDArray[np.float64], ...], letter: int) -> Iterator[tuple[int, int, NDArray[np.float64]]]:
    """The units that begin at a letter: how many letters and phonemes they take, and their weights by phoneme."""
    long, places = weights[0].shape[1:]
    for (some_letters, some_phonemes), weight in zip(SIZES, weights, strict=True):
        if letter + some_letters <= long and some_phonemes < places:
            yield some_letters, some_phonemes, weight[:, letter, : places - some_phonemes]


def _expected(group: _Group, probabilities: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """How often each unit is used in the group, in expectation over all ways to cut: codes and counts.

    Forward–backward over letters; all phonemes of all words at once.
    """
    weights = tuple(np.where(codes >= 0, probabilities[codes], 0.0) for codes in group.codes)
    rows, long, places = group.codes[0].shape
    forward = np.zeros((rows, long + 1, places))
    backward = np.zeros_like(forward)
    forward[:, 0, 0] = backward[:, long, places - 1] = 1.0
    for letter in range(long):
        for some_letters, some_phonemes, weight in _steps(weights, letter):
            begun = forward[:, letter, : places - some_phonemes] * weight
            forward[:, letter + some_letters, some_phonemes:] += begun
    for letter in reversed(range(long)):
        for some_letters, some_phonemes, weight in _steps(weights, letter):
            rest = backward[:, letter + some_letters, some_phonemes:] * weight
            backward[:, letter, : places - some_phonemes] += rest
    whole = forward[:, long, places - 1][:, None]  # words, 1
    used, counts = [], []
    for codes, (some_letters, some_phonemes), weight in zip(group.codes, SIZES, weights, strict=True):
        if some_phonemes < places and some_letters <= long:
            inside = (slice(None), slice(0, long - some_letters + 1), slice(0, places - some_phonemes))
            share = forward[:, : long - some_letters + 1, : places - some_phonemes] * weight[inside]
            share *= backward[:, some_letters:, some_phonemes:]
            used.append(codes[inside].ravel())
            counts.append((share / whole[..., None]).ravel())
    return np.concatenate(used), np.concatenate(counts)


def _likeliest(group: _Group, probabilities: NDArray[np.float64]) -> list[list[int]]:
    """The likeliest way to cut each word of the group, as codes of units."""
    weights = tuple(np.where(codes >= 0, probabilities[codes], 0.0) for codes in group.codes)
    rows, long, places = group.codes[0].shape
    best = np.zeros((rows, long + 1, places))
    best[:, 0, 0] = 1.0
    chosen = np.zeros(best.shape, dtype=np.int8)  # which of SIZES leads there
    for letter in range(long):
        for number, (size, weight) in enumerate(zip(SIZES, weights, strict=True)):
            if letter + size[0] <= long and size[1] < places:
                reached = (slice(None), letter + size[0], slice(size[1], None))
                offered = best[:, letter, : places - size[1]] * weight[:, letter, : places - size[1]]
                better = offered > best[reached]
                best[reached] = np.where(better, offered, best[reached])
                chosen[reached] = np.where(better, number, chosen[reached])
    cut = []
    for row in range(rows):
        letter, phoneme, units = long, places - 1, list[int]()
        while letter:
            number = chosen[row, letter, phoneme]
            letter, phoneme = letter - SIZES[number][0], phoneme - SIZES[number][1]
            units.append(int(group.codes[number][row, letter, phoneme]))
        cut.append(units[::-1])
    return cut


def aligned(sources: Sequence[Symbols], targets: Sequence[Symbols], iterations: int = ITERATIONS) -> list[list[Unit]]:
    """The likeliest units of each pair, after expectation maximisation from equal probabilities.

    Args:
        sources: letters of each word, numbered from 0.
        targets: phonemes of each word, numbered from 0.
        iterations: of expectation maximisation.

    Returns:
        For each pair its units, in order; none where no units spell and pronounce it.
    """
    groups = list(_groups(sources, targets))
    every = np.unique(np.concatenate([codes[codes >= 0] for group in groups for codes in group.codes]))
    dense = [  # from here on units are numbered without gaps
        _Group(group.rows, tuple(np.where(codes >= 0, np.searchsorted(every, codes), codes) for codes in group.codes))
        for group in groups
    ]
    probabilities = np.full(len(every), 1 / len(every))
    for _ in range(iterations):
        totals = np.zeros(len(every))
        for group in dense:
            used, counts = _expected(group, probabilities)
            np.add.at(totals, used, counts)
        probabilities = totals / totals.sum()
    letters = 1 + max(letter for source in sources for letter in source)
    phonemes = 1 + max((phoneme for target in targets for phoneme in target), default=0)
    unit = [_decode(int(code), letters, phonemes) for code in every]
    cut: list[list[Unit]] = [[] for _ in sources]
    for group in dense:
        for row, codes in zip(group.rows, _likeliest(group, probabilities), strict=True):
            cut[row] = [unit[code] for code in codes]
    return cut


# --- what follows -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Level:
    """Counts after contexts of one length. A context is numbered by what it adds to the shorter one: its oldest unit.

    Attributes:
        contexts: sorted `number of the shorter context * base + oldest unit`; a context's number is its place here.
        pairs: sorted `number of the context * base + unit that follows`.
        counts: `[pairs]`.
        totals: `[contexts]`, how often anything follows.
        kinds: `[contexts]`, how many different units follow.
    """

    contexts: NDArray[np.int64]
    pairs: NDArray[np.int64]
    counts: NDArray[np.float64]
    totals: NDArray[np.float64]
    kinds: NDArray[np.float64]


@dataclass(frozen=True)
class JointNgram:
    """A trained joint n-gram.

    Attributes:
        units: what each number stands for; the last two are no units but the end of a word and what stands before it.
        levels: of contexts of no unit, one, two, …
        candidates: letters -> the units that spell them, the most frequent ones first.
    """

    units: list[Unit]
    levels: list[_Level]
    candidates: dict[tuple[int, ...], list[int]]

    @property
    def base(self) -> int:
        """One more than the largest number of a unit."""
        return len(self.units)

    @property
    def end(self) -> int:
        """The number of the end of a word."""
        return len(self.units) - 2

    def probabilities(self, history: NDArray[np.int64], following: NDArray[np.int64]) -> NDArray[np.float64]:
        """P(unit | the units before it), by interpolated Witten–Bell back-off down to equal probabilities.

        Args:
            history: `[..., order - 1]`, the units before, the newest last.
            following: `[..., units]`, the units that are asked about.

        Returns:
            `[..., units]`.
        """
        context = np.zeros(history.shape[:-1], dtype=np.int64)
        found = np.full(following.shape, 1 / (self.base - 1))  # every unit, or the end
        for depth, level in enumerate(self.levels):
            if depth:
                longer = context * self.base + history[..., -depth]
                context = np.where(context >= 0, _place(level.contexts, longer), _NOTHING)
            known = context >= 0
            here = context[known]  # contexts
            place = _place(level.pairs, here[:, None] * self.base + following[known])
            counts = np.where(place >= 0, level.counts[place], 0.0)
            kinds, totals = level.kinds[here][:, None], level.totals[here][:, None]
            found[known] = (counts + kinds * found[known]) / (totals + kinds)
        return found


def train(
    sources: Sequence[Symbols], targets: Sequence[Symbols], order: int = ORDER, iterations: int = ITERATIONS
) -> JointNgram:
    """Cut all words into units and count which follows on which.

    Args:
        sources: letters of each word, numbered from 0, at least one each.
        targets: phonemes of each word, numbered from 0.
        order: units of an n-gram, the one that is asked about included.
        iterations: of expectation maximisation.
    """
    cut = [units for units in aligned(sources, targets, iterations) if units]
    silent: list[Unit] = [((letter,), ()) for letter in {letter for source in sources for letter in source}]
    frequency = dict.fromkeys(silent, 0)  # so that everything can be spelled
    for units in cut:
        for unit in units:
            frequency[unit] = frequency.get(unit, 0) + 1
    ranked = sorted(frequency, key=lambda unit: (-frequency[unit], unit))
    number = {unit: place for place, unit in enumerate(ranked)}
    end, before = len(ranked), len(ranked) + 1
    row = np.array([each for units in cut for each in (*[before] * (order - 1), *(number[u] for u in units), end)])
    candidates: dict[tuple[int, ...], list[int]] = {}
    for unit in ranked:
        known = candidates.setdefault(unit[0], [])
        if len(known) < CANDIDATES[len(unit[0]) - 1] or unit in silent:
            known.append(number[unit])
    return JointNgram([*ranked, ((), ()), ((), ())], _counted(row, order, before), candidates)


def _counted(row: NDArray[np.int64], order: int, before: int) -> list[_Level]:
    """The counts of all words, which stand one after another, `order - 1` times `before` in front of each."""
    base = before + 1
    asked = np.flatnonzero(row != before)
    context = np.zeros(len(asked), dtype=np.int64)
    levels = []
    for depth in range(order):
        codes = context * base + (row[asked - depth] if depth else 0)
        contexts, context = np.unique(codes, return_inverse=True)
        pairs, which = np.unique(context * base + row[asked], return_inverse=True)
        counts = np.bincount(which).astype(np.float64)
        owners = pairs // base
        totals = np.bincount(owners, weights=counts, minlength=len(contexts)).astype(np.float64)
        kinds = np.bincount(owners, minlength=len(contexts)).astype(np.float64)
        levels.append(_Level(contexts, pairs, counts, totals, kinds))
    return levels


def _place(table: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each code stands in a sorted table; `_NOTHING` where it does not."""
    places = np.minimum(np.searchsorted(table, codes), len(table) - 1)
    return np.where(table[places] == codes, places, _NOTHING)


# --- how it is written ------------------------------------------------------------------------------------------------


def write(model: JointNgram, sources: Sequence[Symbols], beam: int = BEAM) -> list[list[int]]:
    """The phonemes of the likeliest units that spell each word, as far as a beam search finds them.

    Args:
        model: of `train`.
        sources: letters of each word; those that never stood in a word of train are left out.
        beam: beginnings that are kept at each letter.
    """
    known = [[letter for letter in source if (letter,) in model.candidates] for source in sources]
    written: list[list[int]] = [[] for _ in sources]
    lengths = np.array([len(source) for source in known])
    for length in np.unique(lengths[lengths > 0]):
        rows = np.flatnonzero(lengths == length)
        found = _search(model, np.array([known[row] for row in rows], dtype=np.int64), beam)
        for row, units in zip(rows, found, strict=True):
            written[row] = [phoneme for unit in units for phoneme in model.units[unit][1]]
    return written


@dataclass(frozen=True)
class _Beginnings:
    """Ways to spell the first letters of words of one length.

    Attributes:
        scores: `[words, beginnings]`, natural logarithms.
        units: `[words, beginnings, order + letters]`, those before a word, then those used, the newest last.
    """

    scores: NDArray[np.float64]
    units: NDArray[np.int64]

    def best(self, count: int) -> "_Beginnings":
        """The likeliest of each word, the first of equals."""
        order = np.argsort(-self.scores, axis=1, kind="stable")[:, :count]
        units = np.take_along_axis(self.units, order[..., None], axis=1)
        return _Beginnings(np.take_along_axis(self.scores, order, axis=1), units)


def _search(model: JointNgram, sources: NDArray[np.int64], beam: int) -> list[list[int]]:
    """The units of each of the words `[words, letters]`."""
    words, length = sources.shape
    history = len(model.levels) - 1
    nothing_yet = np.full((words, 1, history + length + 1), model.base - 1, dtype=np.int64)
    waiting: list[list[_Beginnings]] = [[] for _ in range(length + 1)]
    waiting[0].append(_Beginnings(np.zeros((words, 1)), nothing_yet))
    for letter in range(length):
        begun = _joined(waiting[letter]).best(beam)
        for taken in (1, 2):
            if letter + taken <= length:
                spelled = sources[:, letter : letter + taken].tolist()
                tried = _padded([model.candidates.get(tuple(letters), []) for letters in spelled])
                waiting[letter + taken].append(_gone_on(model, begun, tried, history))
    whole = _joined(waiting[length]).best(beam)
    ended = _gone_on(model, whole, np.full((words, 1), model.end), history).best(1)
    return [[unit for unit in row if unit < model.end] for row in ended.units[:, 0].tolist()]


def _gone_on(model: JointNgram, begun: _Beginnings, tried: NDArray[np.int64], history: int) -> _Beginnings:
    """Every beginning with every unit `[words, units]` after it."""
    words, count, length = begun.units.shape
    asked = np.broadcast_to(tried[:, None], (words, count, tried.shape[1]))
    said = model.probabilities(begun.units[..., length - history :], asked)
    scores = begun.scores[..., None] + np.where(asked >= 0, np.log(said), -np.inf)
    older = np.broadcast_to(begun.units[:, :, None, 1:], (*asked.shape, length - 1))
    units = np.concatenate([older, asked[..., None]], axis=-1)
    return _Beginnings(scores.reshape(words, -1), units.reshape(words, -1, length))


def _joined(parts: list[_Beginnings]) -> _Beginnings:
    scores, units = ([getattr(part, name) for part in parts] for name in ("scores", "units"))
    return _Beginnings(np.concatenate(scores, axis=1), np.concatenate(units, axis=1))


def _padded(rows: list[list[int]]) -> NDArray[np.int64]:
    """Rows of different lengths as a matrix, filled up with `_NOTHING`."""
    matrix = np.full((len(rows), max(1, *map(len, rows))), _NOTHING, dtype=np.int64)
    for place, row in enumerate(rows):
        matrix[place, : len(row)] = row
    return matrix
