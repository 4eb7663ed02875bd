import doctest

import numpy as np
import pytest

from maskstudy.audit import find_leak
from maskstudy.baselines import backoff_log_probabilities
from maskstudy.data.documents import Tagged
from maskstudy.errors import StudyError
from maskstudy.tasks import tagging
from maskstudy.tasks.tagging import Tagging
from maskstudy.tasks.task import NOT_SCORED, NOWHERE, Named, Task

SPLITS = ("train", "validation", "test")
FEW = {"length": 9, "words": 12, "tags": 3}


def documents(count=200):
    """Letters in any order; each is tagged by the letter after it, so that only who looks ahead can know."""
    generator = np.random.default_rng(0)
    found = []
    for number in range(count):
        words = tuple(generator.choice(list("abc"), 6).tolist())
        found.append(Tagged(f"s{number}", words, tuple(f"before {word}" for word in (*words[1:], "a"))))
    return {"train": found[: count // 2], "validation": found[count // 2 :: 2], "test": found[count // 2 + 1 :: 2]}


def test_the_worked_example():
    result = doctest.testmod(tagging, extraglobs={"Tagged": Tagged})
    assert result.attempted
    assert not result.failed


def test_it_is_a_task():
    task: Task = Tagging()
    assert (task.vocabulary, task.answers, task.length, task.dataset, task.generative) == (
        8003,
        17,
        64,
        "tagged",
        False,
    )
    assert isinstance(task, Named)


def test_alignment_by_hand():
    no = NOT_SCORED
    given = [Tagged("a", ("A", "b", "a"), ("X", "Y", "Z")), Tagged("b", ("b", "c"), ("Y", "X"))]
    task = Tagging(length=3, words=2, tags=3)
    splits = task.splits(dict.fromkeys(SPLITS, given))
    names = task.names(dict.fromkeys(SPLITS, given))
    assert names == {"tokens": ["b", "A", "(unknown)", "(edge)", "(padding)"], "answers": ["X", "Y", "Z"]}
    assert splits["test"].tokens.tolist() == [[3, 1, 0], [2, 3, 4], [3, 0, 2]]
    assert splits["test"].targets.tolist() == [[no, 0, 1], [2, no, no], [no, 1, 0]]
    assert splits["test"].lengths.tolist() == [3, 2, 3]
    assert splits["test"].groups.tolist() == ["a", "a", "b"]
    assert (splits["test"].target_positions == NOWHERE).all()


def test_no_mask_leaks():
    for examples in Tagging(**FEW).splits(documents()).values():
        assert find_leak("full", 2, examples) is None


def test_too_many_tags_are_one_line_that_says_how_many():
    with pytest.raises(StudyError, match=r"3 tags, not at most 2; set `tags: 3`") as raised:
        Tagging(**FEW | {"tags": 2}).splits(documents())
    assert "\n" not in str(raised.value)


def test_a_batch_is_the_examples_as_they_are():
    task = Tagging(**FEW)
    whole = task.splits(documents())["train"]
    batch = task.batch(whole, np.array([3, 1]), np.random.default_rng(0))
    np.testing.assert_array_equal(batch.tokens, whole.tokens[[3, 1]])
    np.testing.assert_array_equal(batch.targets, whole.targets[[3, 1]])


@pytest.mark.parametrize(("mask", "sees"), [("causal", False), ("lookahead-1", True), ("full", True)])
def test_the_baseline_uses_exactly_what_the_mask_lets_it_see(mask, sees):
    task = Tagging(**FEW)
    splits = task.splits(documents())
    found = task.baseline(mask, splits["train"], splits["test"])
    offsets = (0, -1, 1, -2, 2) if mask == "full" else (0, -1, 1, -2) if sees else (0, -1, -2)
    expected = backoff_log_probabilities(splits["train"], splits["test"], offsets, 3)
    np.testing.assert_array_equal(found, expected)
    targets = splits["test"].targets[splits["test"].scored]
    inside = np.tile(np.arange(6) < 5, len(splits["test"]))
    right = (found.argmax(axis=1) == targets)[inside].mean()
    assert right > 0.9 if sees else right < 0.6


def test_there_is_no_ceiling():
    assert Tagging(**FEW).ceiling("full", Tagging(**FEW).splits(documents())["test"]) is None


@pytest.mark.parametrize(
    ("parameters", "named"),
    [({"length": 1}, "length: 1"), ({"words": 2**15 - 3 + 1}, "words: 32766"), ({"tags": 1}, "tags: 1")],
)
def test_parameters_out_of_range_are_one_line(parameters, named):
    with pytest.raises(StudyError, match="allowed") as raised:
        Tagging(**parameters)
    assert f"tagging: {named};" in str(raised.value)
    assert "\n" not in str(raised.value)
