import doctest
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskstudy.baselines import backoff_log_probabilities
from maskstudy.data.documents import Document
from maskstudy.data.splits import check_disjoint
from maskstudy.errors import StudyError
from maskstudy.tasks import masked_byte
from maskstudy.tasks.masked_byte import MASK, PAD, MaskedByte
from maskstudy.tasks.task import NOT_SCORED, NOWHERE, Task

SPLITS = ("train", "validation", "test")


def text(seed, size):
    letters = np.random.default_rng(seed).choice(list("abcdeö "), size)
    return "".join(letters)


def documents(count=5, size=333):
    return {
        split: [Document(f"{split} {n}", text([place, n], size + n)) for n in range(count)]
        for place, split in enumerate(SPLITS)
    }


def real(examples):
    return np.arange(examples.tokens.shape[1]) < examples.lengths[:, None]


def restored(examples):
    return np.where(examples.scored, examples.targets, examples.tokens)


def check_hidden(task, whole, hidden):
    """Everything that hiding promises."""
    counts = np.maximum(1, np.rint(task.hidden * whole.lengths))
    np.testing.assert_array_equal(hidden.scored.sum(axis=1), counts)
    np.testing.assert_array_equal(hidden.tokens == MASK, hidden.scored)
    assert not (hidden.scored & ~real(hidden)).any()
    np.testing.assert_array_equal(restored(hidden), whole.tokens)
    assert (hidden.target_positions == NOWHERE).all()
    assert hidden.tokens.dtype == hidden.targets.dtype == hidden.target_positions.dtype == np.int16
    np.testing.assert_array_equal(hidden.lengths, whole.lengths)
    np.testing.assert_array_equal(hidden.groups, whole.groups)


def test_the_worked_example():
    result = doctest.testmod(masked_byte)
    assert result.attempted
    assert not result.failed


def test_it_is_a_task():
    task: Task = MaskedByte()
    assert (task.vocabulary, task.answers, task.length, task.dataset) == (258, 256, 64, "text")


# --- windows ----------------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.lists(st.text(max_size=20), max_size=6), st.integers(1, 9))
def test_windows_are_the_documents_in_order_and_none_crosses_a_boundary(texts, length):
    windows = MaskedByte(length=length).windows([Document(str(n), each) for n, each in enumerate(texts)])
    rebuilt = {str(n): b"" for n in range(len(texts))}
    for row, size, group in zip(windows.tokens, windows.lengths, windows.groups, strict=True):
        rebuilt[str(group)] += bytes(row[:size].tolist())
    assert list(rebuilt.values()) == [each.encode() for each in texts]
    assert windows.groups.tolist() == sorted(windows.groups.tolist(), key=int)
    np.testing.assert_array_equal(windows.tokens == PAD, ~real(windows))
    assert (windows.lengths >= 1).all()
    same = windows.groups[1:] == windows.groups[:-1]
    assert (windows.lengths[:-1][same] == length).all()  # only the last window of a document may be short
    assert not windows.scored.any()


def test_bytes_are_those_of_utf_8():
    windows = MaskedByte(length=4).windows([Document("a", "Größe")])
    assert windows.tokens.tolist() == [[71, 114, 0xC3, 0xB6], [0xC3, 0x9F, 101, PAD]]
    assert windows.lengths.tolist() == [4, 3]


# --- hiding -----------------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.integers(1, 40), st.floats(0.01, 1), st.integers(0, 2**32 - 1))
def test_the_promised_number_of_real_positions_is_hidden(length, hidden, seed):
    task = MaskedByte(length=length, hidden=hidden)
    whole = task.windows([Document("a", text(seed, 2 * length + 1)), Document("b", text(seed, length // 2 + 1))])
    index = np.array([0, 2, 1, 3, 0] if len(whole) > 3 else [0, 1, 0])
    check_hidden(task, whole[index], task.batch(whole, index, np.random.default_rng(seed)))


def test_the_default_hides_ten_of_sixty_four():
    whole = MaskedByte().windows([Document("a", text(0, 64 * 3))])
    batch = MaskedByte().batch(whole, np.arange(3), np.random.default_rng(0))
    assert batch.scored.sum(axis=1).tolist() == [10, 10, 10]


def test_every_real_position_is_as_likely_as_any_other():
    task = MaskedByte(length=8, hidden=0.25)
    whole = task.windows([Document("a", "abcdefgh" + "abcde")])
    generator = np.random.default_rng(0)
    index = np.tile([0, 1], 20_000)
    hits = task.batch(whole, index, generator).scored.reshape(-1, 2, 8).mean(axis=0)
    # 2 of 8 and 1 of 5; five standard errors of a share of 20 000
    np.testing.assert_allclose(hits[0], 2 / 8, atol=5 * np.sqrt(0.25 * 0.75 / 20_000))
    np.testing.assert_allclose(hits[1, :5], 1 / 5, atol=5 * np.sqrt(0.2 * 0.8 / 20_000))
    assert (hits[1, 5:] == 0).all()


def test_positions_are_drawn_independently_within_what_their_number_allows():
    task = MaskedByte(length=6, hidden=0.5)
    whole = task.windows([Document("a", "abcdef")])
    picked = task.batch(whole, np.zeros(20_000, dtype=np.int64), np.random.default_rng(0)).scored
    together = (picked[:, :, None] & picked[:, None, :]).mean(axis=0)[~np.eye(6, dtype=bool)]
    np.testing.assert_allclose(together, 3 / 6 * 2 / 5, atol=0.02)  # without replacement


def test_a_batch_is_a_function_of_the_generator_and_leaves_the_examples_alone():
    task = MaskedByte(length=16)
    whole = task.windows([Document("a", text(0, 400))])
    tokens = whole.tokens.copy()
    index = np.array([3, 1, 1, 20])
    one = task.batch(whole, index, np.random.default_rng(5))
    two = task.batch(whole, index, np.random.default_rng(5))
    np.testing.assert_array_equal(one.tokens, two.tokens)
    np.testing.assert_array_equal(one.targets, two.targets)
    assert not np.array_equal(one.tokens, task.batch(whole, index, np.random.default_rng(6)).tokens)
    assert not np.array_equal(one.scored[1], one.scored[2])  # one window twice in a batch: hidden anew
    np.testing.assert_array_equal(whole.tokens, tokens)
    assert not whole.scored.any()


# --- splits -----------------------------------------------------------------------------------------------------------


def test_train_is_whole_and_the_others_are_hidden_once():
    task = MaskedByte(length=16)
    splits = task.splits(documents())
    again = task.splits(documents())
    assert list(splits) == list(SPLITS)
    np.testing.assert_array_equal(splits["train"].tokens, task.windows(documents()["train"]).tokens)
    assert not splits["train"].scored.any()
    for split in ("validation", "test"):
        check_hidden(task, task.windows(documents()[split]), splits[split])
        np.testing.assert_array_equal(splits[split].tokens, again[split].tokens)
    check_disjoint(splits)


def test_validation_and_test_have_positions_of_their_own():
    splits = MaskedByte().splits({split: [Document(split, "a" * 640)] for split in SPLITS})
    assert not np.array_equal(splits["validation"].scored, splits["test"].scored)


def test_limits_pick_windows_evenly_over_all_documents():
    task = MaskedByte(length=8)
    few = MaskedByte(length=8, train_windows=20, validation_windows=10**6, test_windows=7)
    everything, splits = task.splits(documents()), few.splits(documents())
    assert [len(splits[split]) for split in SPLITS] == [20, len(everything["validation"]), 7]
    assert set(splits["train"].groups) == set(everything["train"].groups)
    assert set(splits["test"].groups) == set(everything["test"].groups)
    rows = {row.tobytes(): place for place, row in enumerate(everything["train"].tokens)}
    places = [rows[row.tobytes()] for row in splits["train"].tokens]
    assert places == sorted(places)
    assert set(np.diff(places)) <= {len(rows) // 20, len(rows) // 20 + 1}
    whole = task.windows(documents()["test"])
    picked = np.flatnonzero((restored(splits["test"])[:, None] == whole.tokens).all(axis=2).any(axis=0))
    check_hidden(few, whole[picked], splits["test"])


def test_a_split_without_text_is_an_error():
    with pytest.raises(StudyError, match="no text in validation"):
        MaskedByte().splits(documents() | {"validation": [Document("empty", "")]})


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"length": 0}, "length: 0"),
        ({"length": 2**15}, "length: 32768"),
        ({"length": "64"}, "length: '64'"),
        ({"length": 8.0}, "length: 8.0"),
        ({"length": True}, "length: True"),
        ({"hidden": 0}, "hidden: 0"),
        ({"hidden": 1.01}, "hidden: 1.01"),
        ({"hidden": float("nan")}, "hidden: nan"),
        ({"hidden": True}, "hidden: True"),
        ({"hidden": "0.15"}, "hidden: '0.15'"),
        ({"train_windows": 0}, "train_windows: 0"),
        ({"validation_windows": 1.5}, "validation_windows: 1.5"),
        ({"test_windows": -1}, "test_windows: -1"),
    ],
)
def test_parameters_out_of_range_are_one_line(parameters, named):
    with pytest.raises(StudyError, match="allowed") as raised:
        MaskedByte(**parameters)
    assert f"masked_byte: {named};" in str(raised.value)
    assert "\n" not in str(raised.value)


# --- baseline ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mask", "offsets"),
    [("causal", (-1, -2, -3, -4, -5)), ("full", (-1, 1, -2, 2, -3, 3, -4, 4, -5, 5))],
)
def test_the_baseline_counts_every_byte_of_the_whole_train_windows(mask, offsets):
    task = MaskedByte(length=16)
    splits = task.splits(documents())
    train = splits["train"]
    every_byte = replace(train, targets=np.where(train.tokens == PAD, NOT_SCORED, train.tokens).astype(np.int16))
    expected = backoff_log_probabilities(every_byte, splits["test"], offsets, 256, MASK)
    np.testing.assert_array_equal(task.baseline(mask, train, splits["test"]), expected)


@pytest.mark.parametrize(("mask", "sees"), [("causal", False), ("lookahead-1", True), ("full", True)])
def test_the_baseline_uses_exactly_what_the_mask_lets_it_see(mask, sees):
    # The hidden byte is the capital of the letter after it; the letters before it say nothing.
    letters = np.random.default_rng(0).integers(97, 123, 4000)
    pairs = "".join(f"{chr(letter - 32)}{chr(letter)}" for letter in letters)
    task = MaskedByte(length=2, hidden=0.5)
    whole = task.windows([Document("train", pairs)])
    test = replace(
        whole[:500],
        tokens=np.where([True, False], np.int16(MASK), whole.tokens[:500]),
        targets=np.where([True, False], whole.tokens[:500], np.int16(NOT_SCORED)),
    )
    guess = task.baseline(mask, whole, test).argmax(axis=1)
    right = (guess == test.targets[test.scored]).mean()
    assert right == 1 if sees else right < 0.2


def test_a_hidden_byte_cuts_the_context_off():
    task = MaskedByte(length=4)
    whole = task.windows([Document("train", text(0, 4000))])
    tokens = whole.tokens[:50].copy()
    targets = np.full_like(tokens, NOT_SCORED)
    targets[:, [1, 2]] = tokens[:, [1, 2]]
    tokens[:, [1, 2]] = MASK
    test = replace(whole[:50], tokens=tokens, targets=targets)
    found = task.baseline("causal", whole, test).reshape(50, 2, 256)
    assert (found[:, 1] == found[0, 1]).all()  # nothing known to its left: the same for all
    assert not (found[:, 0] == found[0, 0]).all()


def test_a_baseline_needs_a_window_around_the_position():
    splits = MaskedByte(length=16).splits(documents())
    with pytest.raises(StudyError, match="prefix"):
        MaskedByte(length=16).baseline("prefix", splits["train"], splits["test"])


def test_there_is_no_ceiling():
    assert MaskedByte(length=16).ceiling("full", MaskedByte(length=16).splits(documents())["test"]) is None
