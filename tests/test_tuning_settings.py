import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskstudy.config import seeds
from maskstudy.errors import StudyError
from maskstudy.statistics import MOST_SEEDS
from maskstudy.training_settings import TrainingSettings
from maskstudy.tuning_settings import TuningSettings, at_edge, choose, scaled

TRAINING = TrainingSettings(steps=1300, batch=64, learning_rate=0.02, adamw_learning_rate=0.003, warmup=50)
SCALES = st.sets(st.sampled_from([0.1, 0.25, 0.5, 2.0, 3.0, 8.0]), max_size=5).map(lambda found: sorted({1.0, *found}))
CURVES = SCALES.flatmap(
    lambda scales: st.fixed_dictionaries({scale: st.floats(0.1, 4) | st.just(math.inf) for scale in scales})
).filter(lambda curve: any(map(math.isfinite, curve.values())))


@given(curve=CURVES)
def test_without_a_tolerance_the_best_is_chosen(curve):
    assert curve[choose(curve, 0)] == min(curve.values())


@given(curve=CURVES, tolerance=st.floats(0, 2))
def test_what_is_chosen_is_close_to_the_best_and_nothing_as_close_is_nearer_to_the_declared_rates(curve, tolerance):
    chosen = choose(curve, tolerance)
    best = min(curve.values())
    assert curve[chosen] <= best + tolerance
    for scale, nats in curve.items():
        if nats <= best + tolerance:
            assert abs(math.log(chosen)) <= abs(math.log(scale))


@given(curve=CURVES)
def test_a_wide_tolerance_keeps_the_declared_rates_where_they_train_at_all(curve):
    if math.isfinite(curve[1.0]):
        assert choose(curve, 10) == 1.0


def test_of_two_as_near_and_as_good_the_smaller_is_chosen():
    assert choose({0.5: 1.0, 1.0: 2.0, 2.0: 1.0}, 0) == 0.5


def test_a_loss_that_is_no_number_is_never_chosen():
    assert choose({0.5: 1.0, 1.0: math.nan, 2.0: math.inf}, 1) == 0.5
    with pytest.raises(StudyError, match="no number at any scale; lower the learning rates"):
        choose({0.5: math.nan, 1.0: math.inf}, 1)


def test_the_edge_is_the_first_and_the_last_of_a_grid_that_has_others():
    assert [at_edge(scale, (0.5, 1, 2)) for scale in (0.5, 1, 2)] == [True, False, True]
    assert not at_edge(1, (1,))


def test_no_seed_of_the_tuning_is_one_that_a_study_can_report():
    tuning = TuningSettings((1.0,), seeds=3)
    assert len(tuning.seed_numbers) == 3
    reported = seeds({"seeds": MOST_SEEDS, "tasks": {"t": {}}}, "t")
    assert not set(tuning.seed_numbers) & set(reported)


def test_a_shorter_run_keeps_the_shape_of_its_schedule():
    short = TuningSettings((1.0,), steps=0.5).shortened(TRAINING)
    assert (short.steps, short.warmup, short.points) == (650, 25, 1)
    for part in (0.01, 0.2, 0.5, 0.9):
        whole = TRAINING.rate_factor(round(part * 1300))
        assert short.rate_factor(round(part * 650)) == pytest.approx(whole, abs=0.05)
    assert TuningSettings((1.0,), steps=1e-6).shortened(TRAINING).steps == 1


def test_both_rates_are_scaled_and_nothing_else():
    twice = scaled(TRAINING, 2)
    assert (twice.learning_rate, twice.adamw_learning_rate) == (0.04, 0.006)
    assert scaled(twice, 0.5) == TRAINING


def test_the_grid_is_read_in_order():
    assert TuningSettings.of({"scales": [2, 1, 0.5], "steps": 0.5}) == TuningSettings((0.5, 1.0, 2.0), 1, 0.5)


@pytest.mark.parametrize(
    "wrong",
    [{"scales": (0.5, 2.0)}, {"scales": (0.0, 1.0)}, {"seeds": 0}, {"steps": 0}, {"steps": 1.5}, {"tolerance": -1}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_grid_that_cannot_be_searched_is_refused(wrong):
    with pytest.raises(StudyError, match=f"tuning: {next(iter(wrong))} .* allowed: "):
        TuningSettings(**{"scales": (1.0,), **wrong})
