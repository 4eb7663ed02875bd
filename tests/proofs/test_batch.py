import pytest
import torch
from torch import nn

from maskstudy.errors import StudyError
from maskstudy.proofs import batch_size_has_no_effect, examples_are_independent
from own_models import WIDTH, Decoder


def test_examples_leave_each_other_alone():
    torch.manual_seed(0)
    proof = examples_are_independent(Decoder())
    assert proof.holds
    assert len(proof.findings) == 6  # other contents, NaN and infinity; evaluation and training


def test_an_example_that_influences_another_is_found():
    torch.manual_seed(0)
    proof = examples_are_independent(Decoder("batch"))
    assert len(proof.broken) == 6
    assert "evaluation, other contents in example 1: the answer at position" in str(proof)
    assert "of example 1 " not in str(proof).replace("contents in example 1:", "")


def test_batch_statistics_tie_examples_together_in_training_alone():
    class Normed(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm1d(WIDTH)

        def forward(self, vectors):
            return self.norm(vectors.transpose(1, 2)).transpose(1, 2)

    proof = examples_are_independent(Normed(), width=WIDTH)
    assert {finding.case.split(",")[0] for finding in proof.broken} == {"training"}
    assert len(proof.broken) == 3


def test_a_function_without_entrances_is_tried_with_other_contents():
    proof = examples_are_independent(lambda tokens: torch.from_numpy(tokens.numpy() * 0.5), vocabulary=5)
    assert [finding.case for finding in proof.findings] == ["as given, other contents in example 1"]
    assert proof.holds


def test_the_batch_size():
    torch.manual_seed(0)
    assert batch_size_has_no_effect(Decoder()).holds
    proof = batch_size_has_no_effect(Decoder("size"), sizes=(2, 3, 2))
    assert [finding.case for finding in proof.broken] == ["evaluation, batches of 3 instead of 2"]
    for sizes in ((1,), (), (0, 1)):
        with pytest.raises(StudyError, match="give two or more, each at least 1"):
            batch_size_has_no_effect(Decoder(), sizes=sizes)


def test_rounding_is_allowed_where_sums_are_added_in_another_order():
    def model(vectors):
        return vectors + 1e-9 * len(vectors)

    def worse(vectors):
        return vectors + 1e-4 * len(vectors)

    assert batch_size_has_no_effect(model, width=2).holds
    assert not batch_size_has_no_effect(worse, width=2).holds
