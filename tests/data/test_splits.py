from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskstudy.data.splits import check_disjoint, without_repeats
from maskstudy.errors import StudyError
from maskstudy.tasks.task import NOT_SCORED, NOWHERE, Examples

SPLITS = ("train", "validation", "test")
PAD, MASK = 90, 91


def examples(rows, name, scored=True, padding=PAD):
    """Examples of a task that answers every token with 7, or of one that keeps its train examples whole."""
    length = max((len(row) for row in rows), default=1)
    tokens = np.full((len(rows), length), padding, dtype=np.int16)
    for place, row in enumerate(rows):
        tokens[place, : len(row)] = row
    lengths = np.array([len(row) for row in rows], dtype=np.int32)
    targets = np.full_like(tokens, NOT_SCORED)
    if scored:
        targets[np.arange(length) < lengths[:, None]] = 7
    return Examples(
        tokens=tokens,
        targets=targets,
        lengths=lengths,
        condition_lengths=np.zeros_like(lengths),
        target_positions=np.full_like(tokens, NOWHERE),
        groups=np.array([f"{name} {place}" for place in range(len(rows))], dtype=np.str_),
    )


def hide(whole, places):
    """Hide one position of every example."""
    rows = np.arange(len(whole))
    tokens, targets = whole.tokens.copy(), np.full_like(whole.targets, NOT_SCORED)
    targets[rows, places], tokens[rows, places] = tokens[rows, places], MASK
    return replace(whole, tokens=tokens, targets=targets)


def three(train, validation, test, **keywords):
    return {
        split: examples(rows, split, **keywords) for split, rows in zip(SPLITS, (train, validation, test), strict=True)
    }


def message_of(splits):
    with pytest.raises(StudyError) as raised:
        check_disjoint(splits)
    message = str(raised.value)
    assert "\n" not in message
    return message


CLEAN = ([[1, 2], [3]], [[4]], [[5, 6]])


def test_clean_splits_pass():
    check_disjoint(three(*CLEAN))


@pytest.mark.parametrize(("one", "other"), [("train", "validation"), ("train", "test"), ("validation", "test")])
def test_a_group_in_two_splits_is_named(one, other):
    splits = three(*CLEAN)
    groups = [*splits[other].groups[:-1], splits[one].groups[-1]]
    splits[other] = replace(splits[other], groups=np.array(groups))
    message = message_of(splits)
    for part in (one, other, repr(str(groups[-1]))):
        assert part in message


@pytest.mark.parametrize(
    ("rows", "one", "other"),
    [
        (([[1, 2], [3]], [[4]], [[5, 6], [3]]), "train 1", "test 1"),
        (([[1, 2], [3]], [[1, 2]], [[5, 6]]), "train 0", "validation 0"),
        (([[1, 2], [3]], [[5, 6]], [[5, 6]]), "validation 0", "test 0"),
    ],
)
def test_an_identical_example_in_two_splits_is_named(rows, one, other):
    message = message_of(three(*rows))
    assert f"'{one}'" in message
    assert f"'{other}'" in message


def test_padding_is_not_compared():
    splits = three([[1, 2], [3]], [[4]], [[5, 6, 7], [3]])  # other widths
    splits["test"] = replace(
        splits["test"], tokens=np.where(splits["test"].tokens == PAD, 55, splits["test"].tokens).astype(np.int16)
    )
    assert "'test 1'" in message_of(splits)


def test_an_example_that_only_begins_alike_is_another_one():
    check_disjoint(three([[1, 2]], [[1]], [[1, 2, PAD]]))


def test_hidden_tokens_are_put_back_before_comparing():
    whole = three([[1, 2], [3, 4]], [[5, 6]], [[7, 8], [3, 4]], scored=False)
    splits = {
        "train": whole["train"],
        "validation": hide(whole["validation"], [0]),
        "test": hide(whole["test"], [0, 1]),
    }
    assert "'test 1'" in message_of(splits)
    cleaned, left_out = without_repeats(splits)
    assert left_out == {"train": 1, "validation": 0, "test": 0}
    check_disjoint(cleaned)


def test_two_examples_with_different_hidden_positions_are_still_the_same():
    whole = three([[1, 2]], [[5, 6]], [[5, 6]], scored=False)
    splits = {
        "train": whole["train"],
        "validation": hide(whole["validation"], [0]),
        "test": hide(whole["test"], [1]),
    }
    assert "'validation 0'" in message_of(splits)


def test_answers_outside_the_input_are_not_taken_for_tokens():
    # Every position answers 7: with the answers put back, all examples of one length would be the same.
    check_disjoint(three([[1, 2]], [[3, 4]], [[5, 6]]))


@pytest.mark.parametrize("split", SPLITS)
def test_a_missing_or_empty_split_fails(split):
    splits = three(*CLEAN)
    assert split in message_of({name: each for name, each in splits.items() if name != split})
    assert split in message_of(splits | {split: splits[split][:0]})


@pytest.mark.parametrize("split", SPLITS)
def test_examples_without_groups_fail(split):
    splits = three(*CLEAN)
    splits[split] = replace(splits[split], groups=np.empty(0, dtype=np.str_))
    assert split in message_of(splits)


rows = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=3), min_size=1, max_size=8)


@settings(deadline=None)
@given(rows, rows, rows)
def test_what_is_left_is_disjoint_and_nothing_else_is_lost(train, validation, test):
    splits = three(train, validation, test)
    taken = {"train": validation + test, "validation": test, "test": []}
    kept = {
        name: [place for place, row in enumerate(each) if row not in taken[name]]
        for name, each in zip(SPLITS, (train, validation, test), strict=True)
    }
    if not all(kept.values()):
        with pytest.raises(StudyError, match="no example in"):
            without_repeats(splits)
        return
    cleaned, left_out = without_repeats(splits)
    check_disjoint(cleaned)
    for split in SPLITS:
        assert cleaned[split].groups.tolist() == [f"{split} {place}" for place in kept[split]]
        assert left_out[split] == len(splits[split]) - len(kept[split])
