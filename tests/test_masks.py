import doctest
import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from maskstudy import masks
from maskstudy.errors import StudyError
from maskstudy.masks import (
    MASKS,
    access,
    after_condition,
    both,
    causal,
    check_boolean,
    condition,
    each_once,
    either,
    encoder_decoder_masks,
    full,
    is_settled,
    layer_masks,
    lookahead,
    matrix,
    named,
    of_condition,
    present,
    real,
    same_document,
)
from small_study import MASK_NAMES, random_masks, reached

SCHEMA = Path(__file__).parents[1] / "workflow/schemas/config.schema.json"
SIZES = st.tuples(st.integers(1, 6), st.integers(0, 4))  # queries, further keys before them
quick = settings(deadline=None, max_examples=60)


def by_loop(queries, keys, allowed):
    """The matrix cell by cell: `allowed(position of the query, position of the key)`."""
    first = keys - queries
    return [[bool(allowed(first + row, key)) for key in range(keys)] for row in range(queries)]


def batch_by_loop(queries, keys, allowed, batch):
    """`[batch, 1, queries, keys]` cell by cell: `allowed(example, query, key)`."""
    return [[by_loop(queries, keys, lambda query, key, n=n: allowed(n, query, key))] for n in range(batch)]


# --- the words and their examples -------------------------------------------------------------------------------------


def test_the_worked_examples():
    result = doctest.testmod(masks)
    assert result.attempted
    assert not result.failed


@pytest.mark.parametrize(
    ("described", "predicate"),
    [
        (full, full),
        (causal, causal),
        (lookahead, lookahead(1)),
        (condition, condition(torch.tensor([2]))),
        (real, real(torch.tensor([3]))),
    ],
)
def test_the_row_in_the_docstring_is_what_query_2_of_5_admits(described, predicate):
    admitted, row = re.search(r"admits (\d): `([01 ]+)`", described.__doc__).groups()
    assert matrix(predicate, 5).reshape(5, 5)[2].int().tolist() == [int(cell) for cell in row.split()]
    assert row.count("1") == int(admitted)


# --- predicates against loops -----------------------------------------------------------------------------------------


@quick
@given(SIZES, st.integers(0, 4))
def test_causal_full_and_lookahead_are_their_loops_for_unequal_lengths(size, future):
    queries, keys = size[0], sum(size)
    assert matrix(causal, queries, keys).tolist() == by_loop(queries, keys, lambda query, key: key <= query)
    assert matrix(full, queries, keys).tolist() == by_loop(queries, keys, lambda _query, _key: True)
    assert matrix(lookahead(future), queries, keys).tolist() == by_loop(
        queries, keys, lambda query, key: key <= query + future
    )


@quick
@given(SIZES, st.lists(st.integers(0, 8), min_size=1, max_size=3))
def test_condition_and_real_are_their_loops_on_batches(size, lengths):
    queries, keys = size[0], sum(size)
    expected = batch_by_loop(queries, keys, lambda n, _query, key: key < lengths[n], len(lengths))
    assert matrix(condition(torch.tensor(lengths)), queries, keys).tolist() == expected
    assert matrix(real(torch.tensor(lengths)), queries, keys).tolist() == expected


@quick
@given(SIZES, st.lists(st.integers(0, 8), min_size=1, max_size=3))
def test_queries_of_the_condition_and_after_it_are_their_loops_on_batches(size, lengths):
    queries, keys = size[0], sum(size)
    inside = batch_by_loop(queries, keys, lambda n, query, _key: query < lengths[n], len(lengths))
    after = batch_by_loop(queries, keys, lambda n, query, _key: query >= lengths[n], len(lengths))
    assert matrix(of_condition(torch.tensor(lengths)), queries, keys).tolist() == inside
    assert matrix(after_condition(torch.tensor(lengths)), queries, keys).tolist() == after


@quick
@given(SIZES, st.integers(1, 3), st.data())
def test_present_is_its_loop_wherever_the_padding_stands(size, batch, data):
    queries, keys = size[0], sum(size)
    rows = data.draw(st.lists(st.lists(st.booleans(), min_size=keys, max_size=keys), min_size=batch, max_size=batch))
    expected = batch_by_loop(queries, keys, lambda n, _query, key: rows[n][key], batch)
    assert matrix(present(torch.tensor(rows)), queries, keys).tolist() == expected


@quick
@given(SIZES, st.integers(1, 3), st.data())
def test_same_document_is_its_loop_on_batches(size, batch, data):
    queries, keys = size[0], sum(size)
    numbers = st.lists(st.lists(st.integers(0, 2), min_size=keys, max_size=keys), min_size=batch, max_size=batch)
    documents = torch.tensor(data.draw(numbers))
    expected = batch_by_loop(queries, keys, lambda n, query, key: documents[n, query] == documents[n, key], batch)
    predicate = same_document(documents[:, keys - queries :], documents)
    assert matrix(predicate, queries, keys).tolist() == expected
    if queries == keys:
        assert matrix(same_document(documents), queries).tolist() == expected


@quick
@given(st.integers(1, 5), st.lists(st.integers(0, 3), min_size=1, max_size=3))
def test_both_and_either_are_and_and_or(length, futures):
    predicates = [lookahead(future) for future in futures] + [real(torch.tensor([length, length // 2]))]
    separate = [matrix(predicate, length).expand(2, 1, length, length) for predicate in predicates]
    assert torch.equal(matrix(both(*predicates), length), torch.stack(separate).all(0))
    assert torch.equal(matrix(either(*predicates), length), torch.stack(separate).any(0))


def test_both_of_nothing_admits_all_and_either_of_nothing_none():
    assert matrix(both(), 3).all()
    assert not matrix(either(), 3).any()


def test_packed_documents_stay_apart_under_causal():
    packed = matrix(both(causal, same_document(torch.tensor([[0, 0, 1, 1, 1]]))), 5)
    assert packed[0, 0].int().tolist() == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [0, 0, 1, 0, 0],
        [0, 0, 1, 1, 0],
        [0, 0, 1, 1, 1],
    ]


def test_left_padding_joins_with_causal_in_one_mask():
    joined = matrix(both(causal, present(torch.tensor([[False, False, True, True]]))), 4)
    assert joined[0, 0].int().tolist() == [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]]


@pytest.mark.parametrize("predicate", [causal, full, lookahead(2)])
def test_one_query_against_a_cache_sees_all_cached_keys(predicate):
    assert matrix(predicate, 1, 5).tolist() == [[True] * 5]


@quick
@given(st.integers(1, 6), st.integers(1, 6))
def test_the_last_queries_have_the_last_rows(queries, further):
    keys = queries + further
    for predicate in (causal, full, lookahead(1), both(causal, real(torch.tensor([keys - 1])))):
        assert torch.equal(matrix(predicate, queries, keys), matrix(predicate, keys)[..., further:, :])


def test_against_a_cache_documents_and_padding_are_those_of_all_its_keys():
    documents, real_keys = torch.tensor([[0, 0, 1, 1, 1]]), torch.tensor([[False, True, True, True, True]])
    step = matrix(both(causal, same_document(documents[:, -1:], documents), present(real_keys)), 1, 5)
    assert step[0, 0].int().tolist() == [[0, 0, 1, 1, 1]]
    # One mark would be spread over all keys without a word, and every document would be seen.
    for predicate in (same_document(documents[:, -1:]), same_document(documents), present(real_keys[:, -1:])):
        with pytest.raises(StudyError, match=r"[15] positions are marked, but there are [15] (queries|keys)"):
            matrix(both(causal, predicate), 1, 5)


def test_fewer_keys_than_queries_are_refused():
    with pytest.raises(StudyError, match="3 queries but 2 keys"):
        matrix(causal, 3, 2)


def test_looking_back_is_no_look_ahead():
    assert torch.equal(matrix(lookahead(0), 4), matrix(causal, 4))
    with pytest.raises(StudyError, match="-1 tokens of the future"):
        lookahead(-1)


def test_masks_are_made_where_they_are_wanted():
    device = torch.device("meta")
    assert matrix(causal, 3, device=device).device == device
    assert {mask.device for mask in layer_masks("lookahead-1", 2, 3, device=device)} == {device}


# --- booleans only ----------------------------------------------------------------------------------------------------

NOT_BOOLEAN = {
    "float 0/1": torch.ones(3, 3).tril(),
    "integer": torch.ones(3, 3, dtype=torch.int64).tril(),
    "bytes": torch.ones(3, 3, dtype=torch.uint8).tril(),
    "additive": torch.zeros(3, 3).masked_fill(torch.ones(3, 3).triu(1) > 0, -torch.inf),
    "nn.Transformer": nn.Transformer.generate_square_subsequent_mask(3),
    "half": torch.ones(3, 3, dtype=torch.float16),
    "NumPy": np.tri(3, dtype=np.bool_),
    "list": [[True, False], [True, True]],
    "None": None,
}


@pytest.mark.parametrize("mask", NOT_BOOLEAN.values(), ids=NOT_BOOLEAN)
def test_anything_but_a_boolean_mask_is_refused(mask):
    with pytest.raises(TypeError, match=r"here: a boolean mask is needed \(True = may attend\), not "):
        check_boolean(mask, "here")


def test_presence_and_access_take_booleans_only():
    with pytest.raises(TypeError, match="boolean"):
        present(torch.tensor([[0.0, 1.0]]))
    with pytest.raises(TypeError, match="boolean"):
        access([matrix(causal, 3), torch.ones(3, 3)])
    check_boolean(matrix(causal, 3), "a boolean mask")


# --- access -----------------------------------------------------------------------------------------------------------


@quick
@given(st.integers(1, 4), st.integers(1, 7), st.integers(0, 2**31), st.sampled_from([0.1, 0.3, 0.7]))
def test_access_is_reachability_over_the_layers(layers, length, seed, share):
    drawn = random_masks(layers, length, seed, share)
    np.testing.assert_array_equal(access(drawn).numpy(), reached(drawn))


@quick
@given(st.integers(1, 3), st.integers(1, 5), st.integers(0, 2**31))
def test_access_of_a_batch_is_that_of_each_example(layers, length, seed):
    first, second = random_masks(layers, length, seed), random_masks(layers, length, seed + 1)
    together = [torch.stack(pair)[:, None] for pair in zip(first, second, strict=True)]
    seen = access(together)
    assert seen.shape == (2, 1, length, length)
    np.testing.assert_array_equal(seen[0, 0].numpy(), reached(first))
    np.testing.assert_array_equal(seen[1, 0].numpy(), reached(second))


def test_access_is_exact_where_many_paths_lead_to_one_position():
    length = 512  # a sum of so many ones is 0 again in eight bits
    masks_of_layers = [torch.ones(length, length, dtype=torch.bool)] * 2
    assert access(masks_of_layers).all()


@quick
@given(st.integers(1, 6), st.integers(1, 5), st.integers(1, 10))
def test_lookahead_k_sees_exactly_k_tokens_of_the_future_however_many_layers(future, layers, length):
    seen = access(layer_masks(f"lookahead-{future}", layers, length))
    assert seen.tolist() == by_loop(length, length, lambda query, key: key <= query + future)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_looking_ahead_in_every_layer_would_compound(layers):
    seen = access([matrix(lookahead(1), 6)] * layers)
    assert seen.tolist() == by_loop(6, 6, lambda query, key: key <= query + layers)


@pytest.mark.parametrize("layers", [1, 2, 4])
def test_access_of_causal_and_full_is_the_mask_itself(layers):
    assert torch.equal(access(layer_masks("causal", layers, 5)), matrix(causal, 5))
    assert access(layer_masks("full", layers, 5)).all()


# --- the masks of the study -------------------------------------------------------------------------------------------


def study_mask(name, layer, query, key, condition_length):
    """May `query` attend to `key` in this layer (0 first), by the words of the design?"""
    if name == "full":
        return True
    if name.startswith("lookahead") and layer == 0:
        return key <= query + int(name.split("-")[1])
    return key <= query or (name == "prefix" and key < condition_length)


@quick
@given(st.sampled_from(MASK_NAMES), st.integers(1, 3), st.integers(1, 6), st.booleans(), st.booleans(), st.data())
def test_every_mask_joins_condition_and_padding_in_every_layer(name, layers, length, padded, conditioned, data):
    some = st.lists(st.integers(0, length), min_size=2, max_size=2)
    lengths = data.draw(some) if padded else [length] * 2
    conditions = data.draw(some) if conditioned else [0] * 2
    made = layer_masks(
        name,
        layers,
        length,
        lengths=torch.tensor(lengths) if padded else None,
        condition_lengths=torch.tensor(conditions) if conditioned else None,
    )
    assert len(made) == layers
    for layer, mask in enumerate(made):
        assert mask.dtype == torch.bool
        expected = batch_by_loop(
            length,
            length,
            lambda n, query, key, layer=layer: study_mask(name, layer, query, key, conditions[n]) and key < lengths[n],
            2,
        )
        assert mask.expand(2, 1, length, length).tolist() == expected


def test_prefix_is_full_inside_the_condition_and_causal_after_it():
    for mask in layer_masks("prefix", 2, 5, condition_lengths=torch.tensor([3])):
        assert mask[0, 0].int().tolist() == [
            [1, 1, 1, 0, 0],
            [1, 1, 1, 0, 0],
            [1, 1, 1, 0, 0],
            [1, 1, 1, 1, 0],
            [1, 1, 1, 1, 1],
        ]


def test_a_prefix_without_a_condition_is_causal_and_one_of_all_tokens_is_full():
    nothing, half, everything = layer_masks("prefix", 2, 5, condition_lengths=torch.tensor([0, 2, 5]))[1][:, 0]
    assert torch.equal(nothing, matrix(causal, 5))
    assert torch.equal(everything, matrix(full, 5))
    assert half.sum() == matrix(causal, 5).sum() + 1
    assert torch.equal(layer_masks("prefix", 2, 5)[1], matrix(causal, 5))


@pytest.mark.parametrize("name", ["causal", "full", "lookahead-2"])
def test_only_prefix_and_the_encoder_decoder_mind_the_condition(name):
    for mask, plain in zip(
        layer_masks(name, 2, 5, condition_lengths=torch.tensor([3])), layer_masks(name, 2, 5), strict=True
    ):
        assert torch.equal(mask, plain)


@pytest.mark.parametrize("name", MASK_NAMES)
def test_no_mask_admits_padding(name):
    lengths = torch.tensor([2, 6, 0])
    for mask in layer_masks(name, 3, 6, lengths=lengths, condition_lengths=torch.tensor([1, 4, 3])):
        for row, real_tokens in zip(mask, lengths, strict=True):
            assert not row[..., real_tokens:].any()


# --- encoder and decoder ----------------------------------------------------------------------------------------------


def examples_with_a_condition(seed, count=3, length=7):
    """Lengths, and conditions that leave at least one position after them."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(2, length + 1, (count,), generator=generator)
    conditions = 1 + (torch.rand(count, generator=generator) * (lengths - 1)).long()
    return lengths, conditions.clamp(max=lengths - 1)


@quick
@given(st.integers(0, 2**31), st.integers(2, 5))
def test_the_layers_of_an_encoder_decoder_cell_by_cell(seed, layers):
    lengths, conditions = examples_with_a_condition(seed)
    found = layer_masks("encoder-decoder", layers, 7, lengths=lengths, condition_lengths=conditions)
    encoder = batch_by_loop(7, 7, lambda n, query, key: query < conditions[n] and key < conditions[n], 3)
    decoder = batch_by_loop(7, 7, lambda n, query, key: query >= conditions[n] and key <= query and key < lengths[n], 3)
    first = (layers + 1) // 2
    assert [mask.tolist() for mask in found] == [encoder] * first + [decoder] * (layers - first)


@quick
@given(st.integers(0, 2**31))
def test_the_three_masks_are_the_blocks_of_the_layers(seed):
    lengths, conditions = examples_with_a_condition(seed)
    encoder, decoder = layer_masks("encoder-decoder", 2, 7, lengths=lengths, condition_lengths=conditions)
    sources, targets = conditions, lengths - conditions
    masks = encoder_decoder_masks(
        torch.arange(int(sources.max())) < sources[:, None], torch.arange(int(targets.max())) < targets[:, None]
    )
    for n in range(3):
        s, t, length = int(sources[n]), int(targets[n]), int(lengths[n])
        assert torch.equal(masks.source[n, 0, :s, :s], encoder[n, 0, :s, :s])
        assert torch.equal(masks.target[n, 0, :t, :t], decoder[n, 0, s:length, s:length])
        assert torch.equal(masks.cross[n, 0, :, :s].expand(t, -1), decoder[n, 0, s:length, :s])
        assert not masks.source[n, ..., s:].any()
        assert not masks.target[n, ..., t:].any()
        assert not masks.cross[n, ..., s:].any()


@quick
@given(st.integers(0, 2**31), st.integers(2, 5))
def test_after_all_layers_the_target_sees_what_it_sees_under_prefix_and_the_source_itself(seed, layers):
    lengths, conditions = examples_with_a_condition(seed)
    seen = access(layer_masks("encoder-decoder", layers, 7, lengths=lengths, condition_lengths=conditions))
    prefix = access(layer_masks("prefix", layers, 7, lengths=lengths, condition_lengths=conditions))
    assert torch.equal(seen, prefix)
    causal_alone = access(layer_masks("causal", layers, 7, lengths=lengths))
    for n, condition_length in enumerate(conditions):
        assert torch.equal(seen[n, 0, condition_length:], causal_alone[n, 0, condition_length:])


def test_without_a_condition_the_encoder_sees_nothing_and_the_decoder_is_causal():
    encoder, decoder = layer_masks("encoder-decoder", 2, 4)
    assert not encoder.any()
    assert torch.equal(decoder.reshape(4, 4), matrix(causal, 4))


def test_an_encoder_decoder_needs_a_layer_for_each():
    with pytest.raises(StudyError, match="1 layer for an encoder and a decoder; allowed: 2 or more"):
        layer_masks("encoder-decoder", 1, 4)


@pytest.mark.parametrize("which", [0, 1])
def test_only_boolean_keys_make_the_masks_of_an_encoder_decoder(which):
    keys = [torch.ones(1, 2, dtype=torch.bool)] * 2
    keys[which] = keys[which].float()
    with pytest.raises(TypeError, match="boolean"):
        encoder_decoder_masks(*keys)


def families():
    """What the schema of the config admits, as its pattern spells it."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return schema["$defs"]["mask"]["pattern"]


def admitted(name):
    try:
        named(name)
    except StudyError:
        return False
    return True


NAMES = st.one_of(
    st.sampled_from(sorted(MASKS)),
    st.from_regex(r"(causal|full|prefix|lookahead|encoder)(-[0-9]{0,3}|-decoder)?\s?", fullmatch=True),
    st.text(max_size=12),
    st.sampled_from(
        ["lookahead-0", "lookahead-01", "lookahead--1", "lookahead-٣", "lookahead-1٣", "causal\n", " full", ""]
    ),
)


@settings(deadline=None, max_examples=300)
@given(NAMES)
def test_the_schema_admits_exactly_the_masks_that_there_are(name):
    assert bool(re.search(families(), name)) == admitted(name)


def test_every_family_of_masks_stands_in_the_schema():
    for family in MASKS:
        example = family.replace("K", "7")
        assert re.search(families(), example)
        assert admitted(example)


@pytest.mark.parametrize("name", ["triangular", "lookahead-K", "lookahead-0", "lookahead-x", ""])
def test_an_unknown_mask_is_one_line_that_says_what_is_allowed(name):
    with pytest.raises(StudyError, match=r"is not known; allowed: causal, full, prefix, lookahead-K") as raised:
        layer_masks(name, 2, 4)
    assert repr(name) in str(raised.value)
    assert "\n" not in str(raised.value)


# --- masks that layers share ------------------------------------------------------------------------------------------


def test_what_is_made_of_a_mask_is_made_once_for_the_layers_that_share_it():
    first, later = matrix(full, 3), matrix(causal, 3)
    equal = later.clone()  # the same pattern in a tensor of its own
    looked_at = []

    def last_row(mask):
        looked_at.append(mask)
        return mask[-1:]

    rows = each_once(last_row, [later, first, later, equal, first])
    assert [mask is one for mask, one in zip(looked_at, (later, first, equal), strict=True)] == [True] * 3
    for row, mask in zip(rows, (later, first, later, equal, first), strict=True):
        assert torch.equal(row, mask[-1:])
    assert rows[0] is rows[2]
    assert rows[1] is rows[4]
    assert rows[3] is not rows[0]
    assert each_once(last_row, []) == []


# --- what may be kept -------------------------------------------------------------------------------------------------


@quick
@given(st.integers(1, 3), st.integers(1, 6), st.integers(0, 6), st.integers(0, 200), st.floats(0.05, 0.9))
def test_settled_masks_are_those_under_which_no_later_token_reaches_back(layers, length, begin, seed, share):
    """A loop over queries and keys; the masks are causal with a few random exceptions."""
    generator = torch.Generator().manual_seed(seed)
    masks = [
        matrix(causal, length) | (torch.rand(length, length, generator=generator) < share / length)
        for _ in range(layers)
    ]
    reached = any(
        mask[query, key] for mask in masks for query in range(length) for key in range(max(begin, query + 1), length)
    )
    assert is_settled(masks, begin) is not reached


def test_which_masks_of_the_study_are_settled():
    conditions = torch.tensor([3, 2])
    settled = {
        name: is_settled(layer_masks(name, 2, 6, condition_lengths=conditions), 3)
        for name in ("causal", "full", "prefix", "lookahead-1")
    }
    assert settled == {"causal": True, "full": False, "prefix": True, "lookahead-1": False}
    assert not is_settled(layer_masks("prefix", 2, 6, condition_lengths=conditions), 2)  # a condition not all there yet


def test_keys_stand_for_padding_on_any_side():
    keys = torch.tensor([[False, True, True, True], [True, True, True, False]])
    for name in MASK_NAMES:
        plain = layer_masks(name, 2, 4, condition_lengths=torch.tensor([2, 2]))
        for mask, unpadded in zip(
            layer_masks(name, 2, 4, condition_lengths=torch.tensor([2, 2]), keys=keys), plain, strict=True
        ):
            assert torch.equal(mask, (unpadded & keys[:, None, None, :]).expand_as(mask))
    right = [mask[1:] for mask in layer_masks("causal", 2, 4, keys=keys)]
    for mask, other in zip(right, layer_masks("causal", 2, 4, lengths=torch.tensor([3])), strict=True):
        assert torch.equal(mask, other)
