import pytest
import torch
from torch import nn

from maskstudy.errors import StudyError
from maskstudy.proofs import evaluation_is_deterministic, returned_weights_have_no_effect
from own_models import Decoder


def with_weights(model, tokens):
    return model(tokens, output_attentions=True)


def test_dropout_that_stays_on_in_evaluation_is_found():
    torch.manual_seed(0)
    assert evaluation_is_deterministic(Decoder()).holds
    proof = evaluation_is_deterministic(Decoder("dropout"))
    assert len(proof.broken) == 3
    assert "evaluation, pass 2 instead of pass 1: the answer at position" in str(proof)


def test_a_mask_that_is_lost_where_weights_are_asked_for_is_found():
    torch.manual_seed(0)
    proof = returned_weights_have_no_effect(Decoder(), call_with_weights=with_weights)
    assert proof.holds
    assert [finding.case for finding in proof.findings] == [
        "evaluation, answers",
        "evaluation, access by perturbation",
        "evaluation, access by gradient",
        "training, access by perturbation",
        "training, access by gradient",
    ]
    proof = returned_weights_have_no_effect(Decoder("weights"), call_with_weights=with_weights)
    assert len(proof.broken) == 5
    assert "training, access by gradient: what query" in str(proof)


def test_a_mask_that_is_lost_in_training_alone_is_found():
    class Lost(Decoder):
        def forward(self, tokens, output_attentions=False):
            self.mistake = "weights" if self.training else None
            return super().forward(tokens, output_attentions=output_attentions)

    torch.manual_seed(0)
    proof = returned_weights_have_no_effect(Lost(), call_with_weights=with_weights)
    assert {finding.case.split(",")[0] for finding in proof.broken} == {"training"}
    assert len(proof.broken) == 2


def test_models_with_a_configuration_are_asked_for_their_attentions():
    class Configured(Decoder):
        def __init__(self, mistake):
            super().__init__(mistake)
            self.config = type("Configuration", (), {"output_attentions": False})()

    torch.manual_seed(0)
    assert returned_weights_have_no_effect(Configured(None)).holds
    assert not returned_weights_have_no_effect(Configured("weights")).holds
    with pytest.raises(StudyError, match="asked for its attention weights is not known; give call_with_weights="):
        returned_weights_have_no_effect(nn.Linear(2, 2))
