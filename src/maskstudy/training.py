"""Training: cross-entropy over the scored positions, the same loop for every task and mask.

A run is a pure function of code, task, data, mask and seed. The mask decides nothing but the masks: initial weights,
batch order, hidden positions and the number of steps are the same for all masks of a seed. All of them are drawn on the
processor, so that they are the same whatever the device.
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
import torch
import torch.nn.functional as F

from maskstudy.batching import batches
from maskstudy.device import reduced_precision
from maskstudy.errors import StudyError
from maskstudy.evaluation import Model, build_model, log_probabilities, model_input
from maskstudy.optimizer import MuonWithAdamW
from maskstudy.randomness import stream, torch_seed
from maskstudy.scoring import score
from maskstudy.shape import ModelShape
from maskstudy.tasks.task import Examples, Task
from maskstudy.training_settings import TrainingSettings

PROCESSOR = torch.device("cpu")


class Diverged(StudyError):
    """The loss stopped being a number."""


@dataclass(frozen=True)
class HistoryRow:
    """One point of a learning curve; the columns of the schema `HISTORY`."""

    step: int
    tokens_seen: int
    split: str
    nats: float
    accuracy: float
    learning_rate: float


@dataclass(frozen=True)
class Cost:
    """What a run consumed, a pure function of its inputs.

    Attributes:
        steps: optimiser steps.
        tokens_seen: real tokens that went in, padding left out, repeats counted.
        targets_seen: scored positions that gave a gradient.
        train_flops: of all forward and backward passes, matrix products alone.
    """

    steps: int
    tokens_seen: int
    targets_seen: int
    train_flops: float


def train(
    task: Task,
    mask: str,
    examples: Examples,
    validation: Examples,
    shape: ModelShape,
    settings: TrainingSettings,
    seed: int,
    report: Callable[[str], None] = print,
    device: torch.device = PROCESSOR,
) -> tuple[Model, list[HistoryRow], Cost]:
    """Train one model.

    Args:
        task: draws the batches (and hides what it hides).
        mask: a mask of the study.
        examples: the train split.
        validation: the validation split, for the learning curve alone.
        shape: of the model.
        settings: steps, batch size, learning rates.
        seed: of the run.
        report: called with one line at each point of the learning curve.
        device: where the steps are computed.

    Returns:
        The trained model, on the processor and in float32 whatever the device, its learning curve and its cost.

    Raises:
        Diverged: the loss stopped being a number.
    """
    torch.manual_seed(torch_seed(seed, "weights"))
    model = build_model(mask, shape).to(device)
    torch.manual_seed(torch_seed(seed, "dropout"))
    optimizer = MuonWithAdamW(model, settings.learning_rate, settings.adamw_learning_rate, settings.weight_decay)
    hiding = stream(seed, "hiding")
    history: list[HistoryRow] = []
    tokens_seen = targets_seen = 0
    flops = 0.0
    summed = np.zeros(3)  # nats, right answers, answers since the last point
    started = time.perf_counter()
    for step, index in enumerate(batches(examples.lengths, settings.steps, settings.batch, seed), start=1):
        batch = task.batch(examples, index, hiding)
        tokens, masks, scored = model_input(mask, shape.layers, batch, device)
        targets = torch.from_numpy(batch.targets[batch.scored].astype(np.int64)).to(device)
        model.train()
        with reduced_precision(device):
            logits = model(tokens, masks, scored).float()
        loss = F.cross_entropy(logits, targets)
        loss.backward()
        optimizer.step(settings.rate_factor(step))

        tokens_seen += int(batch.lengths.sum())
        targets_seen += len(targets)
        flops += 3 * model.flops(tokens, masks, len(targets))  # backward = twice forward
        summed += (loss.item() * len(targets), (logits.argmax(-1) == targets).sum().item(), len(targets))
        if step % settings.report_every == 0 or step == settings.steps:
            rate = settings.learning_rate * settings.rate_factor(step)
            curve = {"train": (summed[0] / summed[2], summed[1] / summed[2])}
            held_out = score(log_probabilities(model, mask, validation), validation).metrics()
            curve["validation"] = (held_out["nats"], held_out["accuracy"])
            for split, (nats, _) in curve.items():
                if not np.isfinite(nats):
                    raise Diverged(f"step {step}: the {split} loss is {nats}; lower the learning rates in config.yaml")
            history += [HistoryRow(step, tokens_seen, split, *values, rate) for split, values in curve.items()]
            summed[:] = 0
            left = (time.perf_counter() - started) / step * (settings.steps - step)
            report(
                f"step {step}/{settings.steps}  train {curve['train'][0]:.4f} nats  "
                f"validation {held_out['nats']:.4f} nats, accuracy {held_out['accuracy']:.4f}  {left:.0f} s left"
            )
    return model.to(PROCESSOR), history, Cost(settings.steps, tokens_seen, targets_seen, flops)


def history_columns(history: list[HistoryRow]) -> dict[str, list[object]]:
    """The learning curve by column, as `HISTORY` wants it."""
    rows = [asdict(row) for row in history]
    return {name: [row[name] for row in rows] for name in HistoryRow.__dataclass_fields__}
