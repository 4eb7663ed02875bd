"""Who may attend to whom: masks as small predicates, and what a position sees after all layers.

A *predicate* answers "may this query position attend to this key position?" for whole index grids at once:

    predicate(query, key) -> bool tensor        query [..., queries, 1], key [..., 1, keys]

True means *may attend*, as in `torch.nn.functional.scaled_dot_product_attention`. Predicates are combined with
`both` and `either` and become a boolean matrix in `matrix`, the only place where index grids are made:

    >>> matrix(causal, 3).int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [1, 1, 1]], dtype=torch.int32)

A *mask of the study* has a name (`causal`, `full`, `prefix`, `lookahead-2`, `encoder-decoder`) and gives one predicate
a layer, because what a position sees after all layers, its *access*, is the product of the layers' masks:

    >>> access(layer_masks("lookahead-1", layers=2, length=4)).int()
    tensor([[1, 1, 0, 0],
            [1, 1, 1, 0],
            [1, 1, 1, 1],
            [1, 1, 1, 1]], dtype=torch.int32)

Of an encoder–decoder they are layers of two kinds, those of the encoder first, over the same positions: the source (the
condition), then the target. What the decoder's self-attention and cross-attention admit is one mask:

    >>> encoder, decoder = layer_masks("encoder-decoder", layers=2, length=4, condition_lengths=torch.tensor([2]))
    >>> encoder[0, 0].int()
    tensor([[1, 1, 0, 0],
            [1, 1, 0, 0],
            [0, 0, 0, 0],
            [0, 0, 0, 0]], dtype=torch.int32)
    >>> decoder[0, 0].int()
    tensor([[0, 0, 0, 0],
            [0, 0, 0, 0],
            [1, 1, 1, 0],
            [1, 1, 1, 1]], dtype=torch.int32)

To add a mask, add one entry to `MASKS`.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from maskstudy.errors import StudyError
from maskstudy.shape import encoder_layers

Predicate = Callable[[Tensor, Tensor], Tensor]
Changed = TypeVar("Changed")


# --- predicates -------------------------------------------------------------------------------------------------------


def full(query: Tensor, key: Tensor) -> Tensor:
    """Every key. Of 5 keys, query 2 admits 5: `1 1 1 1 1`."""
    return (query >= 0) & (key >= 0)


def causal(query: Tensor, key: Tensor) -> Tensor:
    """The query's own position and all before it. Of 5 keys, query 2 admits 3: `1 1 1 0 0`."""
    return key <= query


def lookahead(future: int) -> Predicate:
    """Causal, and exactly `future` keys after the query. `lookahead(1)`: of 5 keys, query 2 admits 4: `1 1 1 1 0`.

    Raises:
        StudyError: `future` is negative.
    """
    if future < 0:
        raise StudyError(f"lookahead: {future} tokens of the future asked for; allowed: 0 (causal) or more")

    def admits(query: Tensor, key: Tensor) -> Tensor:
        return key <= query + future

    return admits


def condition(lengths: Tensor) -> Predicate:
    """The keys of the condition, the first `lengths` of an example, for every query.

    Args:
        lengths: `[batch]` integers. `lengths = [2]`: of 5 keys, every query admits 2: `1 1 0 0 0`.
    """

    def admits(query: Tensor, key: Tensor) -> Tensor:
        return (key < _per_example(lengths)) & (query >= 0)

    return admits


def real(lengths: Tensor) -> Predicate:
    """The keys that are no padding, where padding stands on the right: the first `lengths` of an example.

    Args:
        lengths: `[batch]` integers. `lengths = [3]`: of 5 keys, every query admits 3: `1 1 1 0 0`.
    """
    return condition(lengths)


def of_condition(lengths: Tensor) -> Predicate:
    """Every key, for the queries of the condition alone: the first `lengths` of an example.

    Args:
        lengths: `[batch]` integers. `lengths = [2]`: of 5 keys, queries 0 and 1 admit 5, queries 2, 3 and 4 none.
    """

    def admits(query: Tensor, key: Tensor) -> Tensor:
        return (query < _per_example(lengths)) & (key >= 0)

    return admits


def after_condition(lengths: Tensor) -> Predicate:
    """Every key, for the queries after the condition alone.

    Args:
        lengths: `[batch]` integers. `lengths = [2]`: of 5 keys, queries 0 and 1 admit none, queries 2, 3 and 4 all 5.
    """

    def admits(query: Tensor, key: Tensor) -> Tensor:
        return (query >= _per_example(lengths)) & (key >= 0)

    return admits


def present(keys: Tensor) -> Predicate:
    """The keys marked True, wherever they stand: padding on the left, on the right, or in between.

    Args:
        keys: `[batch, keys]` bool, True for a real token.

    Raises:
        TypeError: `keys` is not boolean.
        StudyError: the matrix is made for another number of keys.
    """
    check_boolean(keys, "present(keys)")

    def admits(query: Tensor, key: Tensor) -> Tensor:
        _check_count(keys, key.shape[-1], "present(keys)", "keys")
        return keys[:, None, None, :].expand(-1, 1, query.shape[-2], key.shape[-1])

    return admits


def same_document(query_documents: Tensor, key_documents: Tensor | None = None) -> Predicate:
    """The keys of the query's own document, where several documents are packed into one row.

    Args:
        query_documents: `[batch, queries]` integers, the number of the document at each query position.
        key_documents: `[batch, keys]`, the same for the keys; the queries' where it is left out.

    Raises:
        StudyError: the matrix is made for another number of queries or keys.
    """
    documents = query_documents if key_documents is None else key_documents

    def admits(query: Tensor, key: Tensor) -> Tensor:
        _check_count(query_documents, query.shape[-2], "same_document(query_documents)", "queries")
        _check_count(documents, key.shape[-1], "same_document(key_documents)", "keys")
        return query_documents[:, None, :, None] == documents[:, None, None, :]

    return admits


def both(*predicates: Predicate) -> Predicate:
    """The keys that every one of `predicates` admits."""

    def admits(query: Tensor, key: Tensor) -> Tensor:
        allowed = full(query, key)
        for predicate in predicates:
            allowed = allowed & predicate(query, key)
        return allowed

    return admits


def either(*predicates: Predicate) -> Predicate:
    """The keys that at least one of `predicates` admits."""

    def admits(query: Tensor, key: Tensor) -> Tensor:
        allowed = ~full(query, key)
        for predicate in predicates:
            allowed = allowed | predicate(query, key)
        return allowed

    return admits


# --- matrices ---------------------------------------------------------------------------------------------------------


def matrix(predicate: Predicate, queries: int, keys: int | None = None, device: torch.device | None = None) -> Tensor:
    """The boolean matrix of a predicate.

    Where there are more keys than queries, the queries are the *last* positions: a single query against a cache of 5
    keys stands at position 4 and, under `causal`, admits all 5.

    Returns:
        `[queries, keys]` bool, or `[batch, 1, queries, keys]` (the 1 stands for the heads) where the predicate
        depends on the example.

    Raises:
        StudyError: there are fewer keys than queries.
    """
    keys = queries if keys is None else keys
    if keys < queries:
        raise StudyError(f"mask: {queries} queries but {keys} keys; the queries are the last of the keys' positions")
    query = torch.arange(keys - queries, keys, device=device)[:, None]  # queries, 1
    key = torch.arange(keys, device=device)[None, :]  # 1, keys
    return predicate(query, key)


def access(masks: Sequence[Tensor]) -> Tensor:
    """What each position can see after all layers: the boolean product of the layers' masks.

    A layer adds to what a position already holds (the residual path), so each factor admits the position itself.

    Args:
        masks: one `[..., length, length]` bool tensor a layer, first layer first.

    Returns:
        `[..., length, length]` bool: entry `[i, j]` is True where input `j` can influence output `i`.
    """
    for layer_mask in masks:
        check_boolean(layer_mask, "access(masks)")
    own = torch.eye(masks[0].shape[-1], dtype=torch.bool, device=masks[0].device)
    seen = own.expand(masks[0].shape)
    for layer_mask in masks:
        # A sum of at most `length` ones is exact in float32, and matrix products of booleans do not exist.
        seen = ((layer_mask | own).float() @ seen.float()) > 0
    return seen


def each_once(change: Callable[[Tensor], Changed], masks: Sequence[Tensor]) -> list[Changed]:
    """What `change` makes of the mask of each layer; for layers that share one tensor it is made once, and shared."""
    distinct = {id(mask): mask for mask in masks}
    changed = {key: change(mask) for key, mask in distinct.items()}
    return [changed[id(mask)] for mask in masks]


def is_settled(masks: Sequence[Tensor], begin: int) -> bool:
    """Whether what a position holds stays as it is when tokens join behind it, from `begin` tokens on.

    It does where no query sees a key behind it, except among the first `begin`, which are there from the start. Only
    then may what was computed for the tokens so far be kept in a cache.

        >>> is_settled(layer_masks("causal", layers=2, length=4), begin=1)
        True
        >>> is_settled(layer_masks("full", layers=2, length=4), begin=1)
        False

    Args:
        masks: one `[..., length, length]` bool tensor a layer.
        begin: tokens that are there from the start.
    """
    length = masks[0].shape[-1]
    joins = matrix(lambda query, key: (key > query) & (key >= begin), length, device=masks[0].device)
    return not any((mask & joins).any() for mask in masks)


def check_boolean(mask: Tensor, where: str) -> None:
    """Refuse anything but a boolean mask: a 0/1 float or integer mask would silently be added to the scores.

    Raises:
        TypeError: `mask` is not a boolean tensor.
    """
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        kind = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
        raise TypeError(f"{where}: a boolean mask is needed (True = may attend), not {kind}; convert it on purpose")


def _check_count(marks: Tensor, positions: int, where: str, what: str) -> None:
    """Refuse marks of another number of positions: a single one would silently stand for all.

    Raises:
        StudyError: there are more or fewer.
    """
    if marks.shape[-1] != positions:
        raise StudyError(f"{where}: {marks.shape[-1]} positions are marked, but there are {positions} {what}")


def _per_example(lengths: Tensor) -> Tensor:
    """`[batch]` -> `[batch, 1, 1, 1]`, which broadcasts over heads, queries and keys."""
    return lengths[:, None, None, None]


# --- the masks of the study -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StudyMask:
    """One predicate for the first layer and one for all later layers.

    Attributes:
        first: predicate of the first layer; of all layers of the encoder, if there is one.
        later: predicate of every later layer; of all layers of the decoder, if there is one.
        sees_condition: True where every layer also admits the whole condition.
        has_encoder: True where the condition has layers of its own, an encoder's, and what follows it a decoder's.
    """

    first: Predicate
    later: Predicate
    sees_condition: bool = False
    has_encoder: bool = False


# `lookahead-K` looks ahead in the first layer only: K a layer would compound to K · layers.
MASKS: dict[str, Callable[[int], StudyMask]] = {
    "causal": lambda _: StudyMask(causal, causal),
    "full": lambda _: StudyMask(full, full),
    "prefix": lambda _: StudyMask(causal, causal, sees_condition=True),
    "lookahead-K": lambda future: StudyMask(lookahead(future), causal),
    "encoder-decoder": lambda _: StudyMask(full, causal, has_encoder=True),
}


def named(name: str) -> StudyMask:
    """The mask of the study with this name; `lookahead-2` is `lookahead-K` with K = 2.

    Raises:
        StudyError: there is no such mask.
    """
    allowed = ", ".join(MASKS).replace("lookahead-K", "lookahead-K (K = 1, 2, …)")
    family, future = name, 0
    if match := re.fullmatch(r"lookahead-([1-9][0-9]*)", name):
        family, future = "lookahead-K", int(match[1])
    if family not in MASKS or name == "lookahead-K":
        raise StudyError(f"mask: {name!r} is not known; allowed: {allowed}")
    return MASKS[family](future)


def layer_masks(
    name: str,
    layers: int,
    length: int,
    lengths: Tensor | None = None,
    condition_lengths: Tensor | None = None,
    device: torch.device | None = None,
    keys: Tensor | None = None,
) -> list[Tensor]:
    """The masks of all layers, with padding and condition combined into one boolean matrix each.

    Args:
        name: a mask of the study.
        layers: how many layers the model has.
        length: positions, padding included.
        lengths: `[batch]`, real tokens an example, padded on the right; None where nothing is padded.
        condition_lengths: `[batch]`, tokens of the condition, padding before them included; None where there is none.
        device: where the masks are made.
        keys: `[batch, length]` bool, True for a real token, wherever padding stands; instead of `lengths`.

    Returns:
        `layers` bool tensors, `[length, length]` or `[batch, 1, length, length]`.

    Raises:
        StudyError: there is no such mask, or too few layers for an encoder and a decoder.
    """
    study_mask = named(name)
    if study_mask.has_encoder and condition_lengths is None:
        condition_lengths = torch.zeros(1, dtype=torch.int32, device=device)

    def combined(predicate: Predicate) -> Tensor:
        if study_mask.sees_condition and condition_lengths is not None:
            predicate = either(predicate, condition(condition_lengths))
        if lengths is not None:
            predicate = both(predicate, real(lengths))
        if keys is not None:
            predicate = both(predicate, present(keys))
        return matrix(predicate, length, device=device)

    first_layers, first_predicate, later_predicate = 1, study_mask.first, study_mask.later
    if study_mask.has_encoder and condition_lengths is not None:
        first_layers = encoder_layers(layers)
        # Nothing that follows the condition enters the encoder. The decoder's self-attention is causal over what
        # follows, and its cross-attention admits all of the condition, which stands before: together causal again.
        first_predicate = both(first_predicate, of_condition(condition_lengths), condition(condition_lengths))
        later_predicate = both(later_predicate, after_condition(condition_lengths))
    first = combined(first_predicate)
    later = first if later_predicate is first_predicate else combined(later_predicate)
    return [first] * first_layers + [later] * (layers - first_layers)


class EncoderDecoderMasks(NamedTuple):
    """What the attention of an encoder–decoder admits: each of the three has queries and keys of its own."""

    source: Tensor  # batch, 1, source, source: the encoder's self-attention
    target: Tensor  # batch, 1, target, target: the decoder's self-attention
    cross: Tensor  # batch, 1, 1, source: the decoder's cross-attention, the same for all of the target


def encoder_decoder_masks(source_keys: Tensor, target_keys: Tensor) -> EncoderDecoderMasks:
    """The masks of an encoder–decoder: full over the source, causal over the target, all of the source across.

    Where the source is the condition of an example and the target what follows it, they are the blocks of
    `layer_masks("encoder-decoder", …)`.

    Args:
        source_keys: `[batch, source]` bool, True for a real token, wherever padding stands.
        target_keys: `[batch, target]` bool.

    Raises:
        TypeError: one of them is not boolean.
    """
    device = source_keys.device
    source = matrix(both(full, present(source_keys)), source_keys.shape[1], device=device)
    target = matrix(both(causal, present(target_keys)), target_keys.shape[1], device=device)
    return EncoderDecoderMasks(source, target, source[:, :, :1])
