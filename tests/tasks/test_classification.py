import doctest

import numpy as np
import pytest

from maskstudy.audit import find_leak
from maskstudy.data.documents import Labelled
from maskstudy.data.splits import check_disjoint, without_repeats
from maskstudy.data.words import Vocabulary
from maskstudy.errors import StudyError
from maskstudy.scoring import score
from maskstudy.tasks import classification
from maskstudy.tasks.classification import Classification
from maskstudy.tasks.task import NOT_SCORED, NOWHERE, Named, Task

SPLITS = ("train", "validation", "test")
FEW = {"length": 8, "words": 40, "classes": 3}
TELLING = {"place": "where", "person": "who", "time": "when"}


def documents(count=120):
    """What is asked for is told by one word, whose place varies; the others say nothing."""
    generator = np.random.default_rng(0)
    found = []
    for number in range(count):
        label = sorted(TELLING)[number % 3]
        words = [f"word{n}" for n in generator.integers(0, 20, 5)]
        words[generator.integers(5)] = TELLING[label]
        found.append(Labelled(f"q{number}", " ".join(words) + "?", label))
    return {"train": found[: count // 2], "validation": found[count // 2 :: 2], "test": found[count // 2 + 1 :: 2]}


def test_the_worked_example():
    result = doctest.testmod(classification, extraglobs={"Labelled": Labelled})
    assert result.attempted
    assert not result.failed


def test_it_is_a_task():
    task: Task = Classification()
    assert (task.vocabulary, task.answers, task.length, task.dataset, task.generative) == (
        8003,
        6,
        48,
        "labelled",
        False,
    )
    assert isinstance(task, Named)


# --- alignment --------------------------------------------------------------------------------------------------------


def test_alignment_by_hand():
    no = NOT_SCORED
    train = [Labelled("a", "Who, who?", "person"), Labelled("b", "When", "time")]
    test = [Labelled("c", "Who knows when or where?", "person"), Labelled("d", "!", "place")]
    task = Classification(length=6, words=3, classes=3)
    given = {"train": train, "validation": test, "test": test}
    names = task.names(given)
    assert names == {
        "tokens": ["who", ",", "?", "(unknown)", "(edge)", "(padding)"],
        "answers": ["person", "place", "time"],
    }
    splits = task.splits(given)
    assert splits["train"].tokens.tolist() == [[4, 0, 1, 0, 2, 4], [4, 3, 4, 5, 5, 5]]
    assert splits["train"].targets.tolist() == [[no, no, no, no, no, 0], [no, no, 2, no, no, no]]
    assert splits["test"].tokens.tolist() == [[4, 0, 3, 3, 3, 4], [4, 3, 4, 5, 5, 5]]  # a long text loses its end
    assert splits["test"].targets.tolist() == [[no, no, no, no, no, 0], [no, no, 1, no, no, no]]
    assert splits["test"].lengths.tolist() == [6, 3]
    assert splits["test"].groups.tolist() == ["c", "d"]
    assert (splits["test"].target_positions == NOWHERE).all()


def test_the_answer_is_read_once_where_every_mask_has_seen_all_words():
    splits = Classification(**FEW).splits(documents())
    for split in SPLITS:
        rows, places = np.nonzero(splits[split].scored)
        assert rows.tolist() == list(range(len(splits[split])))
        np.testing.assert_array_equal(places, splits[split].lengths - 1)
        assert find_leak("full", 2, splits[split]) is None
    check_disjoint(without_repeats(splits)[0])


def test_too_many_classes_are_one_line_that_says_how_many():
    with pytest.raises(StudyError, match=r"3 classes, not at most 2; set `classes: 3`") as raised:
        Classification(**FEW | {"classes": 2}).splits(documents())
    assert "\n" not in str(raised.value)


def test_word_dropout_leaves_edges_and_answers_alone():
    whole = Classification(**FEW).splits(documents())["train"]
    index = np.arange(len(whole))
    np.testing.assert_array_equal(
        Classification(**FEW).batch(whole, index, np.random.default_rng(0)).tokens, whole.tokens
    )
    dropped = Classification(**FEW, word_dropout=0.5).batch(whole, index, np.random.default_rng(0))
    changed = dropped.tokens != whole.tokens
    assert 0.4 < changed[whole.tokens < 40].mean() < 0.6
    assert (dropped.tokens[changed] == 40).all()
    assert not changed[whole.tokens > 40].any()
    np.testing.assert_array_equal(dropped.targets, whole.targets)


# --- baseline ---------------------------------------------------------------------------------------------------------


def test_the_baseline_finds_the_telling_word_wherever_it_stands():
    task = Classification(**FEW)
    splits = task.splits(documents(600))
    found = task.baseline("causal", splits["train"], splits["test"])
    assert score(found, splits["test"]).metrics()["accuracy"] > 0.99
    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1)
    np.testing.assert_array_equal(found, task.baseline("full", splits["train"], splits["test"]))


def test_there_is_no_ceiling():
    assert Classification(**FEW).ceiling("full", Classification(**FEW).splits(documents())["test"]) is None


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"length": 2}, "length: 2"),
        ({"words": 2**15 - 3 + 1}, "words: 32766"),
        ({"classes": 1}, "classes: 1"),
        ({"word_dropout": 1.0}, "word_dropout: 1.0"),
    ],
)
def test_parameters_out_of_range_are_one_line(parameters, named):
    with pytest.raises(StudyError, match="allowed") as raised:
        Classification(**parameters)
    assert f"classification: {named};" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_largest_vocabulary_fits_the_tokens():
    assert Classification(words=2**15 - 3).vocabulary - 1 == np.iinfo(np.int16).max
    assert Vocabulary.SPECIAL == 3
