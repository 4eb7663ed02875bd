import doctest
import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskstudy import joint_ngram
from maskstudy.joint_ngram import SIZES, aligned, train, write

quick = settings(deadline=None, max_examples=30)


def test_the_worked_example():
    result = doctest.testmod(joint_ngram)
    assert result.attempted
    assert not result.failed


def drawn(seed, count=12, letters=3, phonemes=2, longest=4):
    generator = np.random.default_rng(seed)
    sources = [generator.integers(0, letters, generator.integers(1, longest + 1)).tolist() for _ in range(count)]
    targets = [generator.integers(0, phonemes, generator.integers(0, len(source) + 2)).tolist() for source in sources]
    return sources, [tuple(target) for target in targets]


def every_cut(source, target):
    """All ways to cut a pair into units."""
    if not source:
        return [] if target else [[]]
    found = []
    for letters, phonemes in SIZES:
        if letters <= len(source) and phonemes <= len(target):
            unit = tuple(source[:letters]), tuple(target[:phonemes])
            found += [[unit, *rest] for rest in every_cut(source[letters:], target[phonemes:])]
    return found


def by_enumeration(sources, targets, iterations):
    """Expectation maximisation over all ways to cut, one by one; the probabilities of units."""
    pairs = [(source, target) for source, target in zip(sources, targets, strict=True) if every_cut(source, target)]
    cuts = [every_cut(source, target) for source, target in pairs]
    units = {
        (tuple(source[letter : letter + letters]), tuple(target[phoneme : phoneme + phonemes]))
        for source, target in pairs
        for letters, phonemes in SIZES
        for letter in range(len(source) - letters + 1)
        for phoneme in range(len(target) - phonemes + 1)
    }
    probabilities = dict.fromkeys(units, 1 / len(units))
    for _ in range(iterations):
        totals = Counter()
        for found in cuts:
            weights = [math.prod(probabilities[unit] for unit in cut) for cut in found]
            for cut, weight in zip(found, weights, strict=True):
                for unit in cut:
                    totals[unit] += weight / sum(weights)
        probabilities = {unit: totals[unit] / totals.total() for unit in units}
    return probabilities


# --- where to cut -----------------------------------------------------------------------------------------------------


@quick
@given(st.integers(0, 2**31), st.integers(1, 4))
def test_the_cut_is_the_likeliest_of_all_after_expectation_maximisation(seed, iterations):
    sources, targets = drawn(seed)
    probabilities = by_enumeration(sources, targets, iterations)
    for source, target, units in zip(sources, targets, aligned(sources, targets, iterations), strict=True):
        cuts = every_cut(source, list(target))
        if not cuts:
            assert units == []
            continue
        assert [letter for unit in units for letter in unit[0]] == source
        assert [phoneme for unit in units for phoneme in unit[1]] == list(target)
        best = max(math.prod(probabilities[unit] for unit in cut) for cut in cuts)
        assert math.prod(probabilities[unit] for unit in units) == pytest.approx(best, rel=1e-9)


def test_a_word_with_far_more_phonemes_than_letters_is_left_out():
    assert aligned([[0], [0, 1]], [(0, 1, 0), (0, 1)])[0] == []
    assert write(train([[0], [0, 1]], [(0, 1, 0), (0, 1)]), [[0, 1]]) == [[0, 1]]


# --- what follows -----------------------------------------------------------------------------------------------------


def formula(cut, order, history, unit, kinds_of_units):
    """Witten–Bell as it reads, from counts of the cut words; `history` newest last."""
    rows = [["before"] * (order - 1) + units + ["end"] for units in cut if units]
    found = 1 / kinds_of_units
    for depth in range(order):
        context = history[len(history) - depth :]
        following = Counter(
            row[place] for row in rows for place in range(order - 1, len(row)) if row[place - depth : place] == context
        )
        if following:
            found = (following[unit] + len(following) * found) / (following.total() + len(following))
    return found


@quick
@given(st.integers(0, 2**31), st.integers(1, 4))
def test_probabilities_are_those_of_the_formula_and_sum_to_1(seed, order):
    sources, targets = drawn(seed, count=8)
    model, cut = train(sources, targets, order), aligned(sources, targets)
    generator = np.random.default_rng(seed)
    names = [*model.units[: model.end], "end", "before"]
    for _ in range(10):
        begun = int(generator.integers(0, order))  # units since the word began
        history = [model.end + 1] * (order - 1 - begun) + generator.integers(0, model.end, begun).tolist()
        asked = np.arange(model.end + 1)
        found = model.probabilities(np.array(history, dtype=np.int64), asked)
        assert found.sum() == pytest.approx(1)
        past = [names[unit] for unit in history]
        expected = [formula(cut, order, past, names[unit], model.end + 1) for unit in asked]
        np.testing.assert_allclose(found, expected, rtol=1e-9)


# --- how it is written ------------------------------------------------------------------------------------------------


def score(model, order, units):
    history, total = [model.end + 1] * (order - 1), 0.0
    for unit in [*units, model.end]:
        past = np.array(history[len(history) - order + 1 :], dtype=np.int64)
        total += math.log(model.probabilities(past, np.array([unit]))[0])
        history.append(unit)
    return total


def spellings(model, source):
    """All units that spell a word."""
    if not source:
        return [[]]
    found = []
    for taken in (1, 2):
        for unit in model.candidates.get(tuple(source[:taken]), []) if taken <= len(source) else []:
            found += [[unit, *rest] for rest in spellings(model, source[taken:])]
    return found


@settings(deadline=None, max_examples=12)
@given(st.integers(0, 2**31), st.integers(1, 3))
def test_a_wide_beam_finds_the_likeliest_units_of_all(seed, order):
    sources, targets = drawn(seed, longest=3)
    model = train(sources, targets, order)
    asked = [list(source) for source in itertools.product(sorted({n for s in sources for n in s}), repeat=3)][:6]
    for source, phonemes in zip(asked, write(model, asked, beam=10_000), strict=True):
        scores = {}
        for units in spellings(model, source):
            spoken = tuple(phoneme for unit in units for phoneme in model.units[unit][1])
            scores[spoken] = max(scores.get(spoken, -math.inf), score(model, order, units))
        assert scores[tuple(phonemes)] == pytest.approx(max(scores.values()), abs=1e-9)


def test_a_regular_spelling_is_learned():
    """Two letters that sound together, one that is silent at the end, one that stands for two sounds."""
    sounds = {"ph": "F", "f": "F", "x": "KS", "a": "A", "t": "T", "i": "I", "e": ""}
    generator = np.random.default_rng(0)
    words = []
    for _ in range(300):
        parts = list(generator.choice(["ph", "f", "x", "a", "t", "i"], generator.integers(2, 5)))
        parts += ["e"] if generator.random() < 0.3 else []
        words.append(("".join(parts), "".join(sounds[part] for part in parts)))
    letters, phonemes = ("".join(sorted(set("".join(each)))) for each in zip(*words, strict=True))
    pairs = [([letters.index(x) for x in word], tuple(phonemes.index(x) for x in said)) for word, said in words]
    model = train(*zip(*pairs[:250], strict=True))
    found = write(model, [source for source, _ in pairs[250:]])
    right = [tuple(said) == target for said, (_, target) in zip(found, pairs[250:], strict=True)]
    assert np.mean(right) > 0.95


def test_letters_never_seen_are_left_out_and_the_same_is_written_in_any_company():
    sources, targets = drawn(1, count=30)
    model = train(sources, targets)
    together = write(model, [*sources, [99], [sources[0][0], 99]])
    assert together[-2] == []
    assert together[-1] == write(model, [sources[0][:1]])[0]
    assert together[:-2] == [write(model, [source])[0] for source in sources]


def test_units_that_are_rare_among_many_are_not_tried_but_every_letter_can_be_silent(monkeypatch):
    monkeypatch.setattr(joint_ngram, "CANDIDATES", (1, 1))
    sources, targets = drawn(2, count=40)
    model = train(sources, targets)
    for letters, units in model.candidates.items():
        assert len(units) <= (2 if len(letters) == 1 else 1)
        if len(letters) == 1:
            assert (letters, ()) in [model.units[unit] for unit in units]
