"""Taking turns, and what is made of the times."""

import numpy as np
import pytest
from benchmarks.timing import alternating, rates, ratio, spread, timed


def test_every_round_measures_each_variant_once_in_turning_order_and_warmup_does_not_count():
    order = []

    def measure(name):
        order.append(name)
        return float(len(order))

    seconds = alternating({name: lambda name=name: measure(name) for name in "abc"}, rounds=3, warmup=1)
    assert "".join(order) == "abc" + "cba" + "abc" + "cba"
    assert seconds == {"a": [6.0, 7.0, 12.0], "b": [5.0, 8.0, 11.0], "c": [4.0, 9.0, 10.0]}


def test_a_clock_is_read_before_and_after():
    readings = iter([3.0, 10.0])
    assert timed(lambda: None, clock=lambda: next(readings))() == 7.0


def test_the_spread_is_median_and_quartiles():
    values = np.random.default_rng(0).random(41)
    low, median, high = np.quantile(values, [0.25, 0.5, 0.75])
    found = spread(values.tolist())
    assert (found.low, found.median, found.high) == pytest.approx((low, median, high))
    assert spread([2.0]).low == spread([2.0]).high == 2.0


def test_a_ratio_is_taken_within_the_round():
    slow, quick = [2.0, 20.0, 200.0], [1.0, 10.0, 100.0]  # the machine slows down, the ratio stays
    assert ratio(slow, quick).low == ratio(slow, quick).high == 2.0
    with pytest.raises(ValueError, match="zip"):
        ratio(slow, quick[:2])


def test_a_rate_is_an_amount_a_second():
    assert rates(6.0, [2.0, 3.0, 6.0]).median == 2.0
