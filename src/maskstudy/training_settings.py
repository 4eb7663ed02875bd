"""How a run is trained. No torch: config.yaml is checked with it."""

from dataclasses import dataclass

from maskstudy.errors import StudyError


@dataclass(frozen=True)
class TrainingSettings:
    """Steps, batch size and learning rates of a run.

    Attributes:
        steps: optimiser steps.
        batch: examples a step.
        learning_rate: peak rate of Muon, for the matrices inside blocks.
        adamw_learning_rate: peak rate of AdamW, for everything else.
        weight_decay: decoupled, times the rate.
        warmup: first steps, over which the rates rise linearly.
        decay: share of the steps, at the end, over which they fall linearly to 0.
        points: of the learning curve.

    Raises:
        StudyError: a value is out of range.
    """

    steps: int
    batch: int
    learning_rate: float
    adamw_learning_rate: float
    weight_decay: float = 0.01
    warmup: int = 50
    decay: float = 0.7
    points: int = 20

    def __post_init__(self) -> None:
        """Refuse values that train nothing."""
        for name in ("steps", "batch", "points"):
            if getattr(self, name) < 1:
                raise StudyError(f"training: {name} {getattr(self, name)} is out of range; allowed: 1 or more")
        for name in ("learning_rate", "adamw_learning_rate"):
            if not getattr(self, name) > 0:
                raise StudyError(f"training: {name} {getattr(self, name)} is out of range; allowed: above 0")
        for name in ("weight_decay", "warmup"):
            if not getattr(self, name) >= 0:
                raise StudyError(f"training: {name} {getattr(self, name)} is out of range; allowed: 0 or more")
        if not 0 <= self.decay <= 1:
            raise StudyError(f"training: decay {self.decay} is out of range; allowed: 0 to 1, a share of the steps")

    @property
    def report_every(self) -> int:
        """Steps between two points of the learning curve."""
        return max(1, self.steps // self.points)

    def rate_factor(self, step: int) -> float:
        """Share of the peak learning rate at a step, counted from 1: linear rise, level, linear fall to (almost) 0."""
        rise = step / self.warmup if self.warmup else 1.0
        fall = (self.steps - step + 1) / (self.decay * self.steps) if self.decay else 1.0
        return min(1.0, rise, fall)
