import numpy as np
import pytest

from maskstudy.data.sequences import independent_splits
from maskstudy.data.splits import check_disjoint
from maskstudy.errors import StudyError

COUNTS = {"test": 40, "validation": 20, "train": 60}


def bits(length):
    """Draws uniform bits; the targets tell which sequence they belong to."""

    def draw(count, generator):
        tokens = generator.integers(0, 2, (count, length)).astype(np.int16)
        return tokens, (tokens + 10).astype(np.int16), np.full_like(tokens, -1)

    return draw


def test_no_sequence_stands_in_two_splits_though_it_may_stand_twice_in_one():
    splits = independent_splits("bits", 0, COUNTS, bits(7))  # 128 different sequences for 120 examples
    assert {name: len(examples) for name, examples in splits.items()} == COUNTS
    check_disjoint(splits)
    for examples in splits.values():
        np.testing.assert_array_equal(examples.targets, examples.tokens + 10)  # a new sequence brings its own answers
        assert (examples.target_positions == -1).all()
        assert (examples.lengths == 7).all()
        assert not examples.condition_lengths.any()
    assert len(np.unique(splits["train"].tokens, axis=0)) < COUNTS["train"]


def test_groups_are_numbered_within_a_split():
    splits = independent_splits("bits", 0, COUNTS, bits(9))
    assert splits["test"].groups.tolist() == [f"test-{number}" for number in range(40)]


def test_the_first_split_does_not_depend_on_the_others():
    alone = independent_splits("bits", 0, {"test": 40}, bits(7))["test"]
    np.testing.assert_array_equal(independent_splits("bits", 0, COUNTS, bits(7))["test"].tokens, alone.tokens)


@pytest.mark.parametrize(("task", "seed"), [("bits", 1), ("other", 0)])
def test_task_and_seed_name_the_random_stream(task, seed):
    one, again = (independent_splits("bits", 0, COUNTS, bits(9))["train"].tokens for _ in range(2))
    other = independent_splits(task, seed, COUNTS, bits(9))["train"].tokens
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


def test_too_few_different_sequences_are_one_line():
    with pytest.raises(StudyError, match="bits: length 2 leaves too few different sequences") as raised:
        independent_splits("bits", 0, COUNTS, bits(2))
    assert "\n" not in str(raised.value)
