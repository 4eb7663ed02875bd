"""The matrix products of a step: as many operations as the model has."""

import pytest
from benchmarks.products import training_products

from maskstudy.shape import ModelShape, forward_flops


def test_they_are_the_operations_of_a_forward_pass_three_times():
    shape = ModelShape(vocabulary=11, answers=7, length=5, width=8, layers=3, heads=2)
    run, flops = training_products(shape, batch=4)
    run()
    assert flops == pytest.approx(3 * forward_flops(shape, tokens=20, length=5, scored=20))
