"""The n-gram baseline against a slow one that is the textbook's recursion, word for word."""

import doctest
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskstudy import baselines
from maskstudy.baselines import backoff_log_probabilities, bag_log_probabilities, neighbours, visible_future
from maskstudy.errors import StudyError
from maskstudy.tasks.task import NOT_SCORED, NOWHERE, Examples

HIDDEN, PAD = 3, 4  # after the symbols 0, 1, 2
ANSWERS = 4


def examples(tokens, targets, lengths):
    tokens = np.asarray(tokens, dtype=np.int16)
    return Examples(
        tokens=tokens,
        targets=np.asarray(targets, dtype=np.int16),
        lengths=np.asarray(lengths, dtype=np.int32),
        condition_lengths=np.zeros(len(tokens), dtype=np.int32),
        target_positions=np.full(tokens.shape, NOWHERE, dtype=np.int16),
    )


def drawn(generator, count, length, hidden_share):
    """Padded examples with some symbols hidden; answers depend on the neighbours, and some positions have none."""
    lengths = generator.integers(1, length + 1, count)
    tokens = generator.integers(0, 3, (count, length))
    targets = (tokens + np.roll(tokens, 1, axis=1) * (generator.random(tokens.shape) < 0.8)) % ANSWERS
    tokens[generator.random(tokens.shape) < hidden_share] = HIDDEN
    real = np.arange(length) < lengths[:, None]
    tokens[~real] = PAD
    targets[~real | (generator.random(tokens.shape) < 0.3)] = NOT_SCORED
    return examples(tokens, targets, lengths)


def slow(train, test, offsets, answers, hidden):
    """Witten–Bell by dictionaries and recursion."""

    def symbol(one, row, place):
        if 0 <= place < one.lengths[row] and one.tokens[row, place] != hidden:
            return int(one.tokens[row, place])
        return None

    def scored(one):
        return [(row, place) for row in range(len(one)) for place in np.flatnonzero(one.scored[row])]

    def context(one, row, place, kept):
        return tuple(symbol(one, row, place + offset) for offset in kept)

    counts = {}

    def counter(kept):
        if kept not in counts:
            counts[kept] = Counter((context(train, *at, kept), int(train.targets[at])) for at in scored(train))
        return counts[kept]

    def probability(answer, kept, symbols):
        shorter = probability(answer, kept[:-1], symbols[:-1]) if kept else 1 / answers
        seen = {w: n for (h, w), n in counter(kept).items() if h == symbols}
        if not seen:
            return shorter
        return (seen.get(answer, 0) + len(seen) * shorter) / (sum(seen.values()) + len(seen))

    result = []
    for row, place in scored(test):
        kept = []
        for offset in offsets:
            step = -1 if offset < 0 else 1
            path = [other for other in offsets if other * step > 0 and abs(other) <= abs(offset)] if offset else [0]
            if all(symbol(test, row, place + other) is not None for other in path):
                kept.append(offset)
        kept = tuple(kept)
        result.append([probability(w, kept, context(test, row, place, kept)) for w in range(answers)])
    return np.log(np.array(result).reshape(-1, answers))


@pytest.fixture(params=[baselines._LARGEST_TABLE, 0], ids=["table", "search"])
def _both_ways(request, monkeypatch):
    monkeypatch.setattr(baselines, "_LARGEST_TABLE", request.param)


@pytest.mark.usefixtures("_both_ways")
@pytest.mark.parametrize(
    "offsets",
    [(), (-1,), (1,), (0,), (-1, -2, -3), (-1, 1, -2, 2, -3, 3), (0, -1, 1, 2), (1, 2, -1, -2), (-2, 2), (-9, 1)],
)
@pytest.mark.parametrize("hidden", [HIDDEN, None])
def test_equal_to_the_textbook_recursion(offsets, hidden):
    generator = np.random.default_rng(len(offsets))
    share = 0.0 if hidden is None else 0.25
    train, test = drawn(generator, 30, 7, share), drawn(generator, 12, 7, share)
    found = backoff_log_probabilities(train, test, offsets, ANSWERS, hidden)
    np.testing.assert_allclose(found, slow(train, test, offsets, ANSWERS, hidden), rtol=1e-12)


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["causal", "lookahead-1", "lookahead-2", "full"]), st.integers(0, 4))
def test_every_row_is_a_distribution_without_zeros(seed, mask, reach):
    generator = np.random.default_rng(seed)
    train, test = drawn(generator, 20, 6, 0.2), drawn(generator, 5, 9, 0.2)
    if not train.scored.any():
        return
    found = backoff_log_probabilities(train, test, neighbours(mask, reach), ANSWERS, HIDDEN)
    assert found.shape == (test.scored.sum(), ANSWERS)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1, rtol=1e-12)


def test_a_case_worked_by_hand():
    # Answers after 0: 1, 1, 2. All answers: 1, 1, 2, so c = 3 and T = 2 in both contexts.
    train = examples([[0, 0], [0, 0], [0, 0]], [[-100, 1], [-100, 1], [-100, 2]], [2, 2, 2])
    test = examples([[0, 0], [1, 0]], [[-100, 0], [-100, 0]], [2, 2])
    empty = [(0 + 2 / 4) / 5, (2 + 2 / 4) / 5, (1 + 2 / 4) / 5, (0 + 2 / 4) / 5]
    after = [(n + 2 * p) / 5 for n, p in zip([0, 2, 1, 0], empty, strict=True)]
    found = np.exp(backoff_log_probabilities(train, test, (-1,), 4))
    np.testing.assert_allclose(found, [after, empty], rtol=1e-12)  # 1 was never seen to the left


def test_examples_do_not_see_each_other():
    generator = np.random.default_rng(0)
    train, test = drawn(generator, 20, 6, 0.0), drawn(generator, 5, 6, 0.0)
    offsets = neighbours("full", 4)
    together = backoff_log_probabilities(train, test, offsets, ANSWERS)
    alone = [backoff_log_probabilities(train, test[row : row + 1], offsets, ANSWERS) for row in range(len(test))]
    np.testing.assert_array_equal(together, np.concatenate(alone))
    order = generator.permutation(len(train))
    np.testing.assert_allclose(together, backoff_log_probabilities(train[order], test, offsets, ANSWERS), rtol=1e-12)


@pytest.mark.parametrize(("mask", "future"), [("causal", 0), ("lookahead-2", 2), ("full", 9)])
def test_nothing_beyond_the_access_of_the_mask_has_any_effect(mask, future):
    generator = np.random.default_rng(1)
    train = drawn(generator, 200, 10, 0.0)
    tokens = generator.integers(0, 3, (40, 10))
    targets = np.full((40, 10), NOT_SCORED)
    targets[:, 5] = 0
    test = examples(tokens, targets, np.full(40, 10))
    before = backoff_log_probabilities(train, test, neighbours(mask, 4), ANSWERS)
    changed = tokens.copy()
    changed[:, 6 + future :] = (changed[:, 6 + future :] + 1) % 3
    beyond = backoff_log_probabilities(train, examples(changed, targets, np.full(40, 10)), neighbours(mask, 4), ANSWERS)
    np.testing.assert_array_equal(before, beyond)
    if future < 4:  # the test can fail: the last token within the access does have an effect
        changed[:, 5 + max(future, -1) if future else 4] = (changed[:, 5 + future if future else 4] + 1) % 3
        within = backoff_log_probabilities(
            train, examples(changed, targets, np.full(40, 10)), neighbours(mask, 4), ANSWERS
        )
        assert not np.allclose(before, within)


def test_no_scored_position_in_test_gives_no_row():
    train = drawn(np.random.default_rng(0), 5, 4, 0.0)
    test = examples([[0, 1]], [[NOT_SCORED, NOT_SCORED]], [2])
    assert backoff_log_probabilities(train, test, (-1, 1), ANSWERS).shape == (0, ANSWERS)


def test_nothing_to_count_is_an_error():
    nothing = examples([[0, 1]], [[NOT_SCORED, NOT_SCORED]], [2])
    with pytest.raises(StudyError, match="no answer is scored in the train split"):
        backoff_log_probabilities(nothing, nothing, (-1,), ANSWERS)


@pytest.mark.parametrize(
    "mask", ["prefix", "encoder-decoder", "lookahead-0", "lookahead-", "lookahead-K", "Causal", ""]
)
def test_masks_without_a_window_around_the_position_are_refused(mask):
    with pytest.raises(StudyError, match="allowed: causal"):
        visible_future(mask)
    with pytest.raises(StudyError, match="allowed: causal"):
        neighbours(mask, 2)


def test_neighbours_are_nearest_first_and_within_the_access():
    assert neighbours("causal", 3) == (-1, -2, -3)
    assert neighbours("full", 2) == (-1, 1, -2, 2)
    assert neighbours("lookahead-12", 2) == (-1, 1, -2, 2)
    assert neighbours("lookahead-2", 4) == (-1, 1, -2, 2, -3, -4)
    assert neighbours("full", 0) == ()


def test_the_examples_in_the_docs():
    assert doctest.testmod(baselines).failed == 0
    assert doctest.testmod(baselines).attempted


# --- bags -------------------------------------------------------------------------------------------------------------


def test_a_bag_is_a_single_context_of_the_same_back_off():
    """The back-off without any context, taught by the bag alone."""
    generator = np.random.default_rng(0)
    counts = generator.integers(0, 3, (20, ANSWERS)) + np.eye(ANSWERS, dtype=int)[0]
    asked = examples([[0]], [[0]], [1])
    for row, found in zip(counts, bag_log_probabilities(counts), strict=True):
        answers = np.repeat(np.arange(ANSWERS), row)[None]
        taught = examples(np.zeros_like(answers), answers, [answers.shape[1]])
        np.testing.assert_allclose(found, backoff_log_probabilities(taught, asked, (), ANSWERS)[0], atol=1e-12)


def test_who_sees_nothing_finds_all_answers_equally_likely():
    np.testing.assert_allclose(np.exp(bag_log_probabilities(np.zeros((2, 5), dtype=int))), 0.2)
