"""Masked attention, twice: the textbook form shows its steps, the fused form trains. They agree by test.

    A = softmax(Q Kᵀ / √d + M) V          M is 0 where a query may attend and −∞ where it may not

(Vaswani et al. 2017, "Attention Is All You Need", §3.2.1.) Both take the same boolean mask, made in `masks`.

A query that may attend to nothing gives exactly 0 with finite gradients, in both forms. Its row is neutralised before
the softmax: softmax of a row of −∞ is 0/0, and overwriting that NaN afterwards would leave NaN in the gradient.

A key that no query may attend to, and a query that may attend to nothing, have no effect whatever stands there, NaN and
infinity included, in both forms and in their gradients. A weight of 0 is not enough for that: 0 · NaN is NaN, so they
are cleared before they are multiplied with anything.
"""

import math
from functools import cached_property
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from maskstudy.masks import check_boolean


class Sight:
    """Who sees and who is seen under a mask, each worked out when it is first asked for.

    Layers that share a mask can share its sight, so that all of this is done once for all of them.
    """

    def __init__(self, mask: Tensor) -> None:
        """Of a bool mask `[..., queries, keys]`; True = may attend.

        Raises:
            TypeError: `mask` is not boolean.
        """
        check_boolean(mask, "attention under a mask")
        self.mask = mask

    @cached_property
    def excludes_nothing(self) -> bool:
        """Whether every query sees something and every key is seen."""
        if self.mask.numel() and self.mask.all():  # the newest token sees all before it: one look is enough
            return True
        return bool(self.sees_something.all() & self.is_seen.all())

    @cached_property
    def sees_something(self) -> Tensor:
        """The queries that may attend to some key, `[..., queries, 1]`."""
        return self.mask.any(-1).unsqueeze(-1)

    @cached_property
    def is_seen(self) -> Tensor:
        """The keys that some query may attend to, `[..., keys, 1]`."""
        return self.mask.any(-2).unsqueeze(-1)


class TextbookAttention(NamedTuple):
    """Every step of attention, in order."""

    scores: Tensor  # ..., queries, keys: Q Kᵀ / √d
    additive: Tensor  # ..., queries, keys: M, 0 or −∞
    weights: Tensor  # ..., queries, keys: softmax(scores + M); exactly 0 where M is −∞
    output: Tensor  # ..., queries, width: weights V


def additive_mask(mask: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """M of the formula: 0 where `mask` is True, −∞ where it is False.

    Raises:
        TypeError: `mask` is not boolean.
    """
    check_boolean(mask, "additive_mask(mask)")
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, -math.inf)


def textbook_attention(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> TextbookAttention:
    """Attention as the formula reads, with every intermediate.

    Args:
        queries: `[..., queries, width]`.
        keys: `[..., keys, width]`.
        values: `[..., keys, width]`.
        mask: bool, broadcastable to `[..., queries, keys]`; True = may attend.

    Where the mask cuts off a key or a query that is not finite, its scores are shown as 0; those of finite ones are
    the formula's, so that the steps show what the mask takes away.

    Raises:
        TypeError: `mask` is not boolean.
    """
    additive = additive_mask(mask, queries.dtype)  # ..., queries, keys
    sight = Sight(mask)
    queries, keys, values = _harmless(queries, keys, values, sight)
    scores = queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])  # ..., queries, keys
    # scores + M, also where a masked score overflowed and ∞ − ∞ would be NaN. A row that sees nothing gets finite
    # scores here and weight 0 below, so that no 0/0 enters the gradient.
    masked = scores.masked_fill(~mask, -math.inf).masked_fill(~sight.sees_something, 0.0)  # ..., queries, keys
    weights = torch.softmax(masked, dim=-1) * sight.sees_something  # ..., queries, keys
    return TextbookAttention(scores, additive, weights, weights @ values)


def fused_attention(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | Sight, dropout: float = 0.0
) -> Tensor:
    """The output of attention by PyTorch's fused kernel.

    Always one combined boolean mask and never `is_causal`: that flag aligns queries and keys at the top left, and
    cannot be joined with padding.

    Args:
        queries: `[batch, heads, queries, width]`.
        keys: `[batch, heads, keys, width]`.
        values: `[batch, heads, keys, width]`.
        mask: bool, broadcastable to `[batch, heads, queries, keys]`; True = may attend. Or the `Sight` of such a mask,
            where several layers share it.
        dropout: share of attention weights dropped; 0 in evaluation.

    Returns:
        `[batch, heads, queries, width]`.

    Raises:
        TypeError: `mask` is not boolean.
    """
    sight = mask if isinstance(mask, Sight) else Sight(mask)
    if sight.excludes_nothing:  # the ordinary case: nothing to clear, no row to neutralise
        return F.scaled_dot_product_attention(queries, keys, values, attn_mask=sight.mask, dropout_p=dropout)
    queries, keys, values = _harmless(queries, keys, values, sight)
    neutralised = sight.mask | ~sight.sees_something
    output = F.scaled_dot_product_attention(queries, keys, values, attn_mask=neutralised, dropout_p=dropout)
    return output * sight.sees_something


def _harmless(queries: Tensor, keys: Tensor, values: Tensor, sight: Sight) -> tuple[Tensor, Tensor, Tensor]:
    """The inputs without NaN and infinity where the mask cuts them off."""
    return _cleared(queries, sight.sees_something), _cleared(keys, sight.is_seen), _cleared(values, sight.is_seen)


def _cleared(vectors: Tensor, kept: Tensor) -> Tensor:
    """Vectors that are 0 where `kept` is False, if any is so large that its square overflows, or NaN.

    In the ordinary case the vectors themselves: clearing them always would cost a training step with padding 6 % of
    its time.
    """
    if torch.linalg.vector_norm(vectors.detach()).isfinite():
        return vectors
    return torch.where(kept, vectors, torch.zeros_like(vectors))
