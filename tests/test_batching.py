from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from maskstudy.batching import batches
from maskstudy.randomness import stream

some_lengths = st.lists(st.integers(1, 9), min_size=1, max_size=40).map(lambda found: np.array(found, dtype=np.int32))


def drawn(lengths, steps, batch, seed=0):
    return np.array(list(batches(lengths, steps, batch, seed)))  # steps, batch


def padded_share(lengths, found):
    """The share of what is computed that is padding."""
    return 1 - lengths[found].sum() / (lengths[found].max(axis=1) * found.shape[1]).sum()


@settings(deadline=None, max_examples=100)
@given(some_lengths, st.integers(1, 30), st.integers(1, 12), st.integers(0, 99))
def test_every_pass_over_the_examples_is_a_permutation(lengths, steps, batch, seed):
    found = drawn(lengths, steps, batch, seed)
    assert found.shape == (steps, batch)
    order = found.ravel().tolist()
    for start in range(0, len(order), len(lengths)):
        whole = order[start : start + len(lengths)]
        assert len(set(whole)) == len(whole)
        assert set(whole) <= set(range(len(lengths)))


@settings(deadline=None, max_examples=60)
@given(some_lengths, st.integers(1, 12))
def test_batches_inside_a_pass_have_neighbouring_lengths(lengths, batch):
    """Of all examples in whole batches of the first pass, no two batches overlap in their ranges of lengths."""
    assume(lengths.mean() < 0.95 * lengths.max())
    whole = len(lengths) // batch
    ranges = sorted((lengths[index].min(), lengths[index].max()) for index in drawn(lengths, whole, batch))
    assert all(high <= low for (_, high), (low, _) in pairwise(ranges))


def test_little_of_what_is_computed_is_padding():
    lengths = np.random.default_rng(0).geometric(0.15, 5000).clip(1, 40).astype(np.int32)
    at_random = np.random.default_rng(1).permutation(5000)[:4992].reshape(-1, 64)
    assert padded_share(lengths, at_random) > 0.6
    assert padded_share(lengths, drawn(lengths, 500, 64)) < 0.1


def test_short_and_long_batches_come_in_any_order_and_none_is_always_last():
    lengths = np.repeat(np.arange(1, 11, dtype=np.int32), 21)  # 210 examples: 10 more than 5 whole batches
    first = [lengths[drawn(lengths, 5, 40, seed)].mean(axis=1) for seed in range(30)]
    assert len({tuple(np.argsort(means)) for means in first}) > 20
    left_over = [set(range(210)) - set(drawn(lengths, 5, 40, seed).ravel().tolist()) for seed in range(200)]
    means = [lengths[list(rest)].mean() for rest in left_over]
    assert np.mean(means) == pytest.approx(lengths.mean(), abs=0.3)


def test_examples_of_one_length_come_in_the_order_in_which_they_were_drawn():
    expected = stream(7, "batches")
    order = np.concatenate([expected.permutation(10), expected.permutation(10)])
    assert drawn(np.full(10, 5, dtype=np.int32), 5, 4, seed=7).ravel().tolist() == order.tolist()


def test_where_nearly_all_have_the_full_length_a_pass_is_left_as_it_was_drawn():
    """Windows of a text, the last of each document being shorter: sorting would save nothing."""
    lengths = np.full(50, 64, dtype=np.int32)
    lengths[41] = 10
    assert drawn(lengths, 5, 10, seed=7).ravel().tolist() == stream(7, "batches").permutation(50).tolist()
    lengths[:20] = 10
    assert drawn(lengths, 5, 10, seed=7).ravel().tolist() != stream(7, "batches").permutation(50).tolist()


def test_equally_long_examples_do_not_always_meet_each_other():
    lengths = np.repeat(np.array([3, 6], dtype=np.int32), 40)
    partners = {frozenset(index.tolist()) for index in drawn(lengths, 80, 8)}
    assert len(partners) > 70


def test_batches_are_a_function_of_lengths_and_seed():
    lengths = np.random.default_rng(0).integers(1, 9, 50).astype(np.int32)
    before = lengths.copy()
    np.testing.assert_array_equal(drawn(lengths, 7, 16, seed=3), drawn(lengths.copy(), 7, 16, seed=3))
    assert drawn(lengths, 7, 16, seed=3).tolist() != drawn(lengths, 7, 16, seed=4).tolist()
    assert drawn(lengths, 3, 16)[0].tolist() != drawn(lengths, 7, 16)[4].tolist()  # each pass is drawn anew
    np.testing.assert_array_equal(lengths, before)
