"""What each mask of the study costs in a whole training step, beside causal and beside PyTorch's `is_causal`.

The shape is that of `step`, the optimiser AdamW. Making the masks counts. With padding, the examples have between half
and all of their tokens; as many positions are computed, and all of them get logits, so that the work is the same.
"""

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.effort import Effort
from benchmarks.own import Step, adamw_step, prepare_process, random_batch, random_examples
from benchmarks.step import BATCH, SHAPE, SMALLEST
from benchmarks.tables import Table
from benchmarks.timing import alternating, ratio, spread, timed
from maskstudy.evaluation import model_input
from maskstudy.model import SelfAttention, Transformer
from maskstudy.shape import ModelShape
from maskstudy.tasks.task import Examples

MASKS = ("causal", "full", "prefix", "lookahead-1", "lookahead-2", "lookahead-4")
CAUSAL, IS_CAUSAL, AGAIN = "causal", "SDPA with is_causal, no mask", "causal, measured again"


class FlaggedAttention(SelfAttention):
    """The study's attention, but by the flag `is_causal` of PyTorch's kernel and without any mask."""

    def forward(self, stream: Tensor, mask: Tensor, rotation: Tensor | None, *_: Any) -> Tensor:  # noqa: ARG002
        """`[batch, length, width]` -> the same shape."""
        mixed = F.scaled_dot_product_attention(*self.queries_keys_values(stream, rotation), is_causal=True)
        return self.project_out(mixed.transpose(1, 2).reshape(stream.shape))


def measure(effort: Effort) -> list[Table]:
    """Milliseconds a step, and the ratio to causal and to `is_causal` in the same rounds."""
    shape = SMALLEST if effort.smallest else SHAPE
    prepare_process()
    plain = random_examples(shape, BATCH)
    conditions = _with(plain, condition_lengths=np.full(BATCH, shape.length // 2))
    padded = np.linspace(shape.length // 2, shape.length, BATCH).round()
    steps = {IS_CAUSAL: _step(shape, "causal", plain, flagged=True), AGAIN: _step(shape, "causal", plain)}
    for mask in MASKS:
        examples = conditions if mask == "prefix" else plain
        steps[mask] = _step(shape, mask, examples)
        steps[f"{mask}, padding"] = _step(shape, mask, _with(examples, lengths=padded))
    seconds = alternating({name: timed(step) for name, step in steps.items()}, effort.rounds_or(30), effort.warmup)
    rows = {
        name: {
            "ms": spread([1000 * second for second in taken]),
            "÷ causal": ratio(taken, seconds[CAUSAL]),
            "÷ is_causal": ratio(taken, seconds[IS_CAUSAL]),
        }
        for name, taken in seconds.items()
    }
    return [Table("masks", rows, [f"“{AGAIN}” shows how far two equal things lie apart on this machine."])]


def _step(shape: ModelShape, mask: str, examples: Examples, flagged: bool = False) -> Step:
    torch.manual_seed(0)
    model = Transformer(shape)
    if flagged:
        for block in model.blocks:
            block.attention.__class__ = FlaggedAttention
    tokens, targets = random_batch(shape, BATCH)

    def logits(tokens: Tensor) -> Tensor:
        return model(tokens, model_input(mask, shape.layers, examples)[1])

    return adamw_step(model, logits, tokens, targets)


def _with(examples: Examples, **lengths: np.ndarray) -> Examples:
    changed = {name: value.astype(np.int32) for name, value in lengths.items()}
    return Examples(**{**vars(examples), **changed})
