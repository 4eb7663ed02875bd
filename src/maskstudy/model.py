"""One transformer for every mask. The mask is an argument of `forward`, never a property of the model.

Pre-norm blocks on a residual stream (Radford et al. 2019, "Language Models are Unsupervised Multitask Learners",
§2.3). What stands in a block was chosen by measurement on a CPU; docs/performance.md has the numbers.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from maskstudy.attention import Sight, fused_attention, textbook_attention
from maskstudy.cache import KeyValueCache, LayerCache
from maskstudy.errors import StudyError
from maskstudy.masks import each_once
from maskstudy.shape import ModelShape, forward_flops


class _SquaredRelu(torch.autograd.Function):
    """max(x, 0)², whose slope 2 · max(x, 0) needs nothing but what the forward pass has made anyway.

    Left to itself, autograd keeps two tensors of the widest kind and passes over them four times on its way back.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(inputs: Tensor) -> tuple[Tensor, Tensor]:
        positive = inputs.clamp_min(0)
        return positive.square(), positive

    @staticmethod
    def setup_context(context: Any, inputs: tuple[Tensor], output: tuple[Tensor, Tensor]) -> None:  # noqa: ARG004
        context.mark_non_differentiable(output[1])
        context.set_materialize_grads(False)  # no zeros for the output that has no gradient
        context.save_for_backward(output[1])

    @staticmethod
    def backward(context: Any, gradient: Tensor, _: None) -> Tensor:
        (positive,) = context.saved_tensors
        return (gradient * positive).mul_(2)


def squared_relu(inputs: Tensor) -> Tensor:
    """max(x, 0)² (So et al. 2021, "Primer: Searching for Efficient Transformers for Language Modeling", §3)."""
    if not inputs.requires_grad:
        return inputs.relu().square()
    squared: Tensor = _SquaredRelu.apply(inputs)[0]
    return squared


class SelfAttention(nn.Module):
    """Multi-head attention of a sequence to itself, under the mask it is given."""

    def __init__(self, shape: ModelShape) -> None:
        """Queries, keys and values come from one matrix, so that one product serves all three."""
        super().__init__()
        self.heads = shape.heads
        self.dropout = shape.dropout
        self.project_in = nn.Linear(shape.width, 3 * shape.width, bias=False)
        self.project_out = nn.Linear(shape.width, shape.width, bias=False)

    def queries_keys_values(self, stream: Tensor, rotation: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """`[batch, length, width]` -> three times `[batch, heads, length, head width]`."""
        batch, length, width = stream.shape
        projected = self.project_in(stream).view(batch, length, 3 * self.heads, width // self.heads)
        compared, values = projected.split_with_sizes([2 * self.heads, self.heads], dim=2)
        if rotation is not None:
            compared = rotate(compared, rotation)
        queries, keys = compared.chunk(2, dim=2)  # each batch, length, heads, head width
        return queries.transpose(1, 2), keys.transpose(1, 2), values.transpose(1, 2)

    def forward(
        self, stream: Tensor, mask: Tensor | Sight, rotation: Tensor | None, cache: LayerCache | None = None
    ) -> Tensor:
        """`[batch, length, width]` -> the same shape. The keys are those of the cache too, if there is one."""
        queries, keys, values = self.queries_keys_values(stream, rotation)
        if cache is not None:
            keys, values = cache.extended(keys, values)
        dropout = self.dropout if self.training else 0.0
        mixed = fused_attention(queries, keys, values, mask, dropout)  # batch, heads, length, head width
        return self.project_out(mixed.transpose(1, 2).flatten(2))

    def weights(self, stream: Tensor, mask: Tensor, rotation: Tensor | None) -> Tensor:
        """The attention weights `[batch, heads, length, length]`, by the textbook form, without dropout."""
        return textbook_attention(*self.queries_keys_values(stream, rotation), mask).weights


class Block(nn.Module):
    """Attention moves information between positions, the two-layer network works on each position alone."""

    def __init__(self, shape: ModelShape, inner: int | None = None) -> None:
        """Four times the width inside the position-wise network, the usual ratio, where no `inner` width is given."""
        super().__init__()
        inner = 4 * shape.width if inner is None else inner
        self.attention_norm = nn.LayerNorm(shape.width, bias=False)
        self.attention = SelfAttention(shape)
        self.network_norm = nn.LayerNorm(shape.width, bias=False)
        self.expand = nn.Linear(shape.width, inner, bias=False)
        self.contract = nn.Linear(inner, shape.width, bias=False)
        self.dropout = shape.dropout

    def forward(
        self, stream: Tensor, mask: Tensor | Sight, rotation: Tensor | None, cache: LayerCache | None = None
    ) -> Tensor:
        """`[batch, length, width]` -> the same shape."""
        return self.worked(self.mixed(stream, mask, rotation, cache))

    def mixed(
        self, stream: Tensor, mask: Tensor | Sight, rotation: Tensor | None, cache: LayerCache | None = None
    ) -> Tensor:
        """The stream and what attention adds to it."""
        return stream + self.dropped(self.attention(self.attention_norm(stream), mask, rotation, cache))

    def worked(self, stream: Tensor) -> Tensor:
        """The stream and what the position-wise network adds to it."""
        return stream + self.dropped(self.contract(squared_relu(self.expand(self.network_norm(stream)))))

    def dropped(self, added: Tensor) -> Tensor:
        """What a block adds, less what dropout takes in training."""
        return F.dropout(added, self.dropout) if self.training and self.dropout else added


class Transformer(nn.Module):
    """Tokens in, logits over the answers out."""

    def __init__(self, shape: ModelShape) -> None:
        """Draw the initial weights from the current torch seed; they depend on `shape` and the seed alone."""
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(shape.vocabulary, shape.width)
        self.position = nn.Parameter(torch.zeros(shape.length, shape.width)) if shape.positions == "learned" else None
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.final_norm = nn.LayerNorm(shape.width, bias=False)
        self.answer = nn.Linear(shape.width, shape.answers, bias=False)
        initialise(self)

    def forward(
        self,
        tokens: Tensor,
        masks: Sequence[Tensor],
        scored: Tensor | None = None,
        *,
        places: Tensor | None = None,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        """Logits at every position, or at the scored ones alone.

        Args:
            tokens: `[batch, length]` integers; with a cache, the new ones alone.
            masks: one bool tensor a layer, `[length, keys]` or `[batch, 1, length, keys]`; True = may attend. There are
                as many keys as tokens, those in the cache included.
            scored: `[batch, length]` bool, the positions whose logits are wanted; None for all.
            places: `[batch, length]` integers, the place of each token in its text, where that is not its place in the
                tensor because padding stands before it; None for 0, 1, 2 … (with a cache, going on from there).
            cache: of the tokens before these; the new ones join it.

        Returns:
            `[batch, length, answers]`, or `[scored positions, answers]` in row-major order.

        Raises:
            StudyError: too many tokens, or another number of masks than of layers.
        """
        stream = self.streams(tokens, masks, places=places, cache=cache)[-1]
        if scored is not None:
            stream = stream[scored]  # scored positions, width
        return self.answer(self.final_norm(stream))

    def flops(self, tokens: Tensor, masks: Sequence[Tensor], scored: int) -> int:  # noqa: ARG002
        """Of one forward pass over this input; see `shape.forward_flops`."""
        return forward_flops(self.shape, tokens.numel(), tokens.shape[1], scored)

    def streams(
        self,
        tokens: Tensor,
        masks: Sequence[Tensor],
        *,
        places: Tensor | None = None,
        cache: KeyValueCache | None = None,
    ) -> list[Tensor]:
        """The residual stream before the first block and after each: `layers + 1` times `[batch, length, width]`."""
        begin = 0 if cache is None else cache.filled
        end = begin + tokens.shape[1]
        if end > self.shape.length and places is None:
            raise StudyError(f"model: {end} tokens, but it was built for at most {self.shape.length}")
        if len(masks) != self.shape.layers:
            raise StudyError(f"model: {len(masks)} masks for {self.shape.layers} layers; give one a layer")
        where = slice(begin, end) if places is None else places
        stream = self.embedding(tokens)  # batch, length, width
        if self.position is not None:
            stream = stream + self.position[where]
        rotation = self.rotation(where, stream)
        layers = [None] * self.shape.layers if cache is None else cache.layers
        streams = [stream]
        sights = each_once(Sight, masks)
        for block, sight, layer in zip(self.blocks, sights, layers, strict=True):
            streams.append(block(streams[-1], sight, rotation, layer))
        return streams

    def attention_weights(self, tokens: Tensor, masks: Sequence[Tensor]) -> list[Tensor]:
        """The attention weights of every layer, `[batch, heads, length, length]` each."""
        streams = self.streams(tokens, masks)
        rotation = self.rotation(slice(0, tokens.shape[1]), streams[0])
        blocks = cast(list[Block], self.blocks)
        return [
            block.attention.weights(block.attention_norm(stream), mask, rotation)
            for block, stream, mask in zip(blocks, streams[:-1], masks, strict=True)
        ]

    def rotation(self, where: slice | Tensor, like: Tensor) -> Tensor | None:
        """The rotary turns `[length, 1, head width / 2]` (or one such an example), or None for other positions."""
        return rotation(self.shape, where, like)


def rotation(shape: ModelShape, where: slice | Tensor, like: Tensor) -> Tensor | None:
    """The rotary turns of a model's positions.

    Args:
        shape: of the model.
        where: the positions, a slice or integers `[batch, length]`.
        like: the stream, for device and data type.

    Returns:
        `[length, 1, head width / 2]` (or one such an example), or None where positions are not rotary.
    """
    if shape.positions != "rotary":
        return None
    dtype = _computed_in(like.dtype).to_complex()
    return rotary_turns(shape.length, shape.width // shape.heads, dtype, like.device)[where].unsqueeze(-2)


@cache
def rotary_turns(
    length: int, head_width: int, dtype: torch.dtype = torch.complex128, device: torch.device | None = None
) -> Tensor:
    """`[length, head width / 2]` complex: exp(i · position · 10000^(−2k / head_width)) (Su et al. 2021, §3.2.2)."""
    with torch.inference_mode(False):  # kept for later passes, and some of these want gradients
        frequencies = 10000.0 ** (-torch.arange(0, head_width, 2, dtype=torch.float64) / head_width)
        angles = torch.arange(length, dtype=torch.float64)[:, None] * frequencies  # length, head width / 2
        return torch.polar(torch.ones_like(angles), angles).to(device, dtype)


def rotate(vectors: Tensor, turns: Tensor) -> Tensor:
    """Turn each pair of neighbouring entries by its position's angle, so that a product depends on the distance alone.

    One complex product is several times faster on a CPU than the same with sines and cosines apart.

    Args:
        vectors: `[batch, length, heads, head width]`.
        turns: `[length, 1, head width / 2]` complex, of `rotary_turns`; or one such an example.
    """
    wide = vectors.to(dtype=_computed_in(vectors.dtype))  # there are no complex numbers of two bfloat16
    pairs = torch.view_as_complex(wide.unflatten(-1, (-1, 2)))  # batch, length, heads, head width / 2
    return torch.view_as_real(pairs * turns).flatten(-2).to(dtype=vectors.dtype)


def initialise(model: nn.Module) -> None:
    """Normal weights of variance 1/inputs; what a block adds starts at 0, so that a new block changes nothing."""
    for name, parameter in model.named_parameters():
        if name.endswith(("project_out.weight", "contract.weight", "answer.weight")):
            nn.init.zeros_(parameter)
        elif name in ("embedding.weight", "position"):
            nn.init.normal_(parameter, std=1.0 if name == "embedding.weight" else 0.5)
        elif parameter.dim() == 2:
            nn.init.normal_(parameter, std=parameter.shape[1] ** -0.5)


def _computed_in(dtype: torch.dtype) -> torch.dtype:
    return torch.promote_types(dtype, torch.float32)


def parameter_count(model: nn.Module) -> int:
    """Number of trained values."""
    return sum(math.prod(parameter.shape) for parameter in model.parameters())
