"""How much a run of the benchmarks measures."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """What the command line asks for.

    Attributes:
        rounds: how often each variant is timed; None for as often as the benchmark thinks right.
        smallest: the smallest sizes, which show that a benchmark runs and measure nothing.
        jobs: runs of the study whose planning is timed.
    """

    rounds: int | None = None
    smallest: bool = False
    jobs: int = 4000

    def rounds_or(self, usual: int) -> int:
        """How often each variant is timed."""
        return self.rounds or (1 if self.smallest else usual)
