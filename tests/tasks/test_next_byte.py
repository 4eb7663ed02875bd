import doctest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskstudy.audit import Leak, find_leak
from maskstudy.baselines import backoff_log_probabilities
from maskstudy.data.documents import Document
from maskstudy.data.splits import check_disjoint
from maskstudy.errors import StudyError
from maskstudy.tasks import next_byte
from maskstudy.tasks.next_byte import PAD, REACH, NextByte
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
    result = doctest.testmod(next_byte)
    assert result.attempted
    assert not result.failed


def test_it_is_a_task():
    task: Task = NextByte()
    assert (task.vocabulary, task.answers, task.length, task.dataset, task.generative) == (257, 256, 129, "text", True)


# --- alignment --------------------------------------------------------------------------------------------------------


def test_alignment_by_hand():
    windows = NextByte(length=4).windows([Document("a", "abcdefgh"), Document("b", "é!"), Document("c", "xyzw")])
    a, b, c, d, e, f, g, h = b"abcdefgh"
    assert windows.tokens.tolist() == [
        [a, b, c, d],
        [d, e, f, g],
        [g, h, PAD, PAD],
        [0xC3, 0xA9, ord("!"), PAD],
        [*b"xyzw"],
    ]
    no = NOT_SCORED
    assert windows.targets.tolist() == [
        [b, c, d, no],
        [e, f, g, no],
        [h, no, no, no],
        [0xA9, ord("!"), no, no],
        [*b"yzw", no],
    ]
    assert windows.target_positions.tolist() == [
        [1, 2, 3, NOWHERE],
        [1, 2, 3, NOWHERE],
        [1, NOWHERE, NOWHERE, NOWHERE],
        [1, 2, NOWHERE, NOWHERE],
        [1, 2, 3, NOWHERE],
    ]
    assert windows.lengths.tolist() == [4, 4, 2, 3, 4]
    assert windows.groups.tolist() == ["a", "a", "a", "b", "c"]


@settings(deadline=None)
@given(st.lists(st.text(max_size=20), max_size=6), st.integers(2, 9))
def test_every_byte_but_the_first_of_a_document_is_an_answer_once_and_after_the_byte_before_it(texts, length):
    windows = NextByte(length=length).windows([Document(str(n), each) for n, each in enumerate(texts)])
    answered = {str(n): b"" for n in range(len(texts))}
    read = {str(n): b"" for n in range(len(texts))}
    for row in range(len(windows)):
        scored = windows.scored[row]
        answered[str(windows.groups[row])] += bytes(windows.targets[row, scored].tolist())
        read[str(windows.groups[row])] += bytes(windows.tokens[row, scored].tolist())
    for number, each in enumerate(texts):
        assert answered[str(number)] == each.encode()[1:]
        assert read[str(number)] == each.encode()[:-1]


@settings(deadline=None)
@given(st.lists(st.text(max_size=20), max_size=6), st.integers(2, 9))
def test_an_answer_stands_where_it_is_said_to_and_padding_is_never_one(texts, length):
    windows = NextByte(length=length).windows([Document(str(n), each) for n, each in enumerate(texts)])
    rows, positions = np.nonzero(windows.scored)
    standing = windows.target_positions[rows, positions]
    np.testing.assert_array_equal(windows.tokens[rows, standing], windows.targets[rows, positions])
    assert (standing < windows.lengths[rows]).all()
    assert (windows.tokens[windows.scored] != PAD).all()
    assert (windows.targets[windows.scored] != PAD).all()
    assert (windows.target_positions[~windows.scored] == NOWHERE).all()
    assert windows.scored.any(1).all()


def test_a_change_in_one_document_moves_no_window_of_another():
    one = NextByte(length=5).windows([Document("a", "some text"), Document("b", "and more of it")])
    other = NextByte(length=5).windows([Document("a", "SOME"), Document("b", "and more of it")])
    for name in ("tokens", "targets", "target_positions", "lengths"):
        kept = getattr(one, name)[one.groups == "b"]
        np.testing.assert_array_equal(kept, getattr(other, name)[other.groups == "b"])


# --- splits -----------------------------------------------------------------------------------------------------------


def test_windows_are_cut_after_the_split():
    splits = NextByte(length=16, test_windows=40).splits(documents())
    assert list(splits) == list(SPLITS)
    assert len(splits["test"]) == 40
    for split in SPLITS:
        assert set(splits[split].groups.tolist()) == {f"{split} {number}" for number in range(5)}
    check_disjoint(splits)


def test_a_batch_hides_nothing():
    task = NextByte(length=16)
    train = task.splits(documents())["train"]
    batch = task.batch(train, np.array([3, 1, 3]), np.random.default_rng(0))
    for name in ("tokens", "targets", "target_positions", "lengths"):
        np.testing.assert_array_equal(getattr(batch, name), getattr(train, name)[[3, 1, 3]])


@pytest.mark.parametrize("empty", ["", "a"])
def test_a_split_without_an_answer_is_an_error(empty):
    with pytest.raises(StudyError, match="next_byte: no text in validation"):
        NextByte().splits(documents() | {"validation": [Document("empty", empty)]})


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"length": 1}, "length: 1"),
        ({"length": 2**15}, "length: 32768"),
        ({"length": 8.0}, "length: 8.0"),
        ({"train_windows": 0}, "train_windows: 0"),
        ({"validation_windows": 1.5}, "validation_windows: 1.5"),
        ({"test_windows": -1}, "test_windows: -1"),
    ],
)
def test_parameters_out_of_range_are_one_line(parameters, named):
    with pytest.raises(StudyError, match="allowed") as raised:
        NextByte(**parameters)
    assert f"next_byte: {named};" in str(raised.value)
    assert "\n" not in str(raised.value)


# --- what is seen -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layers", [1, 2])
def test_the_answer_leaks_wherever_the_next_byte_is_seen(layers):
    windows = NextByte(length=6).windows(documents()["test"])
    assert find_leak("causal", layers, windows) is None
    assert find_leak("full", layers, windows) == Leak(0, 1, (*[1] * layers, 0))
    short = windows[windows.lengths < 6]
    assert len(short)
    assert find_leak("lookahead-1", layers, short) == Leak(0, 1, (1, *[0] * layers))


@pytest.mark.parametrize(("mask", "answer"), [("causal", ()), ("lookahead-1", (1,)), ("full", (1,))])
def test_the_baseline_is_an_n_gram_over_the_bytes_before_and_the_answer_where_it_is_seen(mask, answer):
    task = NextByte(length=16)
    splits = task.splits(documents())
    offsets = (*answer, *(-distance for distance in range(REACH)))
    expected = backoff_log_probabilities(splits["train"], splits["test"], offsets, 256)
    np.testing.assert_array_equal(task.baseline(mask, splits["train"], splits["test"]), expected)


@pytest.mark.parametrize(("mask", "sees"), [("causal", False), ("full", True)])
def test_the_baseline_sees_a_byte_that_nothing_before_it_tells_only_where_the_mask_shows_it(mask, sees):
    def noise(seed, size):
        letters = np.random.default_rng(seed).integers(97, 123, size)
        return [Document(str(seed), bytes(letters.tolist()).decode())]

    task = NextByte(length=9)
    whole, unseen = task.windows(noise(0, 8000)), task.windows(noise(1, 2000))
    right = (task.baseline(mask, whole, unseen).argmax(1) == unseen.targets[unseen.scored]).mean()
    assert right > 0.99 if sees else right < 0.1


def test_there_is_no_ceiling():
    task = NextByte(length=16)
    assert task.ceiling("full", task.splits(documents())["test"]) is None
