import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from maskstudy.audit import find_leak, measure, random_model
from maskstudy.encoder_decoder import EncoderDecoder
from maskstudy.errors import StudyError
from maskstudy.evaluation import build_model, log_probabilities, model_input
from maskstudy.masks import encoder_decoder_masks, layer_masks
from maskstudy.model import Transformer, parameter_count
from maskstudy.shape import POSITIONS, ModelShape
from maskstudy.tasks.task import NOT_SCORED, NOWHERE
from small_study import examples

LENGTH, VOCABULARY = 8, 11
quick = settings(deadline=None, max_examples=25)


def shape(**changes):
    sizes = {"vocabulary": VOCABULARY, "answers": 5, "length": LENGTH, "width": 8, "layers": 3, "heads": 2}
    return ModelShape(**(sizes | changes))


def model_of(seed=0, **changes):
    return random_model(shape(**changes), seed, "encoder-decoder")


def drawn(seed=0, count=4):
    """Examples with a condition, everything after it scored; padding is filled with anything."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(2, LENGTH + 1, count)
    conditions = generator.integers(1, lengths)
    targets = generator.integers(0, 5, (count, LENGTH))
    places = np.arange(LENGTH)
    scored = (places >= conditions[:, None]) & (places < lengths[:, None])
    return examples(
        generator.integers(0, VOCABULARY, (count, LENGTH)),
        targets=np.where(scored, targets, NOT_SCORED),
        lengths=lengths,
        condition_lengths=conditions,
    )


# --- parameters -------------------------------------------------------------------------------------------------------


@quick
@given(st.integers(2, 8), st.sampled_from([(32, 2), (64, 4), (96, 4), (128, 8)]), st.sampled_from(POSITIONS), st.data())
def test_it_has_as_many_parameters_as_the_transformer(layers, width_and_heads, positions, data):
    width, heads = width_and_heads
    answers = data.draw(st.integers(2, 60))
    each = ModelShape(answers + 30, answers, 57, width, layers, heads, positions)
    own, other = parameter_count(EncoderDecoder(each)), parameter_count(Transformer(each))
    assert own == pytest.approx(other, rel=0.03)  # 5 % are allowed; norms and rounding are all that differs


def test_initial_weights_depend_on_seed_and_shape_alone():
    def weights(seed):
        torch.manual_seed(seed)
        return EncoderDecoder(shape()).state_dict()

    first, again, other = weights(0), weights(0), weights(1)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["embedding.weight"], other["embedding.weight"])


def test_what_a_block_adds_starts_at_nothing():
    model = EncoderDecoder(shape())
    still = [name for name, parameter in model.named_parameters() if not parameter.any()]
    assert still == [
        *(f"encoder_blocks.{n}.{part}.weight" for n in range(2) for part in ("attention.project_out", "contract")),
        *(f"decoder_blocks.0.{part}.weight" for part in ("attention.project_out", "contract", "cross.project_out")),
        "answer.weight",
    ]


# --- the same by hand -------------------------------------------------------------------------------------------------


def by_formula(model, source, target):
    """One example without padding, by explicit loops over heads: Vaswani et al. 2017, §3.1 and §3.2, pre-norm."""
    width, heads = model.shape.width, model.shape.heads
    each = width // heads

    def norm(stream, weight):
        centred = stream - stream.mean(-1, keepdim=True)
        return centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt() * weight

    def attention(queries, keys, values, allowed):
        mixed = []
        for head in range(heads):
            part = slice(head * each, (head + 1) * each)
            scores = queries[:, part] @ keys[:, part].T / math.sqrt(each)
            mixed.append(torch.softmax(scores.masked_fill(~allowed, -math.inf), -1) @ values[:, part])
        return torch.cat(mixed, -1)

    def network(stream, block):
        inner = torch.relu(norm(stream, block.network_norm.weight) @ block.expand.weight.T) ** 2
        return stream + inner @ block.contract.weight.T

    def self_attention(stream, block, allowed):
        projected = norm(stream, block.attention_norm.weight) @ block.attention.project_in.weight.T
        return stream + attention(*projected.split(width, -1), allowed) @ block.attention.project_out.weight.T

    read = model.embedding.weight[source]
    for block in model.encoder_blocks:
        read = network(self_attention(read, block, torch.ones(len(source), len(source), dtype=torch.bool)), block)
    read = norm(read, model.encoder_norm.weight)
    written = model.embedding.weight[target]
    for block in model.decoder_blocks:
        written = self_attention(written, block, torch.ones(len(target), len(target), dtype=torch.bool).tril())
        queries = norm(written, block.cross_norm.weight) @ block.cross.project_target.weight.T
        keys, values = (read @ block.cross.project_source.weight.T).split(width, -1)
        everything = torch.ones(len(target), len(source), dtype=torch.bool)
        written = written + attention(queries, keys, values, everything) @ block.cross.project_out.weight.T
        written = network(written, block)
    return norm(written, model.final_norm.weight) @ model.answer.weight.T


@pytest.mark.parametrize("layers", [2, 3, 5])
def test_it_is_the_formula(layers):
    model, tokens = model_of(positions="none", layers=layers), torch.arange(7)[None]
    masks = encoder_decoder_masks(torch.ones(1, 3, dtype=torch.bool), torch.ones(1, 4, dtype=torch.bool))
    expected = by_formula(model, tokens[0, :3], tokens[0, 3:])
    torch.testing.assert_close(model(tokens, masks)[0], expected, rtol=0, atol=1e-10)


# --- padding and examples ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("positions", POSITIONS)
@quick
@given(st.integers(0, 2**31))
def test_answers_are_those_of_each_example_alone(positions, seed):
    model, split = model_of(positions=positions), drawn(seed)
    together = log_probabilities(model, "encoder-decoder", split)
    alone = [log_probabilities(model, "encoder-decoder", split[row : row + 1]) for row in range(len(split))]
    np.testing.assert_allclose(together, np.concatenate(alone), rtol=0, atol=1e-10)


@pytest.mark.parametrize("positions", POSITIONS)
def test_what_stands_in_padding_has_no_effect(positions):
    model, split = model_of(positions=positions), drawn(3)
    tokens, masks, scored = model_input("encoder-decoder", 3, split)
    output = model(tokens, masks, scored)
    padding = torch.arange(tokens.shape[1]) >= torch.from_numpy(split.lengths)[:, None]
    assert padding.any()
    other = model(torch.where(padding, (tokens + 4) % VOCABULARY, tokens), masks, scored)
    assert torch.equal(output, other)


def test_only_scored_positions_are_answered_and_in_their_order():
    model, split = model_of(), drawn(1)
    tokens, masks, scored = model_input("encoder-decoder", 3, split)
    everywhere = model(tokens, masks)
    targets = split.lengths - split.condition_lengths
    real = torch.arange(everywhere.shape[1]) < torch.from_numpy(targets)[:, None]
    torch.testing.assert_close(model(tokens, masks, scored), everywhere[real], rtol=0, atol=1e-12)
    some = scored & (torch.arange(tokens.shape[1]) % 2 == 0)
    picked = model(tokens, masks, some)
    rows, places = some.nonzero(as_tuple=True)
    expected = everywhere[rows, places - torch.from_numpy(split.condition_lengths)[rows]]
    torch.testing.assert_close(picked, expected, rtol=0, atol=1e-12)


# --- who sees whom ----------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**31), st.integers(2, 4), st.sampled_from(POSITIONS))
def test_the_audit_measures_what_the_product_of_the_layers_says(seed, layers, positions):
    """Where the answers stand is drawn: in the source, before a scored position, at it, and after it."""
    split = drawn(seed)
    generator = np.random.default_rng(seed)
    places = generator.integers(0, split.lengths[:, None], split.tokens.shape)
    split.target_positions[:] = np.where(split.scored, places, NOWHERE)
    measurement = measure("encoder-decoder", shape(layers=layers, positions=positions), split)
    assert len(measurement.positions)
    assert measurement.contradiction() is None
    assert measurement.leaks == (find_leak("encoder-decoder", layers, split) is not None)


def test_a_decoder_that_looks_ahead_is_found_out(monkeypatch):
    split = examples(
        [[1, 2, 3, 4, 5]],
        targets=[[NOT_SCORED, NOT_SCORED, 4, 0, NOT_SCORED]],
        condition_lengths=[2],
        target_positions=[[NOWHERE, NOWHERE, 3, 4, NOWHERE]],
    )
    assert measure("encoder-decoder", shape(), split).contradiction() is None
    forward = EncoderDecoder.forward

    def careless(model, tokens, masks, scored=None):
        return forward(model, tokens, masks._replace(target=torch.ones_like(masks.target)), scored)

    monkeypatch.setattr(EncoderDecoder, "forward", careless)
    assert "does not see its answer" in measure("encoder-decoder", shape(), split).contradiction()


# --- encode and decode ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("positions", POSITIONS)
def test_encoding_and_decoding_step_by_step_is_the_parallel_pass(positions):
    model = model_of(positions=positions)
    tokens = torch.arange(16).reshape(2, 8) % VOCABULARY
    masks = encoder_decoder_masks(torch.ones(2, 3, dtype=torch.bool), torch.ones(2, 5, dtype=torch.bool))
    parallel = model(tokens, masks)
    source, cache = model.encode(tokens[:, :3], masks.source), model.new_cache(2, 5)
    for step in range(5):
        admitted = masks.target[:, :, step : step + 1, : step + 1]
        found = model.decode(tokens[:, 3 + step : 4 + step], source, (admitted, masks.cross), cache=cache)
        torch.testing.assert_close(found[:, 0], parallel[:, step], rtol=0, atol=1e-10)


def test_dropout_is_on_in_training_alone():
    model, split = model_of(dropout=0.5), drawn()
    arguments = model_input("encoder-decoder", 3, split)
    assert torch.equal(model(*arguments), model(*arguments))
    model.train()
    assert not torch.equal(model(*arguments), model(*arguments))


# --- refusals ---------------------------------------------------------------------------------------------------------


def test_a_mask_says_which_model_it_belongs_to():
    assert isinstance(build_model("encoder-decoder", shape()), EncoderDecoder)
    assert isinstance(build_model("prefix", shape()), Transformer)


def test_one_layer_is_refused():
    with pytest.raises(StudyError, match="1 layer for an encoder and a decoder; allowed: 2 or more"):
        EncoderDecoder(shape(layers=1))


def test_masks_of_another_kind_and_too_many_tokens_are_refused():
    tokens = torch.zeros(1, LENGTH + 2, dtype=torch.int64)
    with pytest.raises(StudyError, match="takes masks of its own"):
        model_of()(tokens, layer_masks("causal", 3, LENGTH + 2))
    keys = torch.ones(1, 1, dtype=torch.bool), torch.ones(1, LENGTH + 1, dtype=torch.bool)
    with pytest.raises(StudyError, match="9 tokens, but it was built for at most 8"):
        model_of()(tokens, encoder_decoder_masks(*keys))


def test_examples_without_a_condition_or_with_an_answer_in_it_are_refused():
    with pytest.raises(StudyError, match="an example has no condition to encode"):
        model_input("encoder-decoder", 2, examples([[1, 2], [3, 4]], condition_lengths=[1, 0]))
    with pytest.raises(StudyError, match="an answer is scored in the condition"):
        model_input("encoder-decoder", 2, examples([[1, 2]], targets=[[1, 2]], condition_lengths=[1]))
