import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskstudy.data.documents import Document
from maskstudy.data.windows import by_split, cut
from maskstudy.errors import StudyError

PAD = 256
SPLITS = ("train", "validation", "test")


def documents(*texts):
    return [Document(str(number), text) for number, text in enumerate(texts)]


def rows(examples):
    """The real tokens of every window, as text."""
    return [
        bytes(row[:length].tolist()).decode() for row, length in zip(examples.tokens, examples.lengths, strict=True)
    ]


@pytest.mark.parametrize(
    ("length", "shared", "expected"),
    [
        (4, 0, ["abcd", "efgh", "ij", "xyz"]),
        (4, 1, ["abcd", "defg", "ghij", "xyz"]),
        (5, 1, ["abcde", "efghi", "ij", "xyz"]),
        (3, 2, ["abc", "bcd", "cde", "def", "efg", "fgh", "ghi", "hij", "xyz"]),
        (10, 0, ["abcdefghij", "xyz"]),
        (2, 1, ["ab", "bc", "cd", "de", "ef", "fg", "gh", "hi", "ij", "xy", "yz"]),
    ],
)
def test_windows_by_hand(length, shared, expected):
    windows = cut(documents("abcdefghij", "xyz"), length, PAD, shared)
    assert rows(windows) == expected
    assert windows.groups.tolist() == ["1" if window[0] in "xyz" else "0" for window in expected]


@settings(deadline=None)
@given(st.lists(st.text(max_size=25), max_size=5), st.integers(1, 9), st.data())
def test_all_text_is_there_once_but_for_what_neighbours_share(texts, length, data):
    shared = data.draw(st.integers(0, length - 1))
    windows = cut(documents(*texts), length, PAD, shared)
    rebuilt = {str(number): b"" for number in range(len(texts))}
    for row, size, group in zip(windows.tokens, windows.lengths, windows.groups, strict=True):
        content = bytes(row[:size].tolist())
        if rebuilt[group]:
            assert rebuilt[group][len(rebuilt[group]) - shared :] == content[:shared]
            content = content[shared:]
        assert len(row) == length
        assert (row[size:] == PAD).all()
        rebuilt[str(group)] += content
    for number, text in enumerate(texts):
        # What is no longer than the shared part brings nothing that is not shared.
        assert rebuilt[str(number)] == (text.encode() if len(text.encode()) > shared else b"")
    assert (windows.lengths > shared).all()
    assert not windows.scored.any()


@pytest.mark.parametrize("limit", [1, 3, 7, 12])
def test_limits_pick_windows_evenly(limit):
    whole = cut(documents("abcdefghijkl"), 1, PAD)
    found = by_split({"train": documents("abcdefghijkl")}, {"train": limit}, lambda each: cut(each, 1, PAD), "bytes")
    places = [rows(whole).index(letter) for letter in rows(found["train"])]
    assert len(places) == limit
    assert places[0] == 0
    assert set(np.diff([*places, 12]).tolist()) <= {12 // limit, 12 // limit + 1}


def test_splits_keep_the_order_of_the_limits_and_none_is_everything():
    texts = {split: documents(split) for split in SPLITS}
    found = by_split(texts, {"test": None, "train": 100}, lambda each: cut(each, 2, PAD), "bytes")
    assert {split: rows(examples) for split, examples in found.items()} == {
        "test": ["te", "st"],
        "train": ["tr", "ai", "n"],
    }
    assert list(found) == ["test", "train"]


@pytest.mark.parametrize("texts", [[], [""], ["a"]])
def test_a_split_without_a_window_is_named(texts):
    with pytest.raises(StudyError, match="bytes: no text in test; add text to the dataset"):
        by_split({"test": documents(*texts)}, {"test": None}, lambda each: cut(each, 4, PAD, 1), "bytes")
