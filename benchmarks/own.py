"""The study's own model and training loop, as the benchmarks call them."""

import time
from collections.abc import Callable, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from maskstudy import training
from maskstudy.memory import keep_freed_memory
from maskstudy.shape import ModelShape
from maskstudy.tasks.next_byte import NextByte
from maskstudy.tasks.task import Examples
from maskstudy.training_settings import TrainingSettings

Step = Callable[[], object]


def prepare_process() -> None:
    """What `maskstudy train` sets for its whole process."""
    keep_freed_memory()
    torch.set_deterministic_debug_mode("error")


def random_examples(shape: ModelShape, count: int) -> Examples:
    """Random tokens without padding, every position scored."""
    generator = np.random.default_rng(0)
    tokens, targets = (generator.integers(shape.answers, size=(count, shape.length), dtype=np.int16) for _ in range(2))
    lengths = np.full(count, shape.length, dtype=np.int32)
    return Examples(tokens, targets, lengths, np.zeros_like(lengths), np.full_like(tokens, -1))


def training_seconds(shape: ModelShape, mask: str, batch: int, steps: int) -> float:
    """CPU seconds a step of `maskstudy.training.train`, with all that it does.

    The learning curve gets its second point `steps` steps after its first: what lies between is counted, the scores of
    one validation example included, and the making of the model is not.
    """
    settings = TrainingSettings(2 * steps, batch, learning_rate=0.02, adamw_learning_rate=0.003, points=2)
    points: list[float] = []
    training.train(
        NextByte(length=shape.length),
        mask,
        random_examples(shape, 16 * batch),
        random_examples(shape, 1),
        shape,
        settings,
        seed=0,
        report=lambda _: points.append(time.process_time()),
    )
    first, second = points
    return (second - first) / steps


def adamw_step(model: nn.Module, logits: Callable[[Tensor], Tensor], tokens: Tensor, targets: Tensor) -> Step:
    """A plain training step: loss at every position, backward, clipping to norm 1, PyTorch's fused AdamW."""
    parameters = list(model.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=0.001, fused=True)
    model.train()

    def step() -> None:
        F.cross_entropy(logits(tokens).flatten(0, 1), targets.flatten()).backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def random_batch(shape: ModelShape, batch: int) -> Sequence[Tensor]:
    """Random tokens and targets `[batch, length]`."""
    examples = random_examples(shape, batch)
    return [torch.from_numpy(array.astype(np.int64)) for array in (examples.tokens, examples.targets)]
