import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskstudy.data.documents import Document
from maskstudy.data.groups import LEAST_GROUPS, SHARES, split_by_group
from maskstudy.errors import StudyError


def documents(groups):
    return [Document(str(group), f"text {place}") for place, group in enumerate(groups)]


@settings(deadline=None)
@given(st.lists(st.integers(0, 200), min_size=100, max_size=300))
def test_a_group_is_in_one_split_and_nothing_is_lost(groups):
    items = documents([*groups, *range(300, 320)])
    splits = split_by_group(items, "mine")
    assert list(splits) == list(SHARES)
    homes = {}
    for split, members in splits.items():
        assert members == [item for item in items if item in members]  # in their order
        for item in members:
            assert homes.setdefault(item.group, split) == split
    assert sum(map(len, splits.values())) == len(items)
    for split, share in SHARES.items():
        assert abs(sum(home == split for home in homes.values()) - share * len(homes)) <= 1


@pytest.mark.parametrize("count", [*range(LEAST_GROUPS, 31), 1000])
def test_shares_are_kept_whatever_the_number(count):
    halves = split_by_group(documents(range(count)), "mine", {"a": 0.9, "b": 0.1})
    assert len(halves["b"]) == pytest.approx(0.1 * count, abs=0.5)
    assert len(halves["a"]) + len(halves["b"]) == count


def test_the_same_data_gives_the_same_splits_and_they_are_drawn():
    items = documents(range(100))
    assert split_by_group(items, "mine") == split_by_group(list(items), "mine")
    test = [int(item.group) for item in split_by_group(items, "mine")["test"]]
    assert test != list(range(90, 100))
    assert len(test) == 10


def test_too_few_groups_are_one_line_however_many_examples_they_have():
    with pytest.raises(StudyError, match=r"^mine: 19 different examples; at least 20 ") as raised:
        split_by_group(documents([*range(19)] * 50), "mine")
    assert "\n" not in str(raised.value)
