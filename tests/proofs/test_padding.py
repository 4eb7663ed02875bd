import math

import pytest
import torch
from torch import nn

from maskstudy.errors import StudyError
from maskstudy.masks import both, condition, either, matrix, named, present
from maskstudy.proofs import CASES, FINITE_CASES, SIDES, padding_has_no_effect
from maskstudy.shape import POSITIONS, ModelShape
from own_models import VOCABULARY, WIDTH, Decoder
from small_study import MASK_NAMES, random_model


def broken(proof):
    """(side, mode, case) of each finding that does not hold."""
    return {
        tuple(finding.case.removeprefix("padding on ").removeprefix("the ").split(", ")) for finding in proof.broken
    }


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("name", MASK_NAMES)
def test_padding_of_any_kind_on_any_side_has_no_effect_on_the_study_s_own_model_under_every_mask(name, positions):
    model = random_model(ModelShape(VOCABULARY, 4, 9, 8, 2, 2, positions, dropout=0.2))

    def call(model, tokens, real):
        study_mask, length = named(name), tokens.shape[1]
        masks = []
        for predicate in (study_mask.first, study_mask.later):
            if study_mask.sees_condition:
                predicate = either(predicate, condition(torch.full((len(tokens),), 2)))
            masks.append(matrix(both(predicate, present(real)), length))
        return model(tokens, masks)

    proof = padding_has_no_effect(model, call=call, length=9, cases=("contents", "gradient", "NaN", "infinity"))
    assert proof.holds, str(proof)
    assert len(proof.findings) == 3 * 2 * 4
    # Padding on the left moves the condition, and learned positions: it can only be taken away on the right.
    proof = padding_has_no_effect(model, call=call, length=9, sides=["right"])
    assert proof.holds, str(proof)
    assert len(proof.findings) == 5 + 4


def test_a_model_with_learned_positions_and_plain_attention():
    torch.manual_seed(0)
    proof = padding_has_no_effect(Decoder())
    expected = {
        (side, mode, case) for side in ("left", "both sides") for mode in ("evaluation",) for case in ("taken away",)
    }
    # 0 · NaN is NaN: causal attention keeps padding on the right from later positions only.
    expected |= {
        (side, mode, case)
        for side in ("left", "right", "both sides")
        for mode in ("evaluation", "training")
        for case in ("NaN", "infinity")
    }
    assert broken(proof) == expected
    assert padding_has_no_effect(Decoder(), cases=FINITE_CASES, sides=["right"]).holds


def test_padding_that_is_not_masked_is_found_on_the_left_where_a_causal_mask_lets_it_through():
    torch.manual_seed(0)
    proof = padding_has_no_effect(Decoder("padding"), cases=["contents", "gradient"])
    assert broken(proof) == {
        (side, mode, case)
        for side in ("left", "both sides")
        for mode in ("evaluation", "training")
        for case in ("other contents", "gradient")
    }
    assert "the answer at position" in str(proof)
    assert "by its gradient to the padding at position" in str(proof)


class PaddedEncoder(nn.Module):
    """Averages over all positions that are real, or over all."""

    def __init__(self, mask, clear=False):
        super().__init__()
        self.mask, self.clear = mask, clear
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)

    def forward(self, tokens, attention_mask):
        vectors = self.embedding(tokens)
        if not self.mask:
            return vectors + vectors.mean(1, keepdim=True)
        real = attention_mask.bool()[..., None]
        kept = torch.where(real, vectors, 0.0) if self.clear else vectors * real
        return vectors + kept.sum(1, keepdim=True) / real.sum(1, keepdim=True)


@pytest.mark.parametrize("side", SIDES)
def test_each_case_is_found_by_itself(side):
    torch.manual_seed(0)
    name = {"both": "both sides"}.get(side, side)
    found = broken(padding_has_no_effect(PaddedEncoder(mask=False), sides=[side]))
    everything = {
        (name, "evaluation", case) for case in ("other contents", "gradient", "taken away", "NaN", "infinity")
    }
    everything |= {(name, "training", case) for case in ("other contents", "gradient", "NaN", "infinity")}
    assert found == everything
    times_zero = broken(padding_has_no_effect(PaddedEncoder(mask=True), sides=[side]))
    assert times_zero == {(name, mode, case) for mode in ("evaluation", "training") for case in ("NaN", "infinity")}
    assert padding_has_no_effect(PaddedEncoder(mask=True, clear=True), sides=[side]).holds


def test_the_position_that_padding_spoils_is_named():
    torch.manual_seed(0)
    proof = padding_has_no_effect(PaddedEncoder(mask=True), sides=["right"], cases=["NaN"])
    assert {finding.effect for finding in proof.findings} == {math.inf}
    assert "the answer at position 0 of example 1 is NaN" in str(proof)  # example 0 has no padding


def test_answers_that_padding_makes_nan_are_a_finding():
    class Empty(nn.Module):
        def forward(self, vectors, attention_mask):
            return vectors + torch.where(attention_mask.all(1), 0.0, math.nan)[:, None, None]

    proof = padding_has_no_effect(Empty(), width=2, sides=["left"])
    assert [finding.case for finding in proof.broken] == [
        "padding on the left, evaluation, any contents",
        "padding on the left, training, any contents",
    ]
    assert "the answer at position 4 of example 1 is NaN" in str(proof)


def test_how_common_models_are_told():
    class Ignores(nn.Module):
        def forward(self, vectors, src_key_padding_mask):
            assert src_key_padding_mask.dtype == torch.bool
            return vectors + (vectors * ~src_key_padding_mask[..., None]).sum(1, keepdim=True)

    assert padding_has_no_effect(Ignores(), width=2, cases=FINITE_CASES).holds
    with pytest.raises(StudyError, match="takes neither attention_mask= nor src_key_padding_mask=; give call="):
        padding_has_no_effect(nn.Linear(2, 2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"length": 2}, "length 2; padding needs at least 3 positions"),
        ({"length": 0}, "length 0"),
        ({"sides": ["top"]}, r"sides \['top'\]; give a list of one or more of left, right, both"),
        ({"sides": "left"}, "sides 'left'"),
        ({"sides": []}, r"sides \[\]"),
        (
            {"cases": ["Inf"]},
            r"cases \['Inf'\]; give a list of one or more of contents, gradient, taken away, NaN, infinity",
        ),
    ],
)
def test_arguments_out_of_range_are_refused(options, message):
    with pytest.raises(StudyError, match=message):
        padding_has_no_effect(Decoder(), **options)
    assert set(FINITE_CASES) < set(CASES)
