import numpy as np
import pytest

from maskstudy.errors import StudyError
from maskstudy.parameters import check_positive, check_share, check_whole


@pytest.mark.parametrize("value", [2, 3, 5])
def test_whole_numbers_within_the_limits_pass(value):
    check_whole("task: size", value, 2, 5)


@pytest.mark.parametrize("value", [1, 6, -2, 2.0, "3", True, None, np.nan, [3]])
def test_anything_else_is_one_line_that_says_what_is_allowed(value):
    with pytest.raises(StudyError) as raised:
        check_whole("task: size", value, 2, 5)
    assert str(raised.value) == f"task: size: {value!r}; allowed: whole numbers from 2 to 5"


def test_true_is_no_number_though_python_counts_it_as_one():
    with pytest.raises(StudyError, match="task: size: True"):
        check_whole("task: size", True, 0)


def test_there_may_be_no_largest_number():
    check_whole("task: size", 10**30, 0)
    with pytest.raises(StudyError, match=r"task: size: -1; allowed: whole numbers from 0$"):
        check_whole("task: size", -1, 0)


def test_none_passes_where_it_stands_for_all():
    check_whole("task: size", None, 1, or_null=True)
    check_whole("task: size", 1, 1, or_null=True)
    with pytest.raises(StudyError, match=r"task: size: 0; allowed: whole numbers from 1, or null for all$"):
        check_whole("task: size", 0, 1, or_null=True)


@pytest.mark.parametrize("value", [1e-300, 1, 0.5])
def test_numbers_above_zero_pass(value):
    check_positive("task: share", value)


@pytest.mark.parametrize("value", [0, -1, np.inf, np.nan, True, "1", None])
def test_other_numbers_are_one_line(value):
    with pytest.raises(StudyError) as raised:
        check_positive("task: share", value)
    assert str(raised.value) == f"task: share: {value!r}; allowed: numbers above 0"


@pytest.mark.parametrize("value", [1e-300, 1, 0.5])
def test_shares_of_a_whole_pass(value):
    check_share("task: share", value)


@pytest.mark.parametrize("value", [0, -1, 1.01, np.inf, np.nan, True, "1", None])
def test_what_is_no_share_is_one_line(value):
    with pytest.raises(StudyError) as raised:
        check_share("task: share", value)
    assert str(raised.value) == f"task: share: {value!r}; allowed: numbers above 0, at most 1"
