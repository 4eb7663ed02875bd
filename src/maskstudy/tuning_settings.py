"""Equal tuning: which learning rates each cell tries, and which one it takes. No torch: config.yaml is checked with it.

Every cell tries the same multiples of the learning rates that its task declares, on validation data, with seeds that
the study never reports. A multiple is taken only where it is better than the declared rates by more than `tolerance`:

    >>> choose({0.5: 1.310, 1.0: 1.302, 2.0: 1.300}, tolerance=0.005)
    1.0
    >>> choose({0.5: 1.310, 1.0: 1.302, 2.0: 1.250}, tolerance=0.005)
    2.0
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from maskstudy.errors import StudyError
from maskstudy.training_settings import TrainingSettings

FIRST_SEED = 1000  # of tuning; beyond every seed that a study can report


@dataclass(frozen=True)
class TuningSettings:
    """The grid, and what each of its points is given.

    Attributes:
        scales: multiples of the learning rates that config.yaml declares; 1 is among them.
        seeds: runs of each scale.
        steps: share of the steps of a run.
        tolerance: nats on validation data by which a scale must be better than one that is nearer to 1.

    Raises:
        StudyError: a value is out of range.
    """

    scales: tuple[float, ...]
    seeds: int = 1
    steps: float = 1.0
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a grid that cannot be searched."""
        if 1 not in self.scales or not all(scale > 0 for scale in self.scales):
            raise StudyError(f"tuning: scales {list(self.scales)}; allowed: numbers above 0, and 1 among them")
        if self.seeds < 1:
            raise StudyError(f"tuning: seeds {self.seeds} is out of range; allowed: 1 or more")
        if not 0 < self.steps <= 1:
            raise StudyError(f"tuning: steps {self.steps} is out of range; allowed: above 0 to 1, a share of a run")
        if not self.tolerance >= 0:
            raise StudyError(f"tuning: tolerance {self.tolerance} is out of range; allowed: 0 or more, in nats")

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> "TuningSettings":
        """Read the entry `tuning` of config.yaml."""
        return cls(**{**value, "scales": tuple(sorted(float(scale) for scale in value["scales"]))})

    @property
    def seed_numbers(self) -> list[int]:
        """The seeds of tuning, none of which a study reports."""
        return list(range(FIRST_SEED, FIRST_SEED + self.seeds))

    def shortened(self, training: TrainingSettings) -> TrainingSettings:
        """A run of tuning: fewer steps, the same schedule, and one point of the learning curve, at the end."""
        return replace(
            training,
            steps=max(1, round(self.steps * training.steps)),
            warmup=round(self.steps * training.warmup),
            points=1,
        )


def scaled(training: TrainingSettings, scale: float) -> TrainingSettings:
    """The same training with both learning rates multiplied by `scale`."""
    return replace(
        training,
        learning_rate=scale * training.learning_rate,
        adamw_learning_rate=scale * training.adamw_learning_rate,
    )


def choose(nats: Mapping[float, float], tolerance: float) -> float:
    """The scale nearest to 1 (in ratio) of those within `tolerance` of the best; of two as near, the smaller.

    One seed does not tell neighbours apart whose difference is noise: without the tolerance each cell would take
    another rate by chance.

    Args:
        nats: mean validation loss of each scale; not finite where the training diverged.
        tolerance: in nats.

    Raises:
        StudyError: the training diverged at every scale.
    """
    finite = {scale: value for scale, value in nats.items() if math.isfinite(value)}
    if not finite:
        raise StudyError("tuning: the loss is no number at any scale; lower the learning rates in config.yaml")
    best = min(finite.values())
    close = [scale for scale, value in finite.items() if value <= best + tolerance]
    return min(close, key=lambda scale: (abs(math.log(scale)), scale))


def at_edge(scale: float, scales: Sequence[float]) -> bool:
    """Whether a better scale may lie outside the grid: the chosen one is its first or last, and it has others."""
    return len(scales) > 1 and scale in (min(scales), max(scales))
