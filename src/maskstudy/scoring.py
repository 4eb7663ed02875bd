"""Scores of any predictor, whether model, baseline or ideal observer, from its log-probabilities."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from maskstudy.schemas import PREDICTIONS
from maskstudy.tasks.task import Examples
from maskstudy.transcripts import Transcripts


@dataclass(frozen=True)
class Scores:
    """One entry an example, in the order of the split.

    Attributes:
        scored: `[examples]`, scored positions.
        correct: `[examples]`, how many of them were answered right.
        nats: `[examples]`, negative log-probability of the targets, summed over the scored positions.
        predictions: `[scored positions]`, the likeliest answer at each, in row-major order.
        transcripts: what was written where the task has answers to write.
    """

    scored: NDArray[np.int32]
    correct: NDArray[np.int32]
    nats: NDArray[np.float64]
    predictions: NDArray[np.int16]
    transcripts: Transcripts | None = None

    def metrics(self) -> dict[str, float]:
        """Accuracy (share of right answers), nats (mean over scored positions), and PER and WER of what was written.

        A predictor that writes whole answers alone (`score_written`) has no accuracy and no nats.
        """
        written = {} if self.transcripts is None else self.transcripts.metrics()
        scored = int(self.scored.sum())
        if written and not scored:
            return written
        return {"accuracy": float(self.correct.sum() / scored), "nats": float(self.nats.sum() / scored)} | written

    def table(self) -> pa.Table:
        """The scores as rows of the schema `PREDICTIONS`."""
        offsets = np.concatenate([[0], np.cumsum(self.scored)]).astype(np.int32)
        none = pa.nulls(len(self.scored))
        written = {name: none for name in PREDICTIONS.names if name in Transcripts.__dataclass_fields__}
        return pa.table(
            {
                "example": np.arange(len(self.scored), dtype=np.int32),
                "scored": self.scored,
                "correct": self.correct,
                "nats": self.nats,
                "predictions": pa.ListArray.from_arrays(pa.array(offsets), pa.array(self.predictions)),
            }
            | (written if self.transcripts is None else vars(self.transcripts)),
            schema=PREDICTIONS,
        )


def score(log_probabilities: NDArray[np.floating], examples: Examples) -> Scores:
    """Score predictions against the targets.

    Args:
        log_probabilities: `[scored positions, answers]` natural logarithms, in row-major order of the examples.
        examples: whose targets are the right answers.
    """
    scored = examples.scored
    rows = np.nonzero(scored)[0]
    targets = examples.targets[scored].astype(np.int64)
    predictions = log_probabilities.argmax(-1)
    of_targets = np.take_along_axis(log_probabilities, targets[:, None], axis=-1)[:, 0].astype(np.float64)
    return Scores(
        scored=scored.sum(-1).astype(np.int32),
        correct=np.bincount(rows, weights=predictions == targets, minlength=len(examples)).astype(np.int32),
        nats=np.bincount(rows, weights=-of_targets, minlength=len(examples)).astype(np.float64),
        predictions=predictions.astype(np.int16),
    )


def score_written(written: Transcripts) -> Scores:
    """The scores of a predictor that writes whole answers and says nothing of single positions."""
    none = np.zeros(len(written.words), dtype=np.int32)
    return Scores(none, none, none.astype(np.float64), np.empty(0, dtype=np.int16), written)
