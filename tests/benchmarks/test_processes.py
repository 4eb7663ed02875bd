"""Processes that take turns."""

import os
from functools import partial

import pytest
from benchmarks.processes import alone, taking_turns


def counting(start):
    """Each measurement is one more than the last one."""
    numbers = iter(range(start, start + 100))
    return lambda: float(next(numbers))


def process_number():
    return lambda: float(os.getpid())


def missing():
    raise ModuleNotFoundError("No module named 'x'", name="x")


def test_each_variant_keeps_its_own_state_in_its_own_process():
    with taking_turns({"a": partial(counting, 0), "b": partial(counting, 10), "pid": process_number}) as measures:
        assert [measures["a"](), measures["b"](), measures["a"](), measures["b"]()] == [0, 10, 1, 11]
        assert measures["pid"]() != os.getpid()


def test_a_variant_whose_module_is_not_installed_is_told_apart():
    with taking_turns({"there": process_number, "missing": missing}) as measures:
        assert isinstance(measures["missing"], ModuleNotFoundError)
        assert measures["missing"].name == "x"
        assert measures["there"]() > 0


def test_an_error_comes_back_from_a_function_that_was_called_alone():
    assert alone(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        alone(divmod, 7, 0)
