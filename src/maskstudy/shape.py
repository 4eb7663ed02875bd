"""The shape of a transformer, and what a forward pass of it costs. No torch: config.yaml is checked with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from maskstudy.errors import StudyError
from maskstudy.tasks.task import Task

POSITIONS = ("learned", "rotary", "none")
# What stands in every block of model.Transformer, by the names that programs elsewhere know it by. Edit both together.
BLOCK = {"norm": "layer_norm", "activation": "squared_relu"}


@dataclass(frozen=True)
class ModelShape:
    """The shape of a transformer.

    Attributes:
        vocabulary: input tokens, special tokens included.
        answers: possible answers.
        length: most positions of an input.
        width: of the residual stream.
        layers: number of blocks.
        heads: attention heads a block; they share `width` evenly.
        positions: `learned` (added to the embedding), `rotary` (Su et al. 2021, "RoFormer", §3.2) or `none`.
        dropout: share of attention weights and of block outputs dropped in training.

    Raises:
        StudyError: a value is out of range.
    """

    vocabulary: int
    answers: int
    length: int
    width: int = 64
    layers: int = 2
    heads: int = 4
    positions: str = "learned"
    dropout: float = 0.0

    def __post_init__(self) -> None:
        """Refuse shapes that cannot be built."""
        for name in ("vocabulary", "answers", "length", "width", "layers", "heads"):
            if getattr(self, name) < 1:
                raise StudyError(f"model: {name} {getattr(self, name)} is out of range; allowed: 1 or more")
        if self.width % self.heads:
            raise StudyError(f"model: width {self.width} is not a multiple of heads {self.heads}; change one of them")
        if self.positions not in POSITIONS:
            raise StudyError(f"model: positions {self.positions!r} is not known; allowed: {', '.join(POSITIONS)}")
        if self.positions == "rotary" and (self.width // self.heads) % 2:
            raise StudyError(f"model: rotary positions need an even head width, not {self.width // self.heads}")
        if not 0 <= self.dropout < 1:
            raise StudyError(f"model: dropout {self.dropout} is out of range; allowed: 0 up to, not including, 1")


def build_shape(task: Task, model: Mapping[str, Any]) -> ModelShape:
    """The shape of the model for a task: what goes in and comes out is the task's, the rest stands in config.yaml.

    Raises:
        StudyError: a value is out of range.
    """
    return ModelShape(vocabulary=task.vocabulary, answers=task.answers, length=task.length, **model)


def forward_flops(shape: ModelShape, tokens: int, length: int, scored: int) -> int:
    """Floating-point operations of one forward pass, matrix products alone; a backward pass costs twice as many.

    A product of an `a × b` and a `b × c` matrix counts 2abc. Masked score cells are computed and therefore counted:
    the count is the same for every mask.

    Args:
        shape: of the model.
        tokens: positions computed, padding included.
        length: keys that each position is compared with.
        scored: positions whose logits are computed.
    """
    projections = 2 * shape.width * (3 + 1 + 4 + 4) * shape.width  # queries, keys, values; out; expand; contract
    scores_and_mixing = 2 * 2 * length * shape.width
    return shape.layers * (projections + scores_and_mixing) * tokens + 2 * shape.width * shape.answers * scored
