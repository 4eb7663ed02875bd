"""An encoder–decoder, beside the one transformer of `model` (Vaswani et al. 2017, "Attention Is All You Need", §3).

It takes the examples that every model takes, `[source, target]` in one row, and has as many parameters as the
`Transformer` of the same shape: as many layers, shared out between encoder and decoder, of the same width, whose
position-wise networks are narrower inside by what cross-attention costs. Blocks, self-attention and cache are those of
`model`.

Source and target begin at place 0 each, and rotary turns act in cross-attention too: what a phoneme needs of a word
stands at about the same place in it.
"""

from collections.abc import Sequence
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from maskstudy.attention import Sight, fused_attention
from maskstudy.cache import KeyValueCache, LayerCache
from maskstudy.errors import StudyError
from maskstudy.masks import EncoderDecoderMasks
from maskstudy.model import Block, initialise, rotate, rotation
from maskstudy.shape import ModelShape, encoder_decoder_flops, encoder_layers, inner_width


class Source(NamedTuple):
    """What one layer of the decoder sees of the source, `[batch, heads, source, head width]` each."""

    keys: Tensor
    values: Tensor


class CrossAttention(nn.Module):
    """Multi-head attention of the target to the source, whose keys and values are computed once."""

    def __init__(self, shape: ModelShape) -> None:
        """Keys and values come from one matrix, queries from another."""
        super().__init__()
        self.heads = shape.heads
        self.dropout = shape.dropout
        self.project_target = nn.Linear(shape.width, shape.width, bias=False)
        self.project_source = nn.Linear(shape.width, 2 * shape.width, bias=False)
        self.project_out = nn.Linear(shape.width, shape.width, bias=False)

    def source(self, stream: Tensor, turns: Tensor | None) -> Source:
        """The keys and values of an encoded source `[batch, source, width]`."""
        projected = self.project_source(stream).unflatten(-1, (2 * self.heads, -1))
        keys, values = projected.chunk(2, dim=2)  # each batch, source, heads, head width
        keys = keys if turns is None else rotate(keys, turns)
        return Source(keys.transpose(1, 2), values.transpose(1, 2))

    def forward(self, stream: Tensor, source: Source, mask: Tensor | Sight, turns: Tensor | None) -> Tensor:
        """`[batch, target, width]` -> the same shape."""
        queries = self.project_target(stream).unflatten(-1, (self.heads, -1))  # batch, target, heads, head width
        queries = queries if turns is None else rotate(queries, turns)
        dropout = self.dropout if self.training else 0.0
        mixed = fused_attention(queries.transpose(1, 2), *source, mask, dropout)  # batch, heads, target, head width
        return self.project_out(mixed.transpose(1, 2).reshape(stream.shape))


class DecoderBlock(Block):
    """A block that looks across at the source after it has looked at the target."""

    def __init__(self, shape: ModelShape, inner: int) -> None:
        """Of `inner` width inside the position-wise network."""
        super().__init__(shape, inner)
        self.cross_norm = nn.LayerNorm(shape.width, bias=False)
        self.cross = CrossAttention(shape)

    def decoded(
        self,
        stream: Tensor,
        masks: tuple[Tensor | Sight, Tensor | Sight],
        source: Source,
        turns: Tensor | None,
        cache: LayerCache | None = None,
    ) -> Tensor:
        """`[batch, target, width]` -> the same shape, under the masks over the target and across."""
        stream = self.mixed(stream, masks[0], turns, cache)
        stream = stream + self.dropped(self.cross(self.cross_norm(stream), source, masks[1], turns))
        return self.worked(stream)


class EncoderDecoder(nn.Module):
    """Source and target tokens in, logits over the answers at positions of the target out."""

    def __init__(self, shape: ModelShape) -> None:
        """Draw the initial weights from the current torch seed.

        Args:
            shape: of the `Transformer` that it is to be compared with.

        Raises:
            StudyError: there are not two layers, one for the encoder and one for the decoder.
        """
        super().__init__()
        self.shape = shape
        encoding, inner = encoder_layers(shape.layers), inner_width(shape)
        self.embedding = nn.Embedding(shape.vocabulary, shape.width)
        self.position = nn.Parameter(torch.zeros(shape.length, shape.width)) if shape.positions == "learned" else None
        self.encoder_blocks = nn.ModuleList(Block(shape, inner) for _ in range(encoding))
        self.encoder_norm = nn.LayerNorm(shape.width, bias=False)
        self.decoder_blocks = nn.ModuleList(DecoderBlock(shape, inner) for _ in range(shape.layers - encoding))
        self.final_norm = nn.LayerNorm(shape.width, bias=False)
        self.answer = nn.Linear(shape.width, shape.answers, bias=False)
        initialise(self)

    def forward(self, tokens: Tensor, masks: EncoderDecoderMasks, scored: Tensor | None = None) -> Tensor:
        """Logits at every position of the target, or at the scored ones alone.

        Args:
            tokens: `[batch, length]` integers: the source of each example, right behind it its target, then padding.
            masks: of `masks.encoder_decoder_masks`; the source of an example is as long as its mask across says.
            scored: `[batch, length]` bool, the positions whose logits are wanted; None for all of the target.

        Returns:
            `[batch, target, answers]`, or `[scored positions, answers]` in row-major order.

        Raises:
            StudyError: too many tokens, or masks of another kind.
        """
        if not isinstance(masks, EncoderDecoderMasks):
            raise StudyError(
                "model: an encoder–decoder takes masks of its own (encoder_decoder_masks), not one a layer"
            )
        longest = max(masks.source.shape[-1], masks.target.shape[-1])
        if longest > self.shape.length:
            raise StudyError(f"model: {longest} tokens, but it was built for at most {self.shape.length}")
        stream = self.embedding(tokens)  # batch, length, width
        begins = masks.cross.sum(-1)[:, 0]  # batch, 1
        places = begins + torch.arange(masks.target.shape[-1], device=tokens.device)  # batch, target
        places = places.clamp(max=tokens.shape[1] - 1)
        source = self._encoded(stream[:, : masks.source.shape[-1]], masks.source)
        target = stream.gather(1, places[..., None].expand(-1, -1, stream.shape[-1]))  # batch, target, width
        stream = self._decoded(target, source, (masks.target, masks.cross))
        if scored is not None:
            real = masks.target[:, 0, -1]  # batch, target: the last query sees all that is no padding
            stream = stream[scored.gather(1, places) & real]  # scored positions, width
        return self.answer(self.final_norm(stream))

    def encode(self, tokens: Tensor, mask: Tensor, *, places: Tensor | None = None) -> list[Source]:
        """Read sources, for `decode`.

        Args:
            tokens: `[batch, source]` integers.
            mask: `masks.EncoderDecoderMasks.source`.
            places: `[batch, source]` integers, the place of each token in its source, where that is not its place in
                the tensor because padding stands before it.

        Returns:
            What each layer of the decoder sees of the sources.
        """
        return self._encoded(self.embedding(tokens), mask, places)

    def decode(
        self,
        tokens: Tensor,
        source: Sequence[Source],
        masks: tuple[Tensor, Tensor],
        *,
        places: Tensor | None = None,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        """Logits `[batch, target, answers]` of targets, given what `encode` has read.

        Args:
            tokens: `[batch, target]` integers; with a cache, the new ones alone.
            source: of `encode`.
            masks: over the target, `[batch, 1, target, keys]`, those in the cache included; and across.
            places: `[batch, target]` integers, as for `encode`; None for 0, 1, 2 … (with a cache, going on from there).
            cache: of the tokens before these; the new ones join it.
        """
        return self.answer(self.final_norm(self._decoded(self.embedding(tokens), source, masks, places, cache)))

    def flops(self, tokens: Tensor, masks: Sequence[Tensor], scored: int) -> int:
        """Of one forward pass over this input; see `shape.encoder_decoder_flops`."""
        source, target, _ = masks
        return encoder_decoder_flops(self.shape, len(tokens), source.shape[-1], target.shape[-1], scored)

    def new_cache(self, batch: int, length: int) -> KeyValueCache:
        """For the self-attention of the decoder, with room for `length` tokens of `batch` targets."""
        return KeyValueCache(self.shape, batch, length, self.embedding.weight, layers=len(self.decoder_blocks))

    def _encoded(self, stream: Tensor, mask: Tensor, places: Tensor | None = None) -> list[Source]:
        where = slice(0, stream.shape[1]) if places is None else places
        if self.position is not None:
            stream = stream + self.position[where]
        turns = rotation(self.shape, where, stream)
        sight = Sight(mask)
        for block in self.encoder_blocks:
            stream = block(stream, sight, turns)
        stream = self.encoder_norm(stream)
        return [block.cross.source(stream, turns) for block in cast(list[DecoderBlock], self.decoder_blocks)]

    def _decoded(
        self,
        stream: Tensor,
        source: Sequence[Source],
        masks: tuple[Tensor, Tensor],
        places: Tensor | None = None,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        begin = 0 if cache is None else cache.filled
        where = slice(begin, begin + stream.shape[1]) if places is None else places
        if self.position is not None:
            stream = stream + self.position[where]
        turns = rotation(self.shape, where, stream)
        layers = [None] * len(self.decoder_blocks) if cache is None else cache.layers
        blocks = cast(list[DecoderBlock], self.decoder_blocks)
        sights = Sight(masks[0]), Sight(masks[1])
        for block, of_source, layer in zip(blocks, source, layers, strict=True):
            stream = block.decoded(stream, sights, of_source, turns, layer)
        return stream
