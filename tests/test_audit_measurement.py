"""The second half of the audit: what the masks promise, asked of a model."""

import re

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from maskstudy import audit
from maskstudy.audit import Measurement, access_grid, find_leak, influences, look_ahead, measure, random_model
from maskstudy.masks import MASKS, StudyMask, access, layer_masks, lookahead
from maskstudy.model import Transformer
from maskstudy.shape import POSITIONS, ModelShape
from maskstudy.tasks.task import NOT_SCORED, NOWHERE
from small_study import MASK_NAMES, examples, next_token, random_masks, reached

LENGTH, VOCABULARY = 7, 9


def shape(**changes):
    sizes = {"vocabulary": VOCABULARY, "answers": 5, "length": LENGTH, "width": 16, "layers": 2, "heads": 2}
    return ModelShape(**(sizes | changes))


def drawn(seed, count=5, conditioned=True):
    """Examples of all lengths, with answers anywhere in the input, or nowhere."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(1, LENGTH + 1, count)
    scored = (generator.random((count, LENGTH)) < 0.5) & (np.arange(LENGTH) < lengths[:, None])
    return examples(
        generator.integers(0, VOCABULARY, (count, LENGTH)),
        targets=np.where(scored, 1, NOT_SCORED),
        lengths=lengths,
        condition_lengths=generator.integers(0, lengths + 1) if conditioned else None,
        target_positions=np.where(scored, generator.integers(-1, lengths[:, None], (count, LENGTH)), NOWHERE),
    )


# --- influences -------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 2**31), st.integers(1, 4), st.integers(1, LENGTH), st.sampled_from(POSITIONS), st.floats(0.1, 0.7)
)
def test_measured_in_both_ways_every_pair_is_as_the_masks_say(seed, layers, length, positions, share):
    model = random_model(shape(layers=layers, positions=positions), seed)
    masks = random_masks(layers, length, seed, share)
    query, key = (each.ravel() for each in np.indices((length, length)))
    tokens = np.random.default_rng(seed).integers(0, VOCABULARY, length)
    original = audit.model_input
    audit.model_input = lambda _mask, layers, each: (original("full", layers, each)[0], masks, None)
    try:
        moved, felt = influences(model, "any", examples(np.tile(tokens, (length**2, 1))), query, key)
    finally:
        audit.model_input = original
    np.testing.assert_array_equal(moved.reshape(length, length), reached(masks))
    np.testing.assert_array_equal(felt.reshape(length, length), reached(masks))


def test_influences_leave_the_examples_and_the_model_alone():
    model, split = random_model(shape()), drawn(0)
    tokens = split.tokens.copy()
    output = model(torch.zeros(1, 3, dtype=torch.long), layer_masks("causal", 2, 3))
    first, second = (influences(model, "full", split, np.zeros(5, np.int64), np.zeros(5, np.int64)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(split.tokens, tokens)
    assert torch.equal(model(torch.zeros(1, 3, dtype=torch.long), layer_masks("causal", 2, 3)), output)
    assert not model.embedding._forward_hooks


def test_every_matrix_of_a_random_model_is_drawn():
    model = random_model(shape(positions="learned"))
    for name, parameter in model.named_parameters():
        assert parameter.dtype == torch.float64, name
        assert parameter.dim() == 1 or parameter.std() > 0.05, name
    assert not model.training
    again, other = random_model(shape(positions="learned")), random_model(shape(positions="learned"), seed=1)
    assert torch.equal(model.answer.weight, again.answer.weight)
    assert not torch.equal(model.answer.weight, other.answer.weight)


# --- measuring a cell -------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**31), st.sampled_from(MASK_NAMES), st.integers(1, 3), st.sampled_from(POSITIONS))
def test_masks_and_model_agree_and_a_leak_is_measured_exactly_where_one_is_found(seed, mask, layers, positions):
    split = drawn(seed)
    measurement = measure(mask, shape(layers=layers, positions=positions), split)
    assert measurement.contradiction() is None
    assert measurement.leaks == (find_leak(mask, layers, split) is not None)


@pytest.mark.parametrize("mask", ["causal", "full"])
def test_all_scored_positions_of_the_first_examples_are_measured(mask):
    split = next_token(np.arange(35).reshape(5, 7) % VOCABULARY, lengths=[1, 4, 7, 7, 7])  # the first has no answer
    measurement = measure(mask, shape(), split)
    assert measurement.positions.tolist() == [0, 1, 2, 0, 1, 2, 3, 4, 5]
    assert measurement.target_positions.tolist() == [1, 2, 3, 1, 2, 3, 4, 5, 6]
    assert measurement.moved.tolist() == measurement.felt.tolist() == [mask == "full"] * 9


def test_the_example_that_leaks_is_measured_wherever_it_stands():
    positions = np.full((6, 4), NOWHERE)
    positions[:, 0] = 3
    positions[5, 0] = 0  # alone among six, it holds its answer where the causal mask shows it
    targets = np.where(positions != NOWHERE, 1, NOT_SCORED)
    split = examples(np.arange(24).reshape(6, 4) % VOCABULARY, targets, target_positions=positions)
    measurement = measure("causal", shape(), split)
    assert measurement.target_positions.tolist() == [3, 3, 0]
    assert measurement.moved.tolist() == [False, False, True]
    assert measurement.leaks


def test_where_no_answer_stands_in_the_input_there_is_nothing_to_measure():
    split = examples([[1, 2, 3]], targets=[[1, 2, 3]])
    measurement = measure("full", shape(), split)
    assert len(measurement.positions) == 0
    assert not measurement.leaks
    assert measurement.contradiction() is None


def test_more_pairs_than_fit_are_measured_in_parts(monkeypatch):
    split = next_token(np.arange(14).reshape(2, 7) % VOCABULARY)
    whole = measure("lookahead-1", shape(), split)
    monkeypatch.setattr(audit, "_PAIRS", 5)
    parts = measure("lookahead-1", shape(), split)
    assert len(whole.positions) == 12
    for name in ("positions", "target_positions", "seen", "moved", "felt"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))


# --- contradictions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("declared", "applied", "words"),
    [
        ("causal", "full", "scored position 0 does not see its answer, input 1, but the output .* changes with it"),
        ("full", "causal", "scored position 0 sees its answer, input 1, but the output .* does not change with it"),
    ],
)
def test_a_model_that_applies_another_mask_is_found_out(monkeypatch, declared, applied, words):
    original = audit.model_input
    monkeypatch.setattr(audit, "model_input", lambda _mask, layers, each: original(applied, layers, each))
    contradiction = measure(declared, shape(), next_token([[1, 2, 3, 4, 5]])).contradiction()
    assert contradiction
    assert "\n" not in contradiction
    assert re.search(words, contradiction)


def test_a_model_that_drops_its_mask_in_one_layer_is_found_out(monkeypatch):
    forward = Transformer.streams

    def careless(model, tokens, masks, **options):
        return forward(model, tokens, [masks[0], torch.ones_like(masks[1])], **options)

    monkeypatch.setattr(Transformer, "streams", careless)
    assert "does not see its answer" in measure("causal", shape(), next_token([[1, 2, 3, 4, 5]])).contradiction()


@pytest.mark.parametrize(("moved", "felt"), [(True, False), (False, True)])
def test_one_of_the_two_ways_alone_is_a_contradiction(moved, felt):
    pair = [np.array([value]) for value in (2, 3, True, moved, felt)]
    words = Measurement(*pair).contradiction()
    assert ("changes" in words) == moved
    assert ("no gradient" in words) != felt


# --- look-ahead adds up over layers -----------------------------------------------------------------------------------


@pytest.fixture
def one_ahead_in_every_layer(monkeypatch):
    """`lookahead-K` as it must not be: K tokens of the future in every layer."""
    monkeypatch.setitem(MASKS, "lookahead-K", lambda future: StudyMask(lookahead(future), lookahead(future)))


@pytest.mark.parametrize(("layers", "ahead"), [(1, 1), (2, 2), (3, 3)])
@pytest.mark.usefixtures("one_ahead_in_every_layer")
def test_layers_that_look_ahead_by_one_are_reported_as_what_they_add_up_to(layers, ahead):
    grid = access_grid("lookahead-1", layers, 8)
    assert grid["look_ahead"] == ahead
    assert grid["access"] == [[int(key <= query + ahead) for key in range(8)] for query in range(8)]


@pytest.mark.usefixtures("one_ahead_in_every_layer")
def test_two_layers_that_look_ahead_by_one_leak_an_answer_two_ahead():
    split = examples(
        [[1, 2, 3, 4, 5]],
        targets=[[3, 4, 5, NOT_SCORED, NOT_SCORED]],
        target_positions=[[2, 3, 4, NOWHERE, NOWHERE]],
    )
    assert find_leak("lookahead-1", 1, split) is None
    leak = find_leak("lookahead-1", 2, split)
    assert leak.describe() == "input 2 → layer 1 position 1 → layer 2 position 0"
    assert measure("lookahead-1", shape(), split).moved.all()
    assert not measure("lookahead-1", shape(layers=1), split).moved.any()


@pytest.mark.parametrize(("mask", "ahead"), [("causal", 0), ("lookahead-1", 1), ("lookahead-3", 3), ("full", 7)])
def test_the_masks_of_the_study_look_ahead_as_they_are_named_at_any_depth(mask, ahead):
    for layers in (1, 2, 5):
        assert access_grid(mask, layers, 8)["look_ahead"] == ahead


def test_look_ahead_by_hand():
    seen = torch.eye(4, dtype=torch.bool)
    assert look_ahead(seen) == 0
    seen[1, 3] = True
    assert look_ahead(seen) == 2
    seen[3, 0] = True  # the past does not count
    assert look_ahead(seen) == 2
    assert look_ahead(access([torch.ones(4, 4, dtype=torch.bool).tril(1)] * 2)) == 2
    assert look_ahead(layer_masks("causal", 1, 4)[0]) == 0
