"""What `torch.nn.Transformer*` and its kin really do: who sees whom, and what makes a difference.

None of this is a demand on them. It is what was measured, written down as tests, so that a change is noticed.
"""

import pytest
import torch
from torch import nn

from maskstudy.access import measure_access
from maskstudy.errors import StudyError
from maskstudy.proofs import (
    FINITE_CASES,
    batch_size_has_no_effect,
    evaluation_is_deterministic,
    examples_are_independent,
    padding_has_no_effect,
    returned_weights_have_no_effect,
)

WIDTH = 16


def encoder(**options):
    torch.manual_seed(0)
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(WIDTH, 2, 32, batch_first=True), 2, **options)


def decoder():
    torch.manual_seed(0)
    return nn.TransformerDecoder(nn.TransformerDecoderLayer(WIDTH, 2, 32, batch_first=True), 2)


def attention():
    torch.manual_seed(0)
    return nn.MultiheadAttention(WIDTH, 2, batch_first=True)


def additive(vectors):
    """0 on and before the diagonal, −∞ after it."""
    return nn.Transformer.generate_square_subsequent_mask(vectors.shape[1], dtype=vectors.dtype)


def forbidden(vectors):
    """True = must not attend, as `torch.nn` has it."""
    return additive(vectors) < 0


def memory(vectors):
    return vectors.new_ones(len(vectors), 5, WIDTH)


# --- who sees whom ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "call", "expected"),
    [
        (encoder(), None, "full"),
        (encoder(), lambda m, x: m(x, mask=additive(x)), "causal"),
        (encoder(), lambda m, x: m(x, mask=forbidden(x)), "causal"),
        (encoder(), lambda m, x: m(x, mask=additive(x), is_causal=True), "causal"),
        (decoder(), lambda m, x: m(x, memory(x)), "full"),
        (decoder(), lambda m, x: m(x, memory(x), tgt_mask=additive(x)), "causal"),
        (attention(), lambda m, x: m(x, x, x, attn_mask=forbidden(x)), "causal"),
        (attention(), lambda m, x: m(x, x, x, attn_mask=forbidden(x), need_weights=False), "causal"),
        (nn.LSTM(WIDTH, WIDTH, batch_first=True), None, "causal"),
        (nn.LSTM(WIDTH, WIDTH, batch_first=True, bidirectional=True), None, "full"),
        (nn.Linear(WIDTH, 3), None, "diagonal"),
    ],
    ids=[
        "encoder",
        "encoder, additive mask",
        "encoder, boolean mask",
        "encoder, mask and hint",
        "decoder",
        "decoder, mask",
        "attention with weights",
        "attention without weights",
        "LSTM",
        "LSTM both ways",
        "linear",
    ],
)
def test_who_sees_whom(model, call, expected):
    measured = measure_access(model, call=call, width=WIDTH)
    assert measured.verdict.name == expected
    assert measured.differences == ()


@pytest.mark.parametrize("half", ["source", "target"])
def test_the_two_halves_of_a_transformer(half):
    torch.manual_seed(0)
    model = nn.Transformer(WIDTH, 2, 1, 1, 32, batch_first=True)

    def call(m, x):
        halves = (memory(x), x) if half == "target" else (x, torch.ones_like(x))
        return m(*halves, tgt_mask=additive(x))

    measured = measure_access(model, call=call, width=WIDTH)
    assert measured.verdict.name == {"source": "full", "target": "causal"}[half]


def test_the_hint_that_a_mask_is_causal_is_believed_in_training_and_not_in_evaluation():
    """A mask that hides nothing, with `is_causal=True`: evaluation takes a fast path that reads the mask."""

    def call(model, x):
        return model(x, mask=torch.zeros_like(additive(x)), is_causal=True)

    measured = measure_access(encoder(), call=call, width=WIDTH)
    assert measured.verdict.name == "full"
    (difference,) = measured.differences
    assert difference.seen == ("perturbation in evaluation",)
    assert difference.unseen == ("gradient in evaluation", "perturbation in training", "gradient in training")
    assert len(difference.pairs) == 66


def test_the_hint_is_believed_where_no_weights_are_asked_for():
    def call(need_weights):
        def run(model, x):
            mask = torch.zeros_like(additive(x))
            return model(x, x, x, attn_mask=mask, is_causal=True, need_weights=need_weights)

        return run

    assert measure_access(attention(), call=call(True), width=WIDTH).verdict.name == "full"
    assert measure_access(attention(), call=call(False), width=WIDTH).verdict.name == "causal"
    proof = returned_weights_have_no_effect(attention(), call=call(False), call_with_weights=call(True), width=WIDTH)
    assert len(proof.broken) == 5


def test_the_hint_alone_is_refused():
    for model, call in (
        (encoder(), lambda m, x: m(x, is_causal=True)),
        (decoder(), lambda m, x: m(x, memory(x), tgt_is_causal=True)),
    ):
        with pytest.raises(StudyError, match="Need attn_mask if specifying the is_causal hint"):
            measure_access(model, call=call, width=WIDTH)


def test_a_mask_the_wrong_way_round_leaves_the_last_query_with_nothing():
    def inverted(model, x):
        return model(x, mask=~forbidden(x))

    with pytest.raises(StudyError, match="NaN in the answer at position"):
        measure_access(encoder(), call=inverted, width=WIDTH)


def test_a_mask_of_ones_and_zeros_is_added_in_training_and_forbids_in_evaluation():
    """Silently additive with gradients; the fast path reads it as a boolean and leaves the last query with nothing."""

    def zeros_and_ones(model, x):
        return model(x, mask=(~forbidden(x)).to(x.dtype))

    assert measure_access(encoder(), call=zeros_and_ones, width=WIDTH, modes=["training"]).verdict.name == "full"
    with pytest.raises(StudyError, match=r"NaN in the answer at position \d+ \(evaluation\)"):
        measure_access(encoder(), call=zeros_and_ones, width=WIDTH, modes=["evaluation"])


def test_positions_first_is_measured_the_wrong_way_round_and_says_so():
    torch.manual_seed(0)
    measured = measure_access(nn.TransformerEncoderLayer(WIDTH, 2, 32), width=WIDTH)
    assert measured.verdict.name == "diagonal"
    assert any("batch_first=False" in note for note in measured.notes)
    right = measure_access(
        nn.TransformerEncoderLayer(WIDTH, 2, 32), call=lambda m, x: m(x.transpose(0, 1)).transpose(0, 1), width=WIDTH
    )
    assert right.verdict.name == "full"


# --- what makes a difference ------------------------------------------------------------------------------------------

prototype = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype stage")


@prototype
@pytest.mark.parametrize("nested", [True, False])
def test_padding_makes_no_difference_under_full_attention(nested):
    assert padding_has_no_effect(encoder(enable_nested_tensor=nested), width=WIDTH, cases=FINITE_CASES).holds


def broken(proof):
    return {
        tuple(finding.case.removeprefix("padding on ").removeprefix("the ").split(", ")) for finding in proof.broken
    }


@prototype
def test_nan_in_padding_is_harmless_only_where_the_fast_path_drops_it():
    proof = padding_has_no_effect(encoder(), width=WIDTH, cases=["NaN"])
    everywhere = {
        (side, mode, "NaN") for side in ("left", "right", "both sides") for mode in ("evaluation", "training")
    }
    assert broken(proof) == everywhere - {("right", "evaluation", "NaN")}
    assert broken(padding_has_no_effect(encoder(enable_nested_tensor=False), width=WIDTH, cases=["NaN"])) == everywhere


def test_padding_on_the_left_under_a_causal_mask_is_nan_in_evaluation_alone():
    """The fast path divides 0 by 0 where a query sees nothing; the ordinary one gives 0, in torch 2.13."""

    def call(model, x, real):
        return model(x, mask=forbidden(x), src_key_padding_mask=~real)

    proof = padding_has_no_effect(encoder(), call=call, width=WIDTH, cases=FINITE_CASES)
    assert broken(proof) == {(side, "evaluation", "any contents") for side in ("left", "both sides")}


def test_examples_batch_size_and_chance_make_no_difference():
    for claim in (examples_are_independent, batch_size_has_no_effect, evaluation_is_deterministic):
        proof = claim(encoder(), width=WIDTH)
        assert proof.holds, str(proof)


def test_asking_for_the_weights_makes_no_difference():
    proof = returned_weights_have_no_effect(
        attention(),
        call=lambda m, x: m(x, x, x, attn_mask=forbidden(x), need_weights=False),
        call_with_weights=lambda m, x: m(x, x, x, attn_mask=forbidden(x)),
        width=WIDTH,
    )
    assert proof.holds, str(proof)
