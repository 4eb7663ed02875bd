"""Masked attention, twice: the textbook form shows its steps, the fused form trains. They agree by test.

    A = softmax(Q Kᵀ / √d + M) V          M is 0 where a query may attend and −∞ where it may not

(Vaswani et al. 2017, "Attention Is All You Need", §3.2.1.) Both take the same boolean mask, made in `masks`.

A query that may attend to nothing gives exactly 0 with finite gradients, in both forms. Its row is neutralised before
the softmax: softmax of a row of −∞ is 0/0, and overwriting that NaN afterwards would leave NaN in the gradient.
"""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from maskstudy.masks import check_boolean


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

    Raises:
        TypeError: `mask` is not boolean.
    """
    additive = additive_mask(mask, queries.dtype)  # ..., queries, keys
    scores = queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])  # ..., queries, keys
    sees_something = mask.any(-1, keepdim=True)  # ..., queries, 1
    # A row that sees nothing gets finite scores here and weight 0 below, so that no 0/0 enters the gradient.
    masked = torch.where(sees_something, scores + additive, torch.zeros_like(scores))  # ..., queries, keys
    weights = torch.softmax(masked, dim=-1) * sees_something  # ..., queries, keys
    return TextbookAttention(scores, additive, weights, weights @ values)


def fused_attention(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor, dropout: float = 0.0) -> Tensor:
    """The output of attention by PyTorch's fused kernel.

    Always one combined boolean mask and never `is_causal`: that flag aligns queries and keys at the top left, and
    cannot be joined with padding.

    Args:
        queries: `[batch, heads, queries, width]`.
        keys: `[batch, heads, keys, width]`.
        values: `[batch, heads, keys, width]`.
        mask: bool, broadcastable to `[batch, heads, queries, keys]`; True = may attend.
        dropout: share of attention weights dropped; 0 in evaluation.

    Returns:
        `[batch, heads, queries, width]`.

    Raises:
        TypeError: `mask` is not boolean.
    """
    check_boolean(mask, "fused_attention(mask)")
    sees_something = mask.any(-1, keepdim=True)  # ..., queries, 1
    output = F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask | ~sees_something, dropout_p=dropout)
    return output * sees_something
