import itertools
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskstudy.tasks.task import NOT_SCORED
from maskstudy.transcripts import Word, edit_distance, transcripts, words
from small_study import examples

TOKENS = st.lists(st.integers(0, 2), max_size=6)
END = 9


def by_search(one, other):
    """The distance by trying every last edit."""

    @cache
    def distance(left, right):
        if not left or not right:
            return left + right
        return min(
            distance(left - 1, right) + 1,
            distance(left, right - 1) + 1,
            distance(left - 1, right - 1) + (one[left - 1] != other[right - 1]),
        )

    return distance(len(one), len(other))


@settings(deadline=None, max_examples=200)
@given(TOKENS, TOKENS)
def test_the_distance_is_the_fewest_edits(one, other):
    assert edit_distance(one, other) == by_search(one, other)


@settings(deadline=None, max_examples=100)
@given(TOKENS, TOKENS, TOKENS)
def test_the_distance_is_a_metric(one, other, third):
    assert edit_distance(one, other) == edit_distance(other, one)
    assert (edit_distance(one, other) == 0) == (one == other)
    assert edit_distance(one, third) <= edit_distance(one, other) + edit_distance(other, third)
    assert abs(len(one) - len(other)) <= edit_distance(one, other) <= max(len(one), len(other))


def test_all_that_is_one_edit_away_has_distance_one():
    one = [0, 1, 2]
    near = [one[:n] + one[n + 1 :] for n in range(3)]
    near += [[*one[:n], 7, *one[n:]] for n in range(4)] + [[*one[:n], 7, *one[n + 1 :]] for n in range(3)]
    assert {edit_distance(one, other) for other in near} == {1}
    assert edit_distance(one, [1, 0, 2]) == 2  # two neighbours exchanged are two edits


def split():
    """Words `1 2` with two right answers, `3` with one, `1 2` again, as it stands in a file."""
    no = NOT_SCORED
    return examples(
        [[1, 2, 8, 4, 5], [3, 8, 6, 0, 0], [1, 2, 8, 4, 0]],
        targets=[[no, no, 4, 5, END], [no, 6, END, no, no], [no, no, 4, END, no]],
        lengths=[5, 3, 4],
        condition_lengths=[2, 1, 2],
    )


def test_the_examples_of_one_condition_are_one_word():
    assert words(split()) == [Word((0, 2), (1, 2), ((4, 5), (4,))), Word((1,), (3,), ((6,),))]


@pytest.mark.parametrize(
    ("written", "errors", "phonemes"),
    [([4, 5], 0, 2), ([4], 0, 1), ([], 1, 1), ([5], 1, 2), ([4, 6], 1, 2), ([6, 6, 6], 3, 2)],
)
def test_what_is_written_is_compared_with_the_nearest_answer_and_the_first_of_equals(written, errors, phonemes):
    assert words(split())[0].errors(written) == (errors, phonemes)


def test_rates_by_hand():
    of_words = words(split())
    found = transcripts(of_words, [[4, 6], [6]])
    assert found.words.tolist() == [1, 1, 0]
    assert found.wrong_words.tolist() == [1, 0, 0]
    assert found.phonemes.tolist() == [2, 1, 0]
    assert found.phoneme_errors.tolist() == [1, 0, 0]
    assert found.written == [[4, 6], [6], []]
    assert found.metrics() == {"per": 1 / 3, "wer": 1 / 2}


def test_any_variant_is_right_and_all_right_is_no_error():
    of_words = words(split())
    for variants in itertools.product(*(word.variants for word in of_words)):
        assert transcripts(of_words, variants).metrics() == {"per": 0.0, "wer": 0.0}


def test_one_answer_a_word_is_needed():
    with pytest.raises(ValueError, match="shorter"):
        transcripts(words(split()), [[4]])


def test_counts_are_small_whole_numbers():
    found = transcripts(words(split()), [[4], []])
    assert {getattr(found, name).dtype for name in ("words", "wrong_words", "phonemes", "phoneme_errors")} == {
        np.dtype(np.int32)
    }
