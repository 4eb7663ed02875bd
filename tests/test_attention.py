import math
from itertools import chain

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from maskstudy.attention import Sight, additive_mask, fused_attention, textbook_attention
from maskstudy.masks import both, causal, full, layer_masks, matrix, present
from small_study import MASK_NAMES

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
quick = settings(deadline=None, max_examples=40)


def vectors(queries, keys, seed=0, dtype=torch.float64, batch=2, heads=2, width=3, scale=1.0):
    """Queries, keys and values, each `[batch, heads, length, width]`, that want gradients."""
    generator = torch.Generator().manual_seed(seed)
    return [
        (scale * torch.randn(batch, heads, length, width, generator=generator, dtype=torch.float64))
        .to(dtype)
        .requires_grad_()
        for length in (queries, keys, keys)
    ]


def random_mask(queries, keys, seed, share, batch=2):
    """`[batch, 1, queries, keys]`, the first row of the first example empty."""
    mask = torch.rand(batch, 1, queries, keys, generator=torch.Generator().manual_seed(seed)) < share
    mask[0, 0, 0] = False
    return mask


def by_loop(queries, keys, values, mask):
    """Weights and outputs in NumPy, one query and one allowed key at a time."""
    batch, heads, length, width = queries.shape
    mask = np.broadcast_to(mask, (batch, heads, length, keys.shape[2]))
    weights, outputs = np.zeros(mask.shape), np.zeros((batch, heads, length, values.shape[-1]))
    for place in np.ndindex(batch, heads, length):
        allowed = np.flatnonzero(mask[place])
        if not len(allowed):
            continue
        scores = [sum(queries[place][n] * keys[place[:2]][key][n] for n in range(width)) for key in allowed]
        exponentials = [math.exp(score / math.sqrt(width)) for score in scores]
        for key, exponential in zip(allowed, exponentials, strict=True):
            weights[place][key] = exponential / sum(exponentials)
            outputs[place] += weights[place][key] * values[place[:2]][key]
    return weights, outputs


def gradients(output, inputs, seed=0):
    """Of a random projection of the output."""
    generator = torch.Generator().manual_seed(seed)
    return torch.autograd.grad(output, inputs, torch.randn(output.shape, generator=generator, dtype=output.dtype))


def textbook(queries, keys, values, mask):
    return textbook_attention(queries, keys, values, mask).output


# --- against a loop, and against each other ---------------------------------------------------------------------------


@quick
@given(st.integers(1, 4), st.integers(0, 3), st.integers(0, 2**31), st.sampled_from([0.2, 0.5, 1.0]))
def test_textbook_is_a_loop_over_the_allowed_keys(queries, further, seed, share):
    keys = queries + further
    inputs, mask = vectors(queries, keys, seed), random_mask(queries, keys, seed, share)
    steps = textbook_attention(*inputs, mask)
    weights, outputs = by_loop(*(each.detach().numpy() for each in inputs), mask.numpy())
    np.testing.assert_allclose(steps.weights.detach().numpy(), weights, atol=1e-12)
    np.testing.assert_allclose(steps.output.detach().numpy(), outputs, atol=1e-12)


def test_every_step_of_the_textbook_form_by_hand():
    queries, keys = torch.tensor([[2.0, 0, 0, 0]]), torch.tensor([[1.0, 0, 0, 0], [3.0, 1, 1, 1], [9.0, 9, 9, 9]])
    values = torch.tensor([[1.0], [3.0], [100.0]])
    steps = textbook_attention(queries, keys, values, torch.tensor([[True, True, False]]))
    share = math.exp(3 - 1) / (1 + math.exp(3 - 1))
    assert steps.scores.tolist() == [[1, 3, 9]]
    assert steps.additive.tolist() == [[0, 0, -math.inf]]
    assert steps.weights[0].tolist() == pytest.approx([1 - share, share, 0])
    assert steps.output.item() == pytest.approx(1 - share + 3 * share)


@quick
@given(st.integers(1, 5), st.integers(0, 3), st.integers(0, 2**31), st.sampled_from([0.1, 0.5, 1.0]))
def test_both_forms_agree_in_output_and_gradient_under_random_masks(queries, further, seed, share):
    keys = queries + further
    inputs, mask = vectors(queries, keys, seed), random_mask(queries, keys, seed, share)
    by_hand, fused = textbook(*inputs, mask), fused_attention(*inputs, mask)
    torch.testing.assert_close(fused, by_hand, rtol=0, atol=1e-12)
    for one, other in zip(gradients(fused, inputs), gradients(by_hand, inputs), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("name", MASK_NAMES)
def test_both_forms_agree_in_output_and_gradient_under_every_mask(name, padded):
    inputs = vectors(6, 6)
    lengths = torch.tensor([4, 0]) if padded else None
    for mask in layer_masks(name, 2, 6, lengths=lengths, condition_lengths=torch.tensor([3, 1])):
        by_hand, fused = textbook(*inputs, mask), fused_attention(*inputs, mask)
        torch.testing.assert_close(fused, by_hand, rtol=0, atol=1e-12)
        for one, other in zip(gradients(fused, inputs), gradients(by_hand, inputs), strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MASK_NAMES)
@pytest.mark.parametrize("form", [textbook, fused_attention])
def test_in_every_precision_output_and_gradient_are_those_of_double_up_to_its_rounding(form, name, dtype):
    inputs = vectors(6, 6, dtype=dtype)
    exact = [each.detach().double().requires_grad_() for each in inputs]
    tolerance = 16 * torch.finfo(dtype).eps
    for mask in layer_masks(name, 2, 6, lengths=torch.tensor([4, 0]), condition_lengths=torch.tensor([3, 1])):
        output, expected = form(*inputs, mask), textbook(*exact, mask)
        torch.testing.assert_close(output.double(), expected, rtol=0, atol=tolerance)
        direction = torch.randn(output.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(dtype)
        found = torch.autograd.grad(output, inputs, direction)
        for one, other in zip(found, torch.autograd.grad(expected, exact, direction.double()), strict=True):
            torch.testing.assert_close(one.double(), other, rtol=0, atol=tolerance)


@pytest.mark.parametrize("form", [textbook, fused_attention])
def test_causal_is_what_the_kernel_calls_causal(form):
    inputs = vectors(5, 5)
    expected = F.scaled_dot_product_attention(*inputs, is_causal=True)
    torch.testing.assert_close(form(*inputs, matrix(causal, 5)), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("form", [textbook, fused_attention])
def test_decoding_one_token_against_a_cache_is_the_last_row_of_the_whole_pass(form):
    queries, keys, values = vectors(5, 5)
    whole = form(queries, keys, values, matrix(causal, 5))
    for step in range(5):
        one = form(
            queries[:, :, step : step + 1],
            keys[:, :, : step + 1],
            values[:, :, : step + 1],
            matrix(causal, 1, step + 1),
        )
        torch.testing.assert_close(one[:, :, 0], whole[:, :, step], rtol=0, atol=1e-12)


@pytest.mark.parametrize("form", [textbook, fused_attention])
def test_gradients_are_those_of_finite_differences_an_empty_row_among_them(form):
    inputs = vectors(3, 4, batch=1, heads=1)
    mask = random_mask(3, 4, seed=1, share=0.6, batch=1)
    assert mask.any()
    assert torch.autograd.gradcheck(lambda *given: form(*given, mask), inputs)


# --- rows that see nothing --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*DTYPES, torch.float64])
@pytest.mark.parametrize("form", [textbook, fused_attention])
def test_a_query_that_sees_nothing_gives_zero_and_passes_no_gradient(form, dtype):
    inputs = vectors(4, 4, dtype=dtype)
    mask = matrix(both(causal, present(torch.tensor([[False, True, True, True], [True] * 4]))), 4)
    output = form(*inputs, mask)
    assert output.dtype == dtype
    assert (output[0, :, 0] == 0).all()
    assert output.isfinite().all()
    of_queries, of_keys, of_values = gradients(output, inputs)
    for gradient in (of_queries, of_keys, of_values):
        assert gradient.isfinite().all()
    assert (of_queries[0, :, 0] == 0).all()
    for gradient in (of_keys, of_values):
        assert (gradient[0, :, 0] == 0).all()  # a key that nobody sees
        assert (gradient[1, :, 0] != 0).any()
    # What stands in the empty row is as good as not there.
    alone = form(*(each[:, :, 1:] for each in inputs), mask[:, :, 1:, 1:])
    torch.testing.assert_close(output[0, :, 1:], alone[0], rtol=0, atol=3 * torch.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", [textbook, fused_attention])
def test_where_nobody_sees_anything_all_is_zero(form, dtype):
    inputs = vectors(3, 3, dtype=dtype)
    output = form(*inputs, torch.zeros(3, 3, dtype=torch.bool))
    assert (output == 0).all()
    for gradient in gradients(output, inputs):
        assert (gradient == 0).all()


@pytest.mark.parametrize("form", [textbook, fused_attention])
def test_the_output_of_an_empty_row_may_be_thrown_away(form):
    inputs = vectors(3, 3)
    output = form(*inputs, matrix(both(causal, present(torch.tensor([[False, True, True]] * 2))), 3))
    for gradient in torch.autograd.grad(output[:, :, 1:].square().sum(), inputs):
        assert gradient.isfinite().all()
        assert gradient.abs().sum() > 0


@pytest.mark.parametrize("content", [1.0, math.nan])
@pytest.mark.parametrize("form", [textbook, fused_attention])
def test_where_there_are_no_keys_all_is_zero(form, content):
    inputs = vectors(3, 0)
    with torch.no_grad():
        inputs[0][:] = content
    output = form(*inputs, torch.ones(3, 0, dtype=torch.bool))
    assert output.shape == (2, 2, 3, 3)
    assert (output == 0).all()
    assert (gradients(output, inputs)[0] == 0).all()


def test_the_kernel_is_never_given_a_row_without_a_key(monkeypatch):
    """What a kernel makes of such a row differs between backends; and `is_causal` is not for it to decide."""
    given, kernel = [], F.scaled_dot_product_attention

    def watched(*inputs, **options):
        given.append(options)
        return kernel(*inputs, **options)

    monkeypatch.setattr(F, "scaled_dot_product_attention", watched)
    mask = random_mask(4, 4, seed=0, share=0.3)
    assert not mask.any(-1).all()
    fused_attention(*vectors(4, 4), mask)
    (options,) = given
    assert options["attn_mask"].any(-1).all()
    assert torch.equal(options["attn_mask"] & mask.any(-1, keepdim=True), mask)
    assert not options.get("is_causal", False)


# --- what follows from a mask, worked out once ------------------------------------------------------------------------


@quick
@given(st.integers(0, 4), st.integers(0, 4), st.integers(0, 2**31), st.sampled_from([0.2, 0.6, 0.9, 1.0]))
def test_sight_is_who_sees_and_who_is_seen(queries, keys, seed, share):
    mask = torch.rand(2, 1, queries, keys, generator=torch.Generator().manual_seed(seed)) < share
    sight = Sight(mask)
    sees = [[any(row) for row in of_one[0].tolist()] for of_one in mask]
    seen = [[any(of_one[0, :, key].tolist()) for key in range(keys)] for of_one in mask]
    assert sight.sees_something.squeeze(-1).squeeze(1).tolist() == sees
    assert sight.is_seen.squeeze(-1).squeeze(1).tolist() == seen
    assert sight.excludes_nothing is all(chain(*sees, *seen))


@quick
@given(st.integers(1, 4), st.integers(0, 2), st.integers(0, 2**31), st.sampled_from([0.3, 0.7, 1.0]), st.booleans())
def test_a_sight_that_is_shared_gives_every_bit_that_the_mask_gives(queries, further, seed, share, empty_row):
    mask = torch.rand(2, 1, queries, queries + further, generator=torch.Generator().manual_seed(seed)) < share
    mask[0, 0, 0] &= not empty_row
    sight = Sight(mask)
    for layer in range(2):
        inputs = vectors(queries, queries + further, seed + layer)
        with torch.no_grad():
            inputs[1][1, :, 0] = math.nan  # no harm where nobody sees it, in whichever layer
        by_mask, by_sight = fused_attention(*inputs, mask), fused_attention(*inputs, sight)
        torch.testing.assert_close(by_sight, by_mask, rtol=0, atol=0, equal_nan=True)
        for one, other in zip(gradients(by_sight, inputs), gradients(by_mask, inputs), strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)


# --- what is cut off may hold anything --------------------------------------------------------------------------------

NOT_FINITE = {"NaN": math.nan, "infinity": math.inf, "minus infinity": -math.inf, "nearly infinite": 1e300}


@pytest.mark.parametrize("content", NOT_FINITE)
@pytest.mark.parametrize("predicate", [causal, full])
@pytest.mark.parametrize("form", [textbook, fused_attention])
def test_what_stands_at_a_key_that_nobody_sees_has_no_effect_on_output_or_gradient(form, predicate, content):
    real_keys = torch.tensor([[False, True, True, True], [True, True, True, False]])
    mask = matrix(both(predicate, present(real_keys)), 4)
    results = []
    for padding in (0.5, NOT_FINITE[content]):
        queries, keys, values = (each.detach() for each in vectors(4, 4))
        keys = torch.where(real_keys[:, None, :, None], keys, padding).requires_grad_()
        values = torch.where(real_keys[:, None, :, None], values, -padding).requires_grad_()
        inputs = [queries.requires_grad_(), keys, values]
        output = form(*inputs, mask)
        results.append([output, *gradients(output, inputs)])
    for finite, other in zip(*results, strict=True):
        assert torch.equal(finite, other)


@pytest.mark.parametrize("content", NOT_FINITE)
@pytest.mark.parametrize("form", [textbook, fused_attention])
def test_a_query_that_sees_nothing_gives_zero_whatever_stands_there(form, content):
    inputs = vectors(4, 4)
    with torch.no_grad():
        inputs[0][0, :, 2] = NOT_FINITE[content]
    mask = torch.ones(2, 1, 4, 4, dtype=torch.bool)
    mask[0, :, 2] = False
    output = form(*inputs, mask)
    assert (output[0, :, 2] == 0).all()
    assert output.isfinite().all()
    for gradient in gradients(output, inputs):
        assert gradient.isfinite().all()


def test_the_scores_of_keys_that_are_cut_off_are_shown_as_the_formula_has_them():
    inputs = vectors(3, 3)
    nobody_sees_the_last = torch.tensor([[True, True, False]] * 3)
    with_mask, without = (textbook_attention(*inputs, mask) for mask in (nobody_sees_the_last, matrix(full, 3)))
    assert torch.equal(with_mask.scores, without.scores)


# --- weights ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1.0, 30.0])
@pytest.mark.parametrize("dtype", DTYPES)
def test_masked_weights_are_exactly_zero_and_the_others_sum_to_one(dtype, scale):
    queries, keys, values = vectors(5, 7, dtype=dtype, scale=scale)
    mask = random_mask(5, 7, seed=0, share=0.4)
    weights = textbook_attention(queries, keys, values, mask).weights
    assert weights.dtype == dtype
    assert (weights[~mask.expand_as(weights)] == 0).all()
    sums, sees_something = weights.float().sum(-1), mask.any(-1).expand(2, 2, 5)
    assert (sums[~sees_something] == 0).all()
    torch.testing.assert_close(
        sums[sees_something], torch.ones_like(sums[sees_something]), rtol=0, atol=4 * torch.finfo(dtype).eps
    )


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("dtype", [*DTYPES, torch.float64])
@pytest.mark.parametrize("form", [textbook, fused_attention])
def test_scores_of_ten_thousand_do_not_overflow(form, dtype, sign):
    ones = torch.ones(1, 1, 3, 4, dtype=dtype)
    queries = (100 * ones).requires_grad_()
    keys = (sign * 50 * ones * torch.tensor([1.0, 0.5, 0.25])[:, None]).to(dtype).requires_grad_()
    values = torch.arange(3, dtype=dtype)[:, None].expand(1, 1, 3, 4).clone().requires_grad_()
    mask = torch.tensor([[True, False, False], [True, True, False], [False, False, False]])
    output = form(queries, keys, values, mask)
    assert abs(textbook_attention(queries, keys, values, mask).scores).max() == 10_000
    assert output[0, 0, :, 0].tolist() == [0, 0 if sign > 0 else 1, 0]
    for gradient in gradients(output, [queries, keys, values]):
        assert gradient.isfinite().all()


@pytest.mark.parametrize("form", [textbook, fused_attention])
def test_a_masked_key_has_no_weight_however_high_its_score(form):
    queries, keys, values = vectors(3, 3)
    louder = keys.detach().clone()
    louder[:, :, 2] = 1e4 * torch.sign(queries.detach()[:, :, 0])
    mask = torch.tensor([[True, True, False]] * 3)
    assert torch.equal(form(queries, keys, values, mask), form(queries, louder, values, mask))


# --- dropout ----------------------------------------------------------------------------------------------------------


def test_causal_under_dropout():
    queries, keys, values = vectors(6, 6, batch=1)
    mask = matrix(causal, 6)
    for moved in range(6):
        other_keys, other_values = keys.detach().clone(), values.detach().clone()
        other_keys[:, :, moved:] += 7
        other_values[:, :, moved:] -= 7
        torch.manual_seed(0)
        output = fused_attention(queries, keys, values, mask, dropout=0.5)
        torch.manual_seed(0)
        changed = fused_attention(queries, other_keys, other_values, mask, dropout=0.5)
        assert torch.equal(output[:, :, :moved], changed[:, :, :moved])
        for gradient in torch.autograd.grad(output[:, :, :moved].sum(), [keys, values]):
            assert (gradient[:, :, moved:] == 0).all()


def test_dropout_drops_weights_and_keeps_their_mean_and_the_empty_rows():
    queries, keys, values = vectors(4, 4, batch=1, heads=2000)
    queries, keys, values = (each.detach()[:, :1].expand(-1, 2000, -1, -1) for each in (queries, keys, values))
    mask = random_mask(4, 4, seed=3, share=0.7, batch=1)
    torch.manual_seed(0)
    dropped = fused_attention(queries, keys, values, mask, dropout=0.25)
    plain = fused_attention(queries, keys, values, mask)
    assert not torch.equal(dropped[0, 0], dropped[0, 1])
    assert (dropped[0, :, 0] == 0).all()
    error = dropped.std(1) / math.sqrt(2000)
    assert ((dropped.mean(1) - plain[:, 0]).abs() <= 5 * error + 1e-12).all()


# --- booleans only ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mask",
    [
        torch.ones(3, 3).tril(),
        torch.ones(3, 3, dtype=torch.int64).tril(),
        nn.Transformer.generate_square_subsequent_mask(3),
        torch.ones(3, 3, dtype=torch.uint8).tril(),
    ],
    ids=["float 0/1", "integer", "additive", "bytes"],
)
def test_anything_but_a_boolean_mask_is_refused(mask):
    queries, keys, values = vectors(3, 3)
    for refusing in (
        lambda: textbook_attention(queries, keys, values, mask),
        lambda: fused_attention(queries, keys, values, mask),
        lambda: Sight(mask),
        lambda: additive_mask(mask),
    ):
        with pytest.raises(TypeError, match="a boolean mask is needed"):
            refusing()


def test_the_additive_mask_is_zero_or_minus_infinity():
    for dtype in DTYPES:
        additive = additive_mask(torch.tensor([True, False]), dtype)
        assert additive.dtype == dtype
        assert additive.tolist() == [0, -math.inf]
