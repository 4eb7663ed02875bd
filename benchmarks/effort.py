"""How much a run of the benchmarks measures."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Effort:
    """What the command line asks for.

    Attributes:
        rounds: how often each variant is timed; None for as often as the benchmark thinks right.
        smallest: the smallest sizes, which show that a benchmark runs and measure nothing.
        jobs: about as many jobs has the study whose planning is timed.
        results: a finished study, for the benchmark of its figures.
    """

    rounds: int | None = None
    smallest: bool = False
    jobs: int = 4000
    results: Path = Path("results")

    @property
    def warmup(self) -> int:
        """Rounds that do not count."""
        return 0 if self.smallest else 1

    def rounds_or(self, usual: int) -> int:
        """How often each variant is timed."""
        return self.rounds or (1 if self.smallest else usual)
