import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from maskstudy import attention
from maskstudy import model as model_module
from maskstudy.attention import Sight
from maskstudy.cache import KeyValueCache
from maskstudy.errors import StudyError
from maskstudy.masks import access, both, causal, full, layer_masks, matrix, present, same_document
from maskstudy.model import Transformer, parameter_count, rotary_turns, rotate, squared_relu
from maskstudy.proofs import cached_decoding_agrees
from maskstudy.shape import POSITIONS, ModelShape
from small_study import MASK_NAMES, random_masks, random_model, reached

LENGTH, VOCABULARY, LAYERS = 6, 20, 3
quick = settings(deadline=None, max_examples=25)


def shape(**changes):
    sizes = {"vocabulary": VOCABULARY, "answers": 4, "length": LENGTH, "width": 8, "layers": LAYERS, "heads": 2}
    return ModelShape(**(sizes | changes))


def drawn_tokens(batch, length, seed=0):
    """No token twice in a row of the batch."""
    generator = np.random.default_rng(seed)
    return torch.from_numpy(np.stack([generator.permutation(VOCABULARY)[:length] for _ in range(batch)]))


def changed(tokens, position):
    """The same tokens but for the one at `position`, which stands nowhere else."""
    other = tokens.clone()
    other[:, position] = torch.tensor([(set(range(VOCABULARY)) - set(row.tolist())).pop() for row in tokens])
    return other


def gradient_to_token(model, tokens, masks, position, source):
    """Of the answer at `position`, with respect to the embedding of the (unique) token at `source`."""
    output = model(tokens, masks)[:, position].sum()
    return torch.autograd.grad(output, model.embedding.weight)[0][tokens[0, source]]


# --- who influences whom ----------------------------------------------------------------------------------------------


@quick
@given(st.sampled_from(POSITIONS), st.integers(1, 4), st.integers(0, 2**31), st.sampled_from([0.1, 0.25, 0.6]))
def test_a_token_influences_exactly_the_positions_whose_access_holds_it(positions, layers, seed, share):
    model = random_model(shape(positions=positions, layers=layers), seed)
    masks = random_masks(layers, LENGTH, seed, share)
    tokens = drawn_tokens(1, LENGTH, seed)
    seen = access(masks)
    np.testing.assert_array_equal(seen.numpy(), reached(masks))
    output = model(tokens, masks)
    for source in range(LENGTH):
        moved = (model(changed(tokens, source), masks) != output).any(-1)[0]
        assert moved.tolist() == seen[:, source].tolist()
        for position in range(LENGTH):
            gradient = gradient_to_token(model, tokens, masks, position, source)
            assert bool((gradient != 0).any()) == bool(seen[position, source])


@pytest.mark.parametrize("positions", POSITIONS)
def test_under_causal_a_token_changes_nothing_before_it(positions):
    model = random_model(shape(positions=positions))
    masks, tokens = layer_masks("causal", LAYERS, LENGTH), drawn_tokens(4, LENGTH)
    output = model(tokens, masks)
    for source in range(LENGTH):
        other = model(changed(tokens, source), masks)
        assert torch.equal(output[:, :source], other[:, :source])
        assert (output[:, source:] != other[:, source:]).any(-1).all()
        for position in range(LENGTH):
            gradient = gradient_to_token(model, tokens[:1], masks, position, source)
            assert (gradient != 0).any() if position >= source else (gradient == 0).all()


@pytest.mark.parametrize("positions", POSITIONS)
def test_under_full_every_token_reaches_every_position(positions):
    model = random_model(shape(positions=positions))
    masks, tokens = layer_masks("full", LAYERS, LENGTH), drawn_tokens(4, LENGTH)
    for source in range(LENGTH):
        assert (model(changed(tokens, source), masks) != model(tokens, masks)).any(-1).all()


@pytest.mark.parametrize("future", [1, 2, 4])
def test_lookahead_k_reaches_k_tokens_ahead_and_no_further(future):
    model = random_model(shape())
    masks, tokens = layer_masks(f"lookahead-{future}", LAYERS, LENGTH), drawn_tokens(1, LENGTH)
    for source in range(LENGTH):
        moved = (model(changed(tokens, source), masks) != model(tokens, masks)).any(-1)[0]
        assert moved.tolist() == [source <= position + future for position in range(LENGTH)]


@pytest.mark.parametrize("positions", POSITIONS)
def test_a_shorter_input_is_the_beginning_of_a_longer_one_under_causal(positions):
    model, tokens = random_model(shape(positions=positions)), drawn_tokens(2, LENGTH)
    whole = model(tokens, layer_masks("causal", LAYERS, LENGTH))
    for length in range(1, LENGTH):
        beginning = model(tokens[:, :length], layer_masks("causal", LAYERS, length))
        torch.testing.assert_close(beginning, whole[:, :length], rtol=0, atol=1e-10)


def test_packed_documents_do_not_see_each_other():
    model, tokens = random_model(shape()), drawn_tokens(1, LENGTH)
    documents = torch.tensor([[0, 0, 0, 1, 1, 1]])
    for predicate in (causal, full):
        masks = [matrix(both(predicate, same_document(documents)), LENGTH)] * LAYERS
        other = tokens.clone()
        other[:, :3] = changed(tokens, 0)[:, 0]
        assert torch.equal(model(tokens, masks)[:, 3:], model(other, masks)[:, 3:])
        assert not torch.equal(model(tokens, masks)[:, :3], model(other, masks)[:, :3])


def test_a_new_model_ignores_its_neighbours_and_says_nothing():
    torch.manual_seed(0)
    model = Transformer(shape())
    tokens = drawn_tokens(2, LENGTH)
    streams = model.streams(tokens, layer_masks("full", LAYERS, LENGTH))
    assert len(streams) == LAYERS + 1
    for stream in streams[1:]:
        assert torch.equal(stream, streams[0])
    assert (model(tokens, layer_masks("full", LAYERS, LENGTH)) == 0).all()


# --- against NumPy ----------------------------------------------------------------------------------------------------


def normed(stream, weight):
    centred = stream - stream.mean(-1, keepdims=True)
    return weight * centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)


def turned(vectors):
    """`[length, width]`: neighbours as one complex number, times exp(i · position · 10000^(−2k / width))."""
    length, width = vectors.shape
    angles = np.arange(length)[:, None] * 10000.0 ** (-np.arange(0, width, 2) / width)
    pairs = (vectors[:, ::2] + 1j * vectors[:, 1::2]) * np.exp(1j * angles)
    return np.stack([pairs.real, pairs.imag], -1).reshape(length, width)


def in_numpy(model, tokens, masks):
    """The logits of one example `[length]`, from the weights, as the design says it in words."""
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    width, heads, length = model.shape.width, model.shape.heads, len(tokens)
    stream = weights["embedding.weight"][tokens]
    if model.shape.positions == "learned":
        stream = stream + weights["position"][:length]
    for layer, mask in enumerate(masks):
        of_block = {name.removeprefix(f"blocks.{layer}."): value for name, value in weights.items()}
        read = normed(stream, of_block["attention_norm.weight"])
        queries, keys, values = np.split(of_block["attention.project_in.weight"], 3)  # one below the other
        mixed = np.zeros_like(stream)
        for head in np.split(np.arange(width), heads):
            q, k, v = (read @ matrix[head].T for matrix in (queries, keys, values))
            if model.shape.positions == "rotary":
                q, k = turned(q), turned(k)
            for position in range(length):
                seen = np.flatnonzero(mask[position])
                if len(seen):
                    scores = np.exp(k[seen] @ q[position] / np.sqrt(width // heads))
                    mixed[position, head] = scores / scores.sum() @ v[seen]
        stream = stream + mixed @ of_block["attention.project_out.weight"].T
        inner = np.maximum(normed(stream, of_block["network_norm.weight"]) @ of_block["expand.weight"].T, 0) ** 2
        stream = stream + inner @ of_block["contract.weight"].T
    return normed(stream, weights["final_norm.weight"]) @ weights["answer.weight"].T


@quick
@given(
    st.sampled_from(POSITIONS),
    st.sampled_from([1, 2, 4]),
    st.integers(1, LENGTH),
    st.integers(0, 2**31),
    st.lists(st.integers(0, LAYERS - 1), min_size=LAYERS, max_size=LAYERS),
)
def test_a_whole_pass_is_the_formula_in_numpy(positions, heads, length, seed, mask_of_layer):
    """Layers share masks or have their own; some rows, in some layers alone, are empty."""
    model = random_model(shape(positions=positions, heads=heads, width=8), seed)
    drawn, tokens = random_masks(LAYERS, length, seed), drawn_tokens(1, length, seed)
    masks = [drawn[number] for number in mask_of_layer]
    expected = in_numpy(model, tokens[0].numpy(), [mask.numpy() for mask in masks])
    np.testing.assert_allclose(model(tokens, masks)[0].detach().numpy(), expected, atol=1e-9)


@pytest.mark.parametrize("blind_layer", range(LAYERS))
def test_a_query_that_sees_nothing_in_one_layer_alone_keeps_its_stream_there(blind_layer):
    model, tokens = random_model(shape()), drawn_tokens(1, LENGTH)
    masks = layer_masks("causal", LAYERS, LENGTH)
    masks[blind_layer] = masks[blind_layer].clone()
    masks[blind_layer][2] = False
    expected = in_numpy(model, tokens[0].numpy(), [mask.numpy() for mask in masks])
    np.testing.assert_allclose(model(tokens, masks)[0].detach().numpy(), expected, atol=1e-9)
    streams = model.streams(tokens, masks)
    for layer, block in enumerate(model.blocks):
        alone = block.worked(streams[layer])[:, 2]  # what the block makes of it without attention
        assert torch.allclose(streams[layer + 1][:, 2], alone, rtol=0, atol=1e-10) is (layer == blind_layer)


def test_a_pass_looks_at_each_mask_once_however_many_layers_share_it(monkeypatch):
    looked_at = []

    class Watched(Sight):
        def __init__(self, mask):
            looked_at.append(mask)
            super().__init__(mask)

    for module in (attention, model_module):
        monkeypatch.setattr(module, "Sight", Watched)
    model, tokens = random_model(shape()), drawn_tokens(1, LENGTH)
    for name, different in (("causal", 1), ("lookahead-1", 2)):
        looked_at.clear()
        model(tokens, layer_masks(name, LAYERS, LENGTH))
        assert len(looked_at) == different


# --- padding ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("name", MASK_NAMES)
def test_padding_on_the_right_has_no_effect(name, positions):
    model, tokens = random_model(shape(positions=positions)), drawn_tokens(3, LENGTH)
    lengths, conditions = torch.tensor([6, 4, 1]), torch.tensor([3, 2, 0])
    masks = layer_masks(name, LAYERS, LENGTH, lengths=lengths, condition_lengths=conditions)
    output = model(tokens, masks)
    padding = torch.arange(LENGTH) >= lengths[:, None]
    other = model(torch.where(padding, (tokens + 7) % VOCABULARY, tokens), masks)
    assert torch.equal(output[~padding], other[~padding])
    for row, (length, condition) in enumerate(zip(lengths.tolist(), conditions.tolist(), strict=True)):
        alone = model(
            tokens[row : row + 1, :length],
            layer_masks(name, LAYERS, length, condition_lengths=torch.tensor([condition])),
        )
        torch.testing.assert_close(output[row, :length], alone[0], rtol=0, atol=1e-10)


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("predicate", [causal, full])
def test_padding_on_the_left_has_no_effect(predicate, positions):
    model, tokens = random_model(shape(positions=positions)), drawn_tokens(2, LENGTH)
    real_keys = torch.arange(LENGTH) >= torch.tensor([[2], [5]])
    masks = [matrix(both(predicate, present(real_keys)), LENGTH)] * LAYERS
    output = model(tokens, masks)
    assert output.isfinite().all()
    other = model(torch.where(real_keys, tokens, (tokens + 7) % VOCABULARY), masks)
    assert torch.equal(output[real_keys], other[real_keys])
    if positions != "learned":  # nothing depends on where the tokens stand, only on how far from each other
        alone = model(tokens[:1, 2:], [matrix(predicate, LENGTH - 2)] * LAYERS)
        torch.testing.assert_close(output[:1, 2:], alone, rtol=0, atol=1e-10)


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("name", MASK_NAMES)
def test_padding_is_not_learned_from(name, positions):
    """Gradients of all weights, whatever stands in padding; a token that is padding alone has a gradient of 0."""
    model, tokens = random_model(shape(positions=positions)), drawn_tokens(3, LENGTH) % (VOCABULARY - 1)
    lengths = torch.tensor([6, 4, 1])
    masks = layer_masks(name, LAYERS, LENGTH, lengths=lengths, condition_lengths=torch.tensor([3, 2, 0]))
    padding = torch.arange(LENGTH) >= lengths[:, None]
    found = []
    for content in (VOCABULARY - 1, (tokens + 7) % VOCABULARY):
        loss = model(torch.where(padding, content, tokens), masks, ~padding).square().sum()
        found.append(torch.autograd.grad(loss, list(model.parameters())))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)
    of_embedding = dict(zip(dict(model.named_parameters()), found[0], strict=True))["embedding.weight"]
    assert (of_embedding[VOCABULARY - 1] == 0).all()
    assert (of_embedding[tokens[0]] != 0).any(-1).all()


# --- the cache --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("padded", [False, True])
def test_cached_decoding_is_the_parallel_pass_step_by_step(positions, padded):
    model = random_model(shape(positions=positions, length=12))
    real = None
    if padded:
        real = torch.ones(3, 12, dtype=torch.bool)
        real[1, :4], real[2, 9:] = False, False

    def masks_and_places(so_far, keys, queries):
        masks = layer_masks("causal", LAYERS, keys, keys=so_far)
        places = None if so_far is None else (so_far.cumsum(-1) - 1).clamp(min=0)[:, keys - queries :]
        return [mask[..., keys - queries :, :] for mask in masks], places

    def step(copy, new, cache, so_far=None):
        cache = cache or KeyValueCache(copy.shape, len(new), 12, copy.embedding.weight)
        masks, places = masks_and_places(so_far, cache.filled + new.shape[1], new.shape[1])
        return copy(new, masks, places=places, cache=cache), cache

    def parallel(copy, tokens, so_far=None):
        masks, places = masks_and_places(so_far, tokens.shape[1], tokens.shape[1])
        return copy(tokens, masks, places=places)

    proof = cached_decoding_agrees(model, step=step, call=parallel, real=real, length=12)
    assert len(proof.findings) == 4
    assert proof.holds, str(proof)


def test_a_cache_has_room_for_no_more_tokens_than_the_model():
    model = random_model(shape(positions="none"))
    cache = KeyValueCache(model.shape, 1, 2 * LENGTH, model.embedding.weight)
    masks = layer_masks("causal", LAYERS, LENGTH + 1)
    model(drawn_tokens(1, LENGTH), [mask[:LENGTH, :LENGTH] for mask in masks], cache=cache)
    with pytest.raises(StudyError, match=f"{LENGTH + 1} tokens, but it was built for at most {LENGTH}"):
        model(drawn_tokens(1, 1), [mask[LENGTH:] for mask in masks], cache=cache)


# --- the activation ---------------------------------------------------------------------------------------------------


def test_the_squared_relu_is_that_of_autograd_to_the_bit():
    inputs = torch.randn(50, 40, generator=torch.Generator().manual_seed(0))
    inputs[0, :3] = torch.tensor([0.0, -0.0, 1e-30])
    weights = torch.randn(50, 40, generator=torch.Generator().manual_seed(1))
    results = []
    for function in (squared_relu, lambda values: torch.relu(values).square()):
        leaf = inputs.clone().requires_grad_()
        output = function(leaf)
        (output * weights).sum().backward()
        results.append((output.detach(), leaf.grad))
    for own, library in zip(*results, strict=True):
        assert torch.equal(own, library)
    assert torch.equal(squared_relu(inputs), results[1][0])
    # Many gradients in one pass, as `access` takes them.
    leaf = inputs[0].clone().requires_grad_()
    many = torch.autograd.grad(squared_relu(leaf), leaf, torch.eye(40), is_grads_batched=True)[0]
    assert torch.equal(many, torch.diag(2 * inputs[0].clamp(min=0)))


# --- precision --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("name", MASK_NAMES)
def test_in_every_precision_a_change_moves_nothing_that_its_access_does_not_hold(name, positions, dtype):
    model, tokens = random_model(shape(positions=positions)).to(dtype), drawn_tokens(1, LENGTH)
    masks = layer_masks(name, LAYERS, LENGTH, condition_lengths=torch.tensor([3]))
    output = model(tokens, masks)
    assert output.dtype == dtype
    assert output.isfinite().all()
    for source in range(LENGTH):
        moved = (model(changed(tokens, source), masks) != output).any(-1)[0]
        assert not (moved & ~access(masks)[..., source].reshape(LENGTH)).any()
        assert moved[source]


# --- positions --------------------------------------------------------------------------------------------------------


def test_rotary_scores_depend_on_the_distance_alone():
    generator = torch.Generator().manual_seed(0)
    query, key = torch.randn(2, 8, generator=generator, dtype=torch.float64)
    turns = rotary_turns(9, 8)[:, None]
    queries, keys = (rotate(vector.expand(1, 9, 1, 8).contiguous(), turns)[0, :, 0] for vector in (query, key))
    scores = queries @ keys.T  # positions of the query, positions of the key
    for distance in range(-8, 9):
        diagonal = scores.diagonal(distance)
        torch.testing.assert_close(diagonal, diagonal[:1].expand_as(diagonal), rtol=0, atol=1e-12)
    assert len({round(value, 9) for value in torch.cat([scores[0], scores[1:, 0]]).tolist()}) == 17
    torch.testing.assert_close(queries.norm(dim=-1), query.norm().expand(9))
    torch.testing.assert_close(queries[0], query)


@pytest.mark.parametrize("positions", POSITIONS)
def test_half_precision_is_the_same_function_less_exact(positions):
    model, tokens = random_model(shape(positions=positions), scale=0.2), drawn_tokens(3, LENGTH)
    masks = layer_masks("causal", LAYERS, LENGTH)
    exact = model(tokens, masks)
    found = model.bfloat16()(tokens, masks)
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.double(), exact, rtol=0.1, atol=0.05)


def test_a_model_that_wrote_first_can_be_trained_afterwards():
    """The turns are worked out once; those of a pass that wants no gradients serve one that does."""
    model, tokens = random_model(shape(positions="rotary", length=LENGTH + 31)), drawn_tokens(1, LENGTH)
    masks = layer_masks("causal", LAYERS, LENGTH)
    with torch.inference_mode():
        model(tokens, masks)
    model(tokens, masks).sum().backward()
    assert model.embedding.weight.grad.isfinite().all()


def test_rotary_turns_are_the_angles_of_the_paper():
    # Su et al. 2021, eq. 34: neighbours (x₁, x₂) become (x₁ cos mθ − x₂ sin mθ, x₂ cos mθ + x₁ sin mθ).
    vectors = torch.randn(1, 5, 1, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    turned = rotate(vectors, rotary_turns(5, 6)[:, None])
    for position in range(5):
        for pair in range(3):
            angle = position * 10000 ** (-2 * pair / 6)
            first, second = vectors[0, position, 0, 2 * pair : 2 * pair + 2].tolist()
            assert turned[0, position, 0, 2 * pair].item() == pytest.approx(
                first * math.cos(angle) - second * math.sin(angle)
            )
            assert turned[0, position, 0, 2 * pair + 1].item() == pytest.approx(
                second * math.cos(angle) + first * math.sin(angle)
            )


@pytest.mark.parametrize(
    ("positions", "name", "equivariant"),
    [
        ("none", "full", True),
        ("none", "causal", False),
        ("learned", "full", False),
        ("rotary", "full", False),
    ],
)
def test_only_without_positions_and_without_order_in_the_mask_is_the_input_a_bag(positions, name, equivariant):
    model, tokens = random_model(shape(positions=positions)), drawn_tokens(2, LENGTH)
    masks = layer_masks(name, LAYERS, LENGTH)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    shuffled, moved = model(tokens[:, order], masks), model(tokens, masks)[:, order]
    assert torch.allclose(shuffled, moved, rtol=0, atol=1e-10) == equivariant


# --- logits and weights -----------------------------------------------------------------------------------------------


@quick
@given(st.integers(0, 2**31), st.integers(1, 4))
def test_logits_at_scored_positions_are_the_same_as_everywhere(seed, batch):
    model, tokens = random_model(shape()), drawn_tokens(batch, LENGTH, seed)
    scored = torch.rand(batch, LENGTH, generator=torch.Generator().manual_seed(seed)) < 0.4
    masks = layer_masks("causal", LAYERS, LENGTH)
    picked = model(tokens, masks, scored)
    assert picked.shape == (int(scored.sum()), 4)
    torch.testing.assert_close(picked, model(tokens, masks)[scored], rtol=0, atol=1e-10)


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("name", MASK_NAMES)
def test_attention_weights_are_those_that_the_fused_form_uses(name, positions):
    model, tokens = random_model(shape(positions=positions)), drawn_tokens(2, LENGTH)
    masks = layer_masks(name, LAYERS, LENGTH, lengths=torch.tensor([6, 4]), condition_lengths=torch.tensor([3, 1]))
    streams = model.streams(tokens, masks)
    rotation = model.rotation(slice(0, LENGTH), streams[0])
    all_weights = model.attention_weights(tokens, masks)
    assert len(all_weights) == LAYERS
    for block, stream, mask, weights in zip(model.blocks, streams[:-1], masks, all_weights, strict=True):
        assert weights.shape == (2, 2, LENGTH, LENGTH)
        assert (weights[~mask.expand_as(weights)] == 0).all()
        assert (weights[mask.expand_as(weights)] > 0).all()
        torch.testing.assert_close(weights.sum(-1), torch.ones(2, 2, LENGTH, dtype=torch.float64))
        normed = block.attention_norm(stream)
        values = block.attention.queries_keys_values(normed, rotation)[2]
        mixed = block.attention.project_out((weights @ values).transpose(1, 2).flatten(2))
        torch.testing.assert_close(mixed, block.attention(normed, mask, rotation), rtol=0, atol=1e-10)


def test_heads_are_separate_slices_of_the_width():
    model, tokens = random_model(shape(layers=1)), drawn_tokens(1, LENGTH)
    masks = layer_masks("full", 1, LENGTH)
    before = model.attention_weights(tokens, masks)[0]
    with torch.no_grad():
        model.blocks[0].attention.project_in.weight[:4] *= -1  # the queries of the first head
    after = model.attention_weights(tokens, masks)[0]
    assert not torch.allclose(before[:, 0], after[:, 0])
    assert torch.equal(before[:, 1], after[:, 1])


# --- dropout ----------------------------------------------------------------------------------------------------------


def test_two_passes_in_evaluation_are_identical():
    model, tokens = random_model(shape(dropout=0.5)), drawn_tokens(2, LENGTH)
    masks = layer_masks("causal", LAYERS, LENGTH)
    without = random_model(shape(dropout=0.0))
    assert torch.equal(model(tokens, masks), model(tokens, masks))
    assert torch.equal(model(tokens, masks), without(tokens, masks))
    model.train()
    assert not torch.equal(model(tokens, masks), model(tokens, masks))
    without.train()
    assert torch.equal(without(tokens, masks), without(tokens, masks))


def test_causal_under_dropout():
    model, tokens = random_model(shape(dropout=0.3)), drawn_tokens(2, LENGTH)
    model.train()
    masks = layer_masks("causal", LAYERS, LENGTH)
    for source in range(LENGTH):
        torch.manual_seed(1)
        output = model(tokens, masks)
        torch.manual_seed(1)
        other = model(changed(tokens, source), masks)
        assert torch.equal(output[:, :source], other[:, :source])


@pytest.mark.parametrize("kept", ["attention", "block"])
def test_dropout_falls_on_attention_weights_and_on_what_a_block_adds(kept):
    """Each of the two alone, the other one switched off."""
    model, tokens = random_model(shape(dropout=0.5)), drawn_tokens(2, LENGTH)
    masks = layer_masks("full", LAYERS, LENGTH)
    still = model.eval()(tokens, masks)
    for block in model.blocks:
        block.train(kept == "block")
        block.attention.train(kept == "attention")
    assert not torch.equal(model(tokens, masks), still)
    for block in model.blocks:
        block.attention.dropout = block.dropout = 0.0
    assert torch.equal(model.train()(tokens, masks), still)


# --- weights and refusals ---------------------------------------------------------------------------------------------


@quick
@given(
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(1, 4),
    st.integers(1, 3),
    st.sampled_from(POSITIONS),
)
def test_number_of_parameters(vocabulary, answers, length, layers, heads, positions):
    width = 4 * heads
    model = Transformer(ModelShape(vocabulary, answers, length, width, layers, heads, positions))
    norms, matrices = 2 * width, (3 + 1 + 4 + 4) * width * width
    embeddings = vocabulary * width + (length * width if positions == "learned" else 0)
    assert parameter_count(model) == embeddings + layers * (norms + matrices) + width + width * answers


@pytest.mark.parametrize("positions", POSITIONS)
def test_initial_weights_depend_on_seed_and_shape_alone(positions):
    def weights(seed):
        torch.manual_seed(seed)
        return Transformer(shape(positions=positions)).state_dict()

    first, again, other = weights(0), weights(0), weights(1)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["embedding.weight"], other["embedding.weight"])


def test_the_spread_of_the_initial_weights():
    torch.manual_seed(0)
    model = Transformer(shape(width=64, vocabulary=500, length=500, heads=4))
    spread = {name: parameter.std().item() for name, parameter in model.named_parameters()}
    assert spread["embedding.weight"] == pytest.approx(1, rel=0.05)
    assert spread["position"] == pytest.approx(0.5, rel=0.05)
    for name in ("attention.project_in", "expand"):
        assert spread[f"blocks.1.{name}.weight"] == pytest.approx(1 / 8, rel=0.05)
    for name in ("blocks.0.attention.project_out", "blocks.2.contract", "answer"):
        assert spread[f"{name}.weight"] == 0


def test_too_many_tokens_and_another_number_of_masks_are_refused():
    model = random_model(shape())
    with pytest.raises(StudyError, match="7 tokens, but it was built for at most 6"):
        model(drawn_tokens(1, LENGTH + 1), layer_masks("causal", LAYERS, LENGTH + 1))
    with pytest.raises(StudyError, match="2 masks for 3 layers; give one a layer"):
        model(drawn_tokens(1, LENGTH), layer_masks("causal", LAYERS - 1, LENGTH))


def test_a_mask_that_is_not_boolean_is_refused_by_both_passes():
    model, tokens = random_model(shape()), drawn_tokens(1, LENGTH)
    numbers = [mask.double() for mask in layer_masks("causal", LAYERS, LENGTH)]
    with pytest.raises(TypeError, match="boolean"):
        model(tokens, numbers)
    with pytest.raises(TypeError, match="boolean"):
        model.attention_weights(tokens, numbers)
