import doctest

import numpy as np
import pytest

from maskstudy.audit import find_leak
from maskstudy.baselines import backoff_log_probabilities
from maskstudy.data.documents import Document
from maskstudy.data.splits import check_disjoint, without_repeats
from maskstudy.data.words import EDGE, Vocabulary
from maskstudy.errors import StudyError
from maskstudy.tasks import accents
from maskstudy.tasks.accents import Accents, Lexicon
from maskstudy.tasks.task import NOT_SCORED, NOWHERE, Named, Task

SPLITS = ("train", "validation", "test")
FEW = {"length": 8, "words": 30, "forms": 8, "least": 3}


def documents(sentences=300, seed=0):
    """`esta` before a noun, `está` before a place: all is told by the next word; `mas` and `más` mean the same."""
    generator = np.random.default_rng(seed)
    found = []
    for number in range(sentences):
        pair = [("esta", "casa"), ("esta", "vez"), ("está", "aquí"), ("está", "lejos")][generator.integers(4)]
        words = [*pair, ("mas", "más")[generator.integers(2)], f"nombre{'abcdefgh'[number % 8]}"]
        found.append(Document(f"{seed} {number}", " ".join(words)))
    return {
        "train": found[: sentences // 2],
        "validation": found[sentences // 2 :: 2],
        "test": found[sentences // 2 + 1 :: 2],
    }


def test_the_worked_example():
    result = doctest.testmod(accents, extraglobs={"Document": Document})
    assert result.attempted
    assert not result.failed


def test_it_is_a_task():
    task: Task = Accents()
    assert (task.vocabulary, task.answers, task.length, task.dataset, task.generative) == (8003, 256, 32, "text", False)
    assert isinstance(task, Named)


# --- what is ambiguous ------------------------------------------------------------------------------------------------


def of(counts):
    """One document with every word as often as it says."""
    return [Document("a", " ".join(" ".join([word] * count) for word, count in counts.items()))]


def test_a_word_is_ambiguous_if_two_forms_are_frequent_enough_and_rare_forms_are_no_answers():
    counts = {"si": 5, "sí": 3, "sì": 2, "de": 9, "dé": 2, "casa": 9, "que": 4, "qué": 6}
    lexicon = Accents(**FEW).lexicon(of(counts))
    # que 10, si 10: equally frequent, by the alphabet; of each word the frequent form first
    assert list(lexicon.forms.items()) == [("qué", 0), ("que", 1), ("si", 2), ("sí", 3)]
    assert lexicon.vocabulary.known == ["que", "si", "de", "casa"]


def test_the_most_frequent_words_keep_their_forms_where_there_are_too_many():
    counts = {"a": 9, "á": 3, "e": 9, "é": 5, "i": 3, "í": 3, "ì": 3, "o": 3, "ó": 3}
    assert list(Accents(**FEW | {"forms": 4}).lexicon(of(counts)).forms) == ["e", "é", "a", "á"]
    # three forms of i do not fit beside these four; the two of o do
    assert list(Accents(**FEW | {"forms": 6}).lexicon(of(counts)).forms) == ["e", "é", "a", "á", "o", "ó"]


def test_ambiguous_words_are_known_even_where_others_are_more_frequent():
    lexicon = Accents(**FEW | {"words": 2}).lexicon(of({"casa": 50, "mesa": 40, "si": 3, "sí": 3}))
    assert lexicon.vocabulary.known == ["si", "casa"]


def test_only_train_decides_what_is_ambiguous():
    task = Accents(**FEW)
    other = {
        "train": of({"si": 9, "sí": 9}),
        "validation": of({"si": 1, "tu": 9, "tú": 9}),
        "test": of({"sí": 1, "tu": 99, "tú": 99}),
    }
    assert task.names(other)["answers"] == ["si", "sí"]
    assert task.splits(other)["test"].scored.sum() == 1


def test_no_ambiguous_word_is_one_line():
    with pytest.raises(StudyError, match=r"no word of train has two accented forms.*3 times") as raised:
        Accents(**FEW).splits({split: of({"si": 9, "sí": 2}) for split in SPLITS})
    assert "\n" not in str(raised.value)


# --- alignment --------------------------------------------------------------------------------------------------------

LEXICON = Lexicon(Vocabulary(["si", "el", "dia", "es"], 4), {"si": 0, "sí": 1, "el": 2, "él": 3})
UNKNOWN, END, PAD = 4, 5, 6
NO = NOT_SCORED


def test_alignment_by_hand():
    task = Accents(length=6, words=4, forms=4, least=1)
    text = "Sí, ¿Él?\nsi\u0301 2 días...\n\nSin nada.\n \nEl día es hoy y es el de él."
    found = task.examples([Document("a", text), Document("b", "el")], LEXICON)
    assert found.tokens.tolist() == [
        [END, 0, 1, 0, UNKNOWN, END],
        [END, 1, 2, 3, UNKNOWN, UNKNOWN],
        [3, 1, UNKNOWN, 1, END, PAD],
        [END, 1, END, PAD, PAD, PAD],
    ]
    assert found.targets.tolist() == [
        [NO, 1, 3, 1, NO, NO],
        [NO, 2, NO, NO, NO, NO],
        [NO, 2, NO, 3, NO, NO],
        [NO, 2, NO, NO, NO, NO],
    ]
    assert found.lengths.tolist() == [6, 6, 5, 3]
    assert found.groups.tolist() == ["a", "a", "a", "b"]
    assert (found.target_positions == NOWHERE).all()
    assert not found.condition_lengths.any()


def test_accents_are_nowhere_in_the_input():
    task = Accents(**FEW)
    splits, names = task.splits(documents()), task.names(documents())
    for split in SPLITS:
        known = splits[split].tokens[splits[split].tokens < 30]
        assert {names["tokens"][token] for token in known} <= {
            *["esta", "casa", "vez", "aqui", "lejos", "mas"],
            *(f"nombre{x}" for x in "abcdefgh"),
        }
        for token, target in zip(
            splits[split].tokens[splits[split].scored], splits[split].targets[splits[split].scored], strict=True
        ):
            assert accents.without_accents(names["answers"][target]) == names["tokens"][token]
        assert find_leak("full", 2, splits[split]) is None


def test_numbers_and_names_agree():
    task = Accents(**FEW)
    names = task.names(documents())
    assert len(names["tokens"]) == task.vocabulary
    assert set(names["answers"]) == {"esta", "está", "mas", "más"}
    assert EDGE not in names["answers"]


def test_splits_keep_their_groups_and_limits_pick_evenly():
    splits = Accents(**FEW).splits(documents())
    few = Accents(**FEW, train_examples=7, validation_examples=1, test_examples=10**6).splits(documents())
    assert [len(few[split]) for split in SPLITS] == [7, 1, len(splits["test"])]
    assert set(few["train"].groups) <= set(splits["train"].groups)


def test_a_train_sentence_that_is_a_test_one_but_for_accents_case_and_punctuation_is_left_out():
    text = {
        "train": [Document("a", "¿Esta casa?"), Document("b", "Está aquí mas lejos."), *of({"esta": 3, "está": 3})],
        "validation": [Document("c", "Esta vez.")],
        "test": [Document("d", "está CASA")],
    }
    splits = Accents(**FEW).splits(text)
    with pytest.raises(StudyError, match=r"'d'.*'a'"):
        check_disjoint(splits)
    cleaned, left_out = without_repeats(splits)
    assert left_out == {"train": 1, "validation": 0, "test": 0}
    check_disjoint(cleaned)


def test_a_split_without_an_ambiguous_word_is_one_line():
    with pytest.raises(StudyError, match="no text in test"):
        Accents(**FEW).splits(documents() | {"test": [Document("x", "nada")]})


# --- batches ----------------------------------------------------------------------------------------------------------


def test_a_batch_is_the_examples_as_they_are_unless_words_are_dropped():
    whole = Accents(**FEW).splits(documents())["train"]
    index = np.array([3, 1, 1])
    plain = Accents(**FEW).batch(whole, index, np.random.default_rng(0))
    np.testing.assert_array_equal(plain.tokens, whole.tokens[index])
    dropped = Accents(**FEW, word_dropout=0.5).batch(whole, np.arange(len(whole)), np.random.default_rng(0))
    changed = dropped.tokens != whole.tokens
    assert 0.4 < changed[(whole.tokens < 30) & ~whole.scored].mean() < 0.6
    assert not changed[whole.scored].any()


# --- baseline ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mask", "offsets"),
    [
        ("causal", (0, -1, -2)),
        ("lookahead-1", (0, 1, -1, -2)),
        ("lookahead-2", (0, 1, -1, 2, -2)),
        ("full", (0, 1, -1, 2, -2)),
    ],
)
def test_the_baseline_counts_the_word_itself_and_its_visible_neighbours(mask, offsets):
    task = Accents(**FEW)
    splits = task.splits(documents())
    expected = backoff_log_probabilities(splits["train"], splits["test"], offsets, 8)
    np.testing.assert_array_equal(task.baseline(mask, splits["train"], splits["test"]), expected)


@pytest.mark.parametrize(("mask", "sees"), [("causal", False), ("lookahead-1", True), ("full", True)])
def test_who_sees_the_next_word_knows_the_accent(mask, sees):
    task = Accents(**FEW)
    splits = task.splits(documents(1000))
    names = task.names(documents(1000))["answers"]
    test = splits["test"]
    guess = task.baseline(mask, splits["train"], test).argmax(axis=1)
    told = [names[target].startswith("est") for target in test.targets[test.scored]]
    right = (guess == test.targets[test.scored])[told].mean()
    assert right == 1 if sees else right < 0.7


def test_a_baseline_needs_a_window_around_the_position():
    splits = Accents(**FEW).splits(documents())
    with pytest.raises(StudyError, match="prefix"):
        Accents(**FEW).baseline("prefix", splits["train"], splits["test"])


def test_there_is_no_ceiling():
    assert Accents(**FEW).ceiling("full", Accents(**FEW).splits(documents())["test"]) is None


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"length": 0}, "length: 0"),
        ({"words": 0}, "words: 0"),
        ({"words": 2**15 - 3 + 1}, "words: 32766"),
        ({"forms": 1}, "forms: 1"),
        ({"least": 0}, "least: 0"),
        ({"word_dropout": 1}, "word_dropout: 1"),
        ({"word_dropout": -0.1}, "word_dropout: -0.1"),
        ({"word_dropout": True}, "word_dropout: True"),
        ({"train_examples": 0}, "train_examples: 0"),
    ],
)
def test_parameters_out_of_range_are_one_line(parameters, named):
    with pytest.raises(StudyError, match="allowed") as raised:
        Accents(**parameters)
    assert f"accents: {named};" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_largest_vocabulary_fits_the_tokens():
    assert Accents(words=2**15 - 3).vocabulary - 1 == np.iinfo(np.int16).max
