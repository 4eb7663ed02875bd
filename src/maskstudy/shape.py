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


def encoder_layers(layers: int) -> int:
    """How many of the layers of an encoder–decoder are the encoder's: half of them, the larger one where it is odd.

        >>> encoder_layers(4), encoder_layers(5)
        (2, 3)

    Args:
        layers: of both together.

    Raises:
        StudyError: there are not two, one for each.
    """
    if layers < 2:
        raise StudyError(f"model: {layers} layer for an encoder and a decoder; allowed: 2 or more")
    return (layers + 1) // 2


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


def inner_width(shape: ModelShape) -> int:
    """Of the position-wise networks of an encoder–decoder that has as many parameters as a `Transformer` of `shape`.

    Width, heads and the number of layers stay. With d of L layers in the decoder, cross-attention costs 4dw² parameters
    more; that is what 2L matrices of width w save where they are (4 − 2d/L)w wide inside instead of 4w.

    Raises:
        StudyError: as `encoder_layers`.
    """
    decoder = shape.layers - encoder_layers(shape.layers)
    return round((4 - 2 * decoder / shape.layers) * shape.width)


def encoder_decoder_flops(shape: ModelShape, batch: int, source: int, target: int, scored: int) -> int:
    """What `forward_flops` counts, of an encoder–decoder.

    Args:
        shape: of the `Transformer` that it has the width, heads, number of layers and parameters of.
        batch: examples.
        source: positions of each in the encoder, padding included.
        target: positions of each in the decoder, padding included.
        scored: positions of all of them whose logits are computed.
    """
    width, inner, encoder = shape.width, inner_width(shape), encoder_layers(shape.layers)
    attention = 2 * 4 * width * width  # queries, keys, values; out
    network = 2 * 2 * width * inner
    encoding = encoder * source * (attention + network + 2 * 2 * source * width)
    self_attention = target * (attention + 2 * 2 * target * width)
    cross_attention = (target + source) * attention // 2 + 2 * 2 * target * source * width
    decoding = (shape.layers - encoder) * (self_attention + cross_attention + target * network)
    return batch * (encoding + decoding) + 2 * width * shape.answers * scored
