import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskstudy.errors import StudyError
from maskstudy.training_settings import TrainingSettings


def given_settings(**changes):
    return TrainingSettings(**({"steps": 10, "batch": 4, "learning_rate": 0.1, "adamw_learning_rate": 0.01} | changes))


def test_the_rate_rises_stays_and_falls():
    schedule = given_settings(steps=10, warmup=4, decay=0.4)
    assert [schedule.rate_factor(step) for step in range(1, 11)] == pytest.approx(
        [0.25, 0.5, 0.75, 1, 1, 1, 1, 0.75, 0.5, 0.25]
    )


def test_without_warmup_and_decay_the_rate_stays():
    schedule = given_settings(warmup=0, decay=0)
    assert {schedule.rate_factor(step) for step in range(1, 11)} == {1.0}


def test_where_rise_and_fall_meet_the_lower_one_holds():
    schedule = given_settings(steps=4, warmup=4, decay=1)
    assert [schedule.rate_factor(step) for step in range(1, 5)] == pytest.approx([0.25, 0.5, 0.5, 0.25])


@settings(max_examples=200)
@given(st.integers(1, 300), st.integers(0, 400), st.floats(0, 1))
def test_no_step_is_wasted_and_none_is_above_the_peak(steps, warmup, decay):
    schedule = given_settings(steps=steps, warmup=warmup, decay=decay)
    factors = [schedule.rate_factor(step) for step in range(1, steps + 1)]
    assert all(0 < factor <= 1 for factor in factors)
    peak = factors.index(max(factors))
    assert factors[: peak + 1] == sorted(factors[: peak + 1])
    assert factors[peak:] == sorted(factors[peak:], reverse=True)


@settings(max_examples=100)
@given(st.integers(1, 5000), st.integers(1, 100))
def test_the_learning_curve_has_about_as_many_points_as_asked_for(steps, points):
    every = given_settings(steps=steps, points=points).report_every
    assert every >= 1
    assert min(steps, points) <= math.ceil(steps / every) <= 2 * points


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": 0}, "steps 0 is out of range; allowed: 1 or more"),
        ({"batch": 0}, "batch 0 is out of range; allowed: 1 or more"),
        ({"points": -1}, "points -1 is out of range; allowed: 1 or more"),
        ({"learning_rate": 0}, "learning_rate 0 is out of range; allowed: above 0"),
        ({"learning_rate": math.nan}, "learning_rate nan is out of range"),
        ({"adamw_learning_rate": -0.1}, "adamw_learning_rate -0.1 is out of range; allowed: above 0"),
        ({"decay": 1.5}, "decay 1.5 is out of range; allowed: 0 to 1"),
        ({"decay": -0.1}, "decay -0.1 is out of range"),
        ({"warmup": -1}, "warmup -1 is out of range; allowed: 0 or more"),
        ({"weight_decay": -0.1}, "weight_decay -0.1 is out of range; allowed: 0 or more"),
    ],
)
def test_values_that_train_nothing_are_refused_in_one_line(changes, message):
    with pytest.raises(StudyError, match=message) as raised:
        given_settings(**changes)
    assert "\n" not in str(raised.value)
