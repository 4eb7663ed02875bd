import doctest
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskstudy.data import padding
from maskstudy.data import words as module
from maskstudy.data.words import (
    EDGE,
    Vocabulary,
    by_frequency,
    likeness,
    without_accents,
    word_dropout,
    words,
    words_and_signs,
)
from maskstudy.tasks.task import NOT_SCORED
from small_study import examples


@pytest.mark.parametrize("documented", [module, padding])
def test_the_worked_examples(documented):
    result = doctest.testmod(documented)
    assert result.attempted
    assert not result.failed


# --- cutting ----------------------------------------------------------------------------------------------------------


def test_letters_written_as_one_sign_or_as_two_are_the_same_word():
    assert words("e\u0301l") == words("\u00e9l") == ["él"]
    assert words_and_signs("e\u0301l!") == ["él", "!"]


@given(st.text("aáñÑ ¿?'-1,\n", max_size=30))
def test_words_are_the_letters_of_the_text_and_signs_all_but_its_spaces(text):
    assert "".join(words(text)) == "".join(letter for letter in text.lower() if letter.isalpha())
    assert "".join(words_and_signs(text)) == "".join(text.lower().split())


@given(st.text("aàáâäãñüçŭ", max_size=8))
def test_a_word_without_accents_has_as_many_letters_and_none_left_to_take_off(word):
    plain = without_accents(word)
    assert len(plain) == len(word)
    assert plain.isascii()
    assert without_accents(plain) == plain


def test_letters_that_are_no_accented_ones_stay():
    assert without_accents("øßł한") == "øßł한"


@pytest.mark.parametrize("other", ["esta aqui", "¡Está aquí!", "ESTÁ,  AQUÍ", "esta\u0301 aqui"])
def test_accents_case_punctuation_and_spaces_make_no_difference(other):
    assert likeness("Está aquí.") == likeness(other)


def test_other_words_letters_and_digits_do():
    found = [likeness(text) for text in ("es 12", "es 13", "es12", "no es 12", "é", "12 es", "?!", "!?", ":-)")]
    assert len(set(found)) == len(found)


# --- numbers ----------------------------------------------------------------------------------------------------------


def test_words_beyond_the_vocabulary_are_one_unknown_word():
    vocabulary = Vocabulary(["a", "b", "c"], 2)
    assert vocabulary.encode(["b", "c", "a", "d", EDGE]) == [1, 2, 0, 2, 3]
    assert (vocabulary.unknown, vocabulary.edge, vocabulary.padding) == (2, 3, 4)
    assert vocabulary.names() == ["a", "b", "(unknown)", "(edge)", "(padding)"]


def test_numbers_that_no_word_needs_are_left_free():
    vocabulary = Vocabulary(["a"], 3)
    assert vocabulary.encode(["a", "b"]) == [0, 3]
    assert vocabulary.names() == ["a", "", "", "(unknown)", "(edge)", "(padding)"]
    assert len(vocabulary.names()) == 3 + Vocabulary.SPECIAL


def test_the_most_frequent_words_come_first_and_equally_frequent_ones_by_the_alphabet():
    assert by_frequency(Counter("cabbbcd")) == ["b", "c", "a", "d"]


# --- word dropout -----------------------------------------------------------------------------------------------------

SIZE = 5


def many():
    """Words 0 … 4, an unknown one, edges at both ends, padding; the answer is scored at one word and at an edge."""
    generator = np.random.default_rng(0)
    tokens = np.full((400, 12), 7)
    tokens[:, 0] = tokens[:, 10] = 6
    tokens[:, 1:10] = generator.integers(0, 6, (400, 9))
    targets = np.full_like(tokens, NOT_SCORED)
    targets[:, [4, 10]] = 1
    return examples(tokens, targets, lengths=[11] * 400)


def test_only_words_that_are_not_scored_become_unknown_and_about_the_share_of_them():
    whole = many()
    dropped = word_dropout(whole, 0.3, SIZE, np.random.default_rng(1))
    changed = dropped.tokens != whole.tokens
    assert (dropped.tokens[changed] == SIZE).all()
    assert not changed[:, [0, 4, 10, 11]].any()
    words_there = (whole.tokens < SIZE) & ~whole.scored
    assert changed[words_there].mean() == pytest.approx(0.3, abs=0.04)
    np.testing.assert_array_equal(dropped.targets, whole.targets)


def test_no_share_draws_nothing():
    generator = np.random.default_rng(1)
    whole = many()
    assert word_dropout(whole, 0.0, SIZE, generator) is whole
    assert generator.random() == np.random.default_rng(1).random()


def test_what_is_dropped_is_drawn_anew_each_time_and_the_examples_stay_as_they_are():
    whole, generator = many(), np.random.default_rng(1)
    before = whole.tokens.copy()
    one, two = (word_dropout(whole, 0.3, SIZE, generator).tokens for _ in range(2))
    assert not np.array_equal(one, two)
    np.testing.assert_array_equal(whole.tokens, before)
