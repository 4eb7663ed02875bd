import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from maskstudy.errors import StudyError
from maskstudy.masks import MASKS, access, layer_masks
from maskstudy.patterns import (
    FORBIDDEN,
    LEGEND,
    MISSING,
    SEEN,
    UNSEEN,
    as_matrix,
    first_difference,
    grid,
    pattern,
    verdict,
)

# The rule of each pattern, cell by cell: does query i see key j?
RULES = {
    "none": lambda *_: False,
    "diagonal": lambda i, j: i == j,
    "causal": lambda i, j: j <= i,
    "strictly-causal": lambda i, j: j < i,
    "anticausal": lambda i, j: j >= i,
    "full": lambda *_: True,
    "lookahead-2": lambda i, j: j <= i + 2,
    "prefix-3": lambda i, j: j < 3 or j <= i,
    "window-2-0": lambda i, j: i - 2 <= j <= i,
    "window-1-3": lambda i, j: i - 1 <= j <= i + 3,
    "block-3": lambda i, j: i // 3 == j // 3,
    "block-2-5-1": lambda i, j: np.searchsorted([2, 7], i, "right") == np.searchsorted([2, 7], j, "right"),
    "causal-block-4": lambda i, j: i // 4 == j // 4 and j <= i,
    "causal-block-3-5": lambda i, j: (i < 3) == (j < 3) and j <= i,
}


def by_rule(name, length):
    return np.array([[bool(RULES[name](i, j)) for j in range(length)] for i in range(length)])


@pytest.mark.parametrize("name", RULES)
def test_a_name_is_its_rule_cell_by_cell_and_the_verdict_finds_the_name_again(name):
    np.testing.assert_array_equal(pattern(name, 8), by_rule(name, 8))
    assert verdict(by_rule(name, 8)).name == name
    assert str(verdict(by_rule(name, 8))).startswith(f"{name}: ")


@given(st.integers(1, 9), st.data())
def test_the_verdict_of_a_pattern_is_the_same_matrix(length, data):
    number = st.integers(0, length)
    name = data.draw(
        st.sampled_from(sorted(set(RULES) - {"block-2-5-1", "causal-block-3-5"}))
        | number.map("lookahead-{}".format)
        | number.map("prefix-{}".format)
        | st.tuples(number, number).map(lambda sides: f"window-{sides[0]}-{sides[1]}")
        | st.integers(1, length).map("block-{}".format)
        | st.integers(1, length).map("causal-block-{}".format)
    )
    found = verdict(pattern(name, length)).name
    np.testing.assert_array_equal(pattern(found, length), pattern(name, length))


@given(st.integers(1, 6), st.data())
def test_any_matrix_has_a_verdict_that_is_true_of_it(length, data):
    cells = st.lists(st.booleans(), min_size=length * length, max_size=length * length)
    matrix = np.array(data.draw(cells)).reshape(length, length)
    found = verdict(matrix)
    if found.name == "other":
        assert f"{matrix.sum()} of {matrix.size} pairs are seen" in found.sentence
    else:
        np.testing.assert_array_equal(pattern(found.name, len(matrix)), matrix)


@pytest.mark.parametrize("name", ["causal", "full", "lookahead-1", "lookahead-3"])
def test_a_mask_of_the_study_gives_the_access_of_the_same_name(name):
    assert {"causal", "full", "prefix", "lookahead-K", "encoder-decoder"} == set(MASKS)
    np.testing.assert_array_equal(access(layer_masks(name, 3, 7)).numpy(), pattern(name, 7))
    prefix = layer_masks("prefix", 3, 7, condition_lengths=torch.tensor([4]))
    np.testing.assert_array_equal(access(prefix)[0, 0].numpy(), pattern("prefix-4", 7))


@pytest.mark.parametrize(
    ("name", "added", "taken", "words"),
    [
        ("causal", (2, 5), (), "nearest is causal, which differs at 1 pair, first where query 2 sees key 5"),
        ("causal", (), (4, 1), "nearest is causal, which differs at 1 pair, first where query 4 does not see key 1"),
        ("window-2-0", (1, 6), (), "nearest is window-2-0, which differs at 1 pair, first where query 1 sees key 6"),
        ("lookahead-2", (0, 7), (), "nearest is lookahead-2, which differs at 1 pair, first where query 0 sees key 7"),
        ("prefix-4", (), (6, 2), "is prefix-4, which differs at 1 pair, first where query 6 does not see key 2"),
    ],
)
def test_an_outlier_does_not_hide_the_pattern_it_departs_from(name, added, taken, words):
    matrix = pattern(name, 8)
    if added:
        matrix[added] = True
    if taken:
        matrix[taken] = False
    assert verdict(matrix).name == "other"
    assert verdict(matrix).sentence.endswith(words)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("lookahead-1", "each query sees itself, every key before it and 1 key after it"),
        ("prefix-3", "each query sees the first 3 keys, itself and every key before it"),
        ("window-2-0", "each query sees itself and 2 keys before it"),
        ("window-0-1", "each query sees itself and 1 key after it"),
        ("window-1-3", "each query sees itself, 1 key before it and 3 keys after it"),
        ("block-3", "blocks of 3 positions do not see each other; inside, a query sees every key"),
        (
            "causal-block-3-5",
            "blocks of 3 + 5 positions do not see each other; inside, a query sees itself and every key before it",
        ),
    ],
)
def test_the_sentence_says_who_sees_whom(name, sentence):
    assert verdict(pattern(name, 8)).sentence == sentence


@pytest.mark.parametrize(
    "name",
    ["diagonals", "lookahead", "lookahead-x", "lookahead-1-2", "prefix", "window-2", "block", "block-0", "Causal", ""],
)
def test_an_unknown_name_is_refused_with_those_that_are_known(name):
    with pytest.raises(StudyError, match="is not known; use one of none, diagonal, causal"):
        pattern(name, 8)


def test_blocks_that_do_not_add_up_are_refused():
    with pytest.raises(StudyError, match="the blocks of 'block-3-4' hold 7 positions, but there are 8"):
        pattern("block-3-4", 8)


def test_what_is_expected_may_be_a_matrix():
    np.testing.assert_array_equal(as_matrix(torch.eye(3, dtype=torch.bool), 3), np.eye(3, dtype=bool))
    np.testing.assert_array_equal(as_matrix("causal", 3), pattern("causal", 3))
    for wrong in (np.eye(3), np.eye(3, dtype=int), np.eye(4, dtype=bool), np.ones(3, dtype=bool)):
        with pytest.raises(StudyError, match=r"a boolean matrix of shape \(3, 3\)"):
            as_matrix(wrong, 3)


def test_a_key_that_must_not_be_seen_comes_before_one_that_is_missing():
    matrix, expected = pattern("causal", 5), pattern("causal", 5)
    assert first_difference(matrix, expected) is None
    matrix[1, 0] = False
    assert first_difference(matrix, expected) == (1, 0)
    matrix[3, 4] = matrix[4, 4] = True
    assert first_difference(matrix, expected) == (3, 4)


# --- printed ----------------------------------------------------------------------------------------------------------


def test_every_pair_has_its_mark():
    matrix, expected = pattern("lookahead-1", 3), pattern("causal", 3)
    matrix[2, 0] = False
    lines = grid(matrix, expected).splitlines()
    assert lines == [
        "         key",
        "        0 1 2",
        "query 0 ■ ✗ ·",
        "      1 ■ ■ ✗",
        "      2 ○ ■ ■",
    ]
    assert grid(matrix).splitlines()[2:] == ["query 0 ■ ■ ·", "      1 ■ ■ ■", "      2 · ■ ■"]
    assert all(mark in LEGEND for mark in (SEEN, UNSEEN, FORBIDDEN, MISSING))


@given(st.integers(1, 130), st.integers(0, 2**31))
def test_a_grid_of_any_length_shows_each_pair_where_it_stands(length, seed):
    matrix = np.random.default_rng(seed).random((length, length)) < 0.5
    lines = grid(matrix).splitlines()
    assert max(map(len, lines)) <= 120
    assert len(lines) <= 70
    if length <= 32:
        digits = len(str(length - 1))
        marks = [line[6 + digits :].replace(" ", "") for line in lines[2:]]
        assert marks == ["".join(SEEN if seen else UNSEEN for seen in row) for row in matrix]
    elif length <= 96:
        halves = [line[10:-1] for line in lines[1:]]
        upper = [[half in "▀█" for half in line] for line in halves]
        lower = [[half in "▄█" for half in line] for line in halves]
        rows = [row for pair in zip(upper, lower, strict=True) for row in pair]
        np.testing.assert_array_equal(np.array(rows)[:length], matrix)
    else:
        shares = [line[12:-1] for line in lines[1:]]
        assert len(shares) == -(-length // 4)
        assert {len(line) for line in shares} == {-(-length // 2)}
        for row, line in enumerate(shares):
            for column, mark in enumerate(line):
                cell = matrix[4 * row : 4 * row + 4, 2 * column : 2 * column + 2]
                assert mark == ("█" if cell.all() else "▒" if cell.any() else " ")
