import doctest
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskstudy.audit import find_leak, scored_access_digest
from maskstudy.data.documents import Document
from maskstudy.data.splits import check_disjoint
from maskstudy.errors import StudyError
from maskstudy.supervision import check_same_questions, final_only
from maskstudy.tasks import final_byte, next_byte
from maskstudy.tasks.final_byte import PAD, FinalByte
from maskstudy.tasks.next_byte import NextByte
from maskstudy.tasks.task import NOT_SCORED, NOWHERE, Task

SPLITS = ("train", "validation", "test")


def text(seed, size):
    return "".join(np.random.default_rng(seed).choice(list("abcdeö "), size))


def documents(count=5, size=333):
    return {
        split: [Document(f"{split} {n}", text([place, n], size + n)) for n in range(count)]
        for place, split in enumerate(SPLITS)
    }


def test_the_worked_example():
    result = doctest.testmod(final_byte)
    assert result.attempted
    assert not result.failed


def test_it_is_a_task():
    task: Task = FinalByte()
    assert (task.vocabulary, task.answers, task.length, task.dataset, task.generative) == (257, 256, 128, "text", False)


def test_alignment_by_hand():
    windows = FinalByte(length=3).windows([Document("a", "abcdefgh"), Document("b", "é"), Document("c", "xyzw")])
    a, b, c, d, e, f, g, h = b"abcdefgh"
    assert windows.tokens.tolist() == [[a, b, c], [d, e, f], [g, PAD, PAD], [0xC3, PAD, PAD], [*b"xyz"]]
    no = NOT_SCORED
    assert windows.targets.tolist() == [[no, no, d], [no, no, g], [h, no, no], [0xA9, no, no], [no, no, ord("w")]]
    assert windows.lengths.tolist() == [3, 3, 1, 1, 3]
    assert windows.groups.tolist() == ["a", "a", "a", "b", "c"]
    assert windows.tokens.dtype == windows.targets.dtype == windows.target_positions.dtype == np.int16
    assert windows.lengths.dtype == np.int32


def test_a_document_without_a_second_byte_makes_no_window():
    assert len(FinalByte(length=3).windows([Document("a", ""), Document("b", "x")])) == 0


@settings(deadline=None)
@given(st.lists(st.text(max_size=20), max_size=6), st.integers(1, 9))
def test_its_only_question_is_the_last_of_the_same_window_of_next_byte(texts, length):
    given_texts = [Document(str(number), each) for number, each in enumerate(texts)]
    mine, other = FinalByte(length=length).windows(given_texts), NextByte(length=length + 1).windows(given_texts)
    assert len(mine) == len(other)
    assert (mine.scored.sum(1) == 1).all()
    np.testing.assert_array_equal(mine.scored, np.arange(length) == mine.lengths[:, None] - 1)
    np.testing.assert_array_equal(mine.lengths, other.lengths - 1)
    np.testing.assert_array_equal(mine.groups, other.groups)
    real = np.arange(length) < mine.lengths[:, None]
    np.testing.assert_array_equal(mine.tokens[real], other.tokens[:, :-1][real])
    assert (mine.tokens[~real] == PAD).all()
    if len(mine):
        check_same_questions({"mine": mine, "other": final_only(other)})


def test_the_answer_stands_nowhere_and_nobody_sees_it():
    windows = FinalByte(length=6).windows(documents()["test"])
    assert (windows.target_positions == NOWHERE).all()
    assert find_leak("full", 2, windows) is None


def test_causal_and_full_see_the_same_where_the_answer_is_read():
    windows = FinalByte(length=6).windows(documents()["test"])
    assert len({scored_access_digest(mask, 2, windows) for mask in ("causal", "full")}) == 1


def test_windows_are_cut_after_the_split_and_spread_like_those_of_next_byte():
    mine = FinalByte(length=16, test_windows=40).splits(documents())
    other = NextByte(length=17, test_windows=40).splits(documents())
    assert list(mine) == list(SPLITS)
    assert len(mine["test"]) == 40
    check_disjoint(mine)
    for split in SPLITS:
        check_same_questions({"mine": mine[split], "other": final_only(other[split])})


def test_a_batch_hides_nothing():
    task = FinalByte(length=16)
    train = task.splits(documents())["train"]
    batch = task.batch(train, np.array([3, 1, 3]), np.random.default_rng(0))
    for name in ("tokens", "targets", "lengths"):
        np.testing.assert_array_equal(getattr(batch, name), getattr(train, name)[[3, 1, 3]])


@pytest.mark.parametrize("mask", ["causal", "lookahead-2", "full"])
def test_the_baseline_is_that_of_next_byte_at_the_final_positions(mask):
    mine, other = FinalByte(length=16), NextByte(length=17)
    splits, of_other = mine.splits(documents()), other.splits(documents())
    found = mine.baseline(mask, splits["train"], splits["test"])
    asked = final_only(of_other["test"])
    np.testing.assert_allclose(found, other.baseline("causal", of_other["train"], asked), atol=1e-12)
    assert final_byte.REACH == next_byte.REACH


def test_the_baseline_counts_every_byte_of_the_train_windows():
    task = FinalByte(length=16)
    splits = task.splits(documents())
    last_alone = replace(splits["train"], tokens=np.where(splits["train"].scored, splits["train"].tokens, 0))
    found = task.baseline("full", splits["train"], splits["test"])
    assert not np.array_equal(found, task.baseline("full", last_alone, splits["test"]))


def test_there_is_no_ceiling():
    task = FinalByte(length=16)
    assert task.ceiling("full", task.splits(documents())["test"]) is None


@pytest.mark.parametrize("empty", ["", "a"])
def test_a_split_without_an_answer_is_an_error(empty):
    with pytest.raises(StudyError, match="final_byte: no text in validation"):
        FinalByte().splits(documents() | {"validation": [Document("empty", empty)]})


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"length": 0}, "length: 0"),
        ({"length": 2**15 - 1}, "length: 32767"),
        ({"train_windows": 0}, "train_windows: 0"),
        ({"validation_windows": 1.5}, "validation_windows: 1.5"),
        ({"test_windows": -1}, "test_windows: -1"),
    ],
)
def test_parameters_out_of_range_are_one_line(parameters, named):
    with pytest.raises(StudyError, match="allowed") as raised:
        FinalByte(**parameters)
    assert f"final_byte: {named};" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_mask_that_shows_no_window_is_refused():
    with pytest.raises(StudyError, match="mask 'prefix'"):
        FinalByte().check_cell("prefix", {})
