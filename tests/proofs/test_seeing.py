import numpy as np
import pytest
import torch
from torch import nn

from maskstudy.errors import StudyError
from maskstudy.masks import both, causal, full, layer_masks, matrix, same_document
from maskstudy.patterns import pattern
from maskstudy.proofs import documents_are_separate, forbidden_tokens_have_no_effect
from maskstudy.shape import ModelShape
from own_models import VOCABULARY, Decoder
from small_study import MASK_NAMES, random_masks, random_model


def own(layers=2, length=9):
    return random_model(ModelShape(VOCABULARY, 4, length, 8, layers, 2, dropout=0.1))


def under(masks):
    return lambda model, tokens: model(tokens, masks)


def by_documents(model, tokens, documents):
    return model(tokens, documents=documents)


# --- documents --------------------------------------------------------------------------------------------------------


def test_packed_documents_do_not_see_each_other():
    torch.manual_seed(0)
    proof = documents_are_separate(Decoder(), call=by_documents)
    assert proof.holds
    assert {finding.case for finding in proof.findings} == {
        f"{way} in {mode}" for way in ("perturbation", "gradient") for mode in ("evaluation", "training")
    }


def test_documents_that_see_each_other_are_found_with_the_first_pair():
    torch.manual_seed(0)
    proof = documents_are_separate(Decoder("documents"), call=by_documents, documents=(2, 3))
    assert len(proof.broken) == 4
    assert "query 2, for another content of key 0, which it must not see, changes by" in str(proof)


@pytest.mark.parametrize("predicate", [causal, full])
def test_the_study_s_own_model_keeps_documents_apart(predicate):
    def call(model, tokens, documents):
        return model(tokens, [matrix(both(predicate, same_document(documents)), tokens.shape[1])] * 2)

    assert documents_are_separate(own(), (4, 1, 4), call=call).holds


def test_documents_without_positions_are_refused():
    for documents in ((), (3, 0)):
        with pytest.raises(StudyError, match="give one or more, each at least 1"):
            documents_are_separate(Decoder(), documents, call=by_documents)


# --- forbidden tokens -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MASK_NAMES)
def test_no_layer_of_the_study_s_own_model_holds_what_its_masks_forbid(name):
    masks = layer_masks(name, 3, 9, condition_lengths=torch.tensor([4]))
    allowed = torch.stack([mask.reshape(9, 9) for mask in masks])
    proof = forbidden_tokens_have_no_effect(own(3), allowed, call=under(masks), length=9, draws=1)
    assert proof.holds, str(proof)
    places = [finding.case for finding in proof.findings]
    assert places[:4] == ["evaluation, blocks.0", "evaluation, blocks.1", "evaluation, blocks.2", "evaluation, answers"]
    assert len(places) == 8


def test_the_layer_where_a_forbidden_token_comes_in_is_named():
    masks = random_masks(3, 9, seed=4, share=0.2)
    wrong = [mask.clone() for mask in masks]
    query, key = (~masks[1]).nonzero()[5].tolist()
    wrong[1][query, key] = True
    proof = forbidden_tokens_have_no_effect(own(3), torch.stack(masks), call=under(wrong), length=9, draws=1)
    assert "evaluation, blocks.0" not in {finding.case for finding in proof.broken}
    assert {"evaluation, blocks.1", "training, blocks.1"} <= {finding.case for finding in proof.broken}
    assert f"query {query}, for another content of key" in str(proof)


def test_a_layer_may_not_hold_what_a_later_one_is_there_to_bring():
    causal_mask, ahead = matrix(causal, 9), layer_masks("lookahead-1", 1, 9)[0]
    applied, declared = [ahead, causal_mask], torch.stack([causal_mask, ahead])  # the same after both layers
    proof = forbidden_tokens_have_no_effect(own(), declared, call=under(applied), length=9, draws=1)
    assert {finding.case for finding in proof.broken} == {"evaluation, blocks.0", "training, blocks.0"}


def test_what_the_last_layers_hide_is_found_in_the_first():
    class Hidden(nn.Module):
        """The first layer sees everything, but only its own position is kept."""

        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(VOCABULARY, 4)
            self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Identity()])

        def forward(self, tokens):
            vectors = self.embedding(tokens)
            self.layers[0](vectors + vectors.mean(1, keepdim=True))
            return self.layers[1](vectors)

    torch.manual_seed(0)
    proof = forbidden_tokens_have_no_effect(Hidden(), "causal")
    assert {finding.case for finding in proof.broken} == {"evaluation, layers.0", "training, layers.0"}
    assert "query 0, for another content of key 1" in str(proof)


def test_a_declared_access_bounds_every_layer():
    masks = layer_masks("lookahead-1", 2, 9)
    for allowed in ("lookahead-1", pattern("lookahead-1", 9), "full"):
        assert forbidden_tokens_have_no_effect(own(), allowed, call=under(masks), length=9, draws=1).holds
    proof = forbidden_tokens_have_no_effect(own(), "causal", call=under(masks), length=9, draws=1)
    assert len(proof.broken) == len(proof.findings) == 6


def test_layers_may_be_named():
    call, layers = under(layer_masks("causal", 2, 9)), ["embedding", "blocks.1"]
    proof = forbidden_tokens_have_no_effect(own(), "causal", call=call, length=9, layers=layers)
    assert proof.holds
    places = [finding.case.removeprefix("evaluation, ") for finding in proof.findings[:3]]
    assert places == [*layers, "answers"]


def test_a_measured_model_keeps_no_hooks():
    model, masks = own(), layer_masks("causal", 2, 9)
    forbidden_tokens_have_no_effect(model, "causal", call=under(masks), length=9, draws=1)
    assert not any(module._forward_hooks for module in model.modules())


@pytest.mark.parametrize(
    ("model", "allowed", "options", "message"),
    [
        (own(), np.ones((3, 9, 9), dtype=bool), {}, r"3 masks for 2 layers \(blocks.0, blocks.1\); give one a layer"),
        (own(), "causal", {"layers": ["block.0"]}, r"layers \['block.0'\] are not in the model"),
        (own(), "causality", {}, "pattern 'causality' is not known"),
        (nn.Sequential(nn.Embedding(5, 4)), "causal", {"call": None}, "no torch.nn.ModuleList of layers is found"),
        (lambda x: x, "causal", {"call": None, "width": 3}, r"only a torch.nn.Module has layers"),
    ],
)
def test_what_cannot_be_looked_into_is_refused(model, allowed, options, message):
    options = {"call": under(layer_masks("causal", 2, 9)), "length": 9, **options}
    with pytest.raises(StudyError, match=message):
        forbidden_tokens_have_no_effect(model, allowed, **options)


def test_layers_that_do_not_run_are_refused():
    class Idle(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])

        def forward(self, vectors):
            return self.layers[0](vectors)

    with pytest.raises(StudyError, match=r"layers \['layers.1'\] do not run when the model does"):
        forbidden_tokens_have_no_effect(Idle(), "causal", width=2)
