"""Timing side by side: what is compared takes turns, round after round, and is compared within the round.

A machine that is busy for a second slows all variants of a round, and leaves the ratio of their times nearly as it was.
"""

import resource
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Clock = Callable[[], float]
Measure = Callable[[], float]  # does what is timed, and returns the seconds that it took
Seconds = dict[str, list[float]]


@dataclass(frozen=True)
class Spread:
    """A median with the quartiles around it."""

    median: float
    low: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    """The median of the values, and their first and third quartile; a single value is all three."""
    if len(values) == 1:
        return Spread(values[0], values[0], values[0])
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(median, low, high)


def ratio(numerators: Sequence[float], denominators: Sequence[float]) -> Spread:
    """The ratio within each round.

    Raises:
        ValueError: the two were not measured in the same rounds.
    """
    return spread([above / below for above, below in zip(numerators, denominators, strict=True)])


def rates(amount: float, seconds: Sequence[float]) -> Spread:
    """So much a second, in each round."""
    return spread([amount / taken for taken in seconds])


def children_cpu() -> float:
    """CPU seconds, user and system, of the finished processes that this one started, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(run: Callable[[], object], clock: Clock = time.process_time) -> Measure:
    """Measures `run`.

    Args:
        run: called once.
        clock: `time.process_time` counts the CPU seconds of this process, which other processes disturb less than wall
            time; `children_cpu` those of the processes that `run` starts and waits for.
    """

    def measure() -> float:
        started = clock()
        run()
        return clock() - started

    return measure


def alternating(measures: Mapping[str, Measure], rounds: int, warmup: int = 1) -> Seconds:
    """Seconds of every variant in every round.

    Every other round runs in the opposite order, so that none always follows the same neighbour.

    Args:
        measures: takes the time of a variant once, by name.
        rounds: how often.
        warmup: rounds before those, which do not count.
    """
    seconds: Seconds = {name: [] for name in measures}
    for number in range(warmup + rounds):
        for name in list(measures)[:: 1 if number % 2 == 0 else -1]:
            taken = measures[name]()
            if number >= warmup:
                seconds[name].append(taken)
    return seconds
