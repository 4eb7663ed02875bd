import doctest
import math

import pytest
import torch

from maskstudy import proofs
from maskstudy.errors import StudyError
from maskstudy.probing import Entrance
from maskstudy.proofs import Finding, Proof
from maskstudy.proofs.proof import Trial, at_positions, compared, parameter_names
from own_models import Decoder


def test_the_worked_example():
    result = doctest.testmod(proofs)
    assert result.attempted
    assert not result.failed


def test_a_proof_holds_if_every_finding_does_and_says_which_does_not():
    fine = Finding("a case", 1e-14, "the answer at position 1 of example 0", 1e-13)
    moved = Finding("another case", 0.25, "the answer at position 3 of example 1", 1e-13)
    lost = Finding("a third case", math.inf, "the answer at position 0 of example 0", 1e-13)
    assert str(Proof("nothing matters", (fine, fine))) == "nothing matters: holds in 2 of 2 cases"
    broken = Proof("nothing matters", (fine, moved, lost))
    assert not broken.holds
    assert broken.broken == (moved, lost)
    assert str(broken).splitlines() == [
        "nothing matters: broken in 2 of 3 cases",
        "  another case: the answer at position 3 of example 1 changes by 0.25 of the answers' typical size",
        "  a third case: the answer at position 0 of example 0 is NaN",
    ]
    assert str(fine) == "a case: no effect"


def test_the_largest_change_among_the_answers_that_count():
    before = torch.ones(2, 3, 2)
    after = before.clone()
    after[0, 1, 0], after[1, 2, 1] = 1.5, 3.0
    found = compared("case", before, after, 1e-6)
    assert (found.effect, found.where) == (2.0, "the answer at position 2 of example 1")
    counted = torch.tensor([[True] * 3, [True, True, False]])
    found = compared("case", before, after, 1e-6, counted)
    assert (found.effect, found.where) == (0.5, "the answer at position 1 of example 0")
    after[0, 0, 0] = math.nan
    assert compared("case", before, after, 1e-6, counted).effect == math.inf
    after[0] = before[0]
    assert compared("case", before, after, 1e-6, counted).holds


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(StudyError, match=r"case: answers of shape \(1, 2, 3\) instead of \(1, 2, 2\)"):
        compared("case", torch.ones(1, 2, 2), torch.ones(1, 2, 3), 1e-6)
    broken = torch.ones(1, 2, 2)
    broken[0, 1] = math.nan
    with pytest.raises(StudyError, match=r"NaN in the answer at position 1 \(case\)"):
        compared("case", broken, torch.ones(1, 2, 2), 1e-6)
    assert compared("case", broken, broken, 1e-6, torch.tensor([[True, False]])).holds


def test_values_stand_in_the_cells_of_their_positions_alone():
    entrance = Entrance(0, (1, 3, 2), torch.tensor([[0, 1], [2, 6], [4, 5]]), 1.0)  # position 1 sets one cell
    where = torch.tensor([[True, False, False], [False, True, True]])
    assert at_positions(entrance, where, 7.0).tolist() == [[7, 7, 0, 0, 0, 0], [0, 0, 7, 0, 7, 7]]


def test_names_of_arguments():
    assert {"attention_mask", "cache"} <= parameter_names(Decoder())
    assert parameter_names(lambda tokens, cache: (tokens, cache)) == {"tokens", "cache"}
    assert parameter_names(print) >= {"sep"} or parameter_names(print) == set()
    assert parameter_names(3) == set()


def test_the_options_are_those_that_are_documented():
    options = {"length": 5, "vocabulary": 7, "width": None, "precision": None, "seed": 3}
    assert set(options) == set(proofs.Options.__annotations__)
    trial = Trial(Decoder(), None, **options)
    assert (trial.length, trial.subject.dtype, len(trial.inputs.tokens)) == (5, torch.float32, 7)
    with pytest.raises(TypeError, match="lenght"):
        proofs.examples_are_independent(Decoder(), lenght=5)
