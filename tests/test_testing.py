import subprocess
import sys

import numpy as np
import pytest
import torch

from maskstudy import proofs, testing
from maskstudy.access import Access
from maskstudy.errors import StudyError
from maskstudy.patterns import pattern
from maskstudy.proofs import Proof
from own_models import LENGTH, Decoder, Mixing


def mixing(name, **changes):
    torch.manual_seed(0)
    matrix = torch.from_numpy(pattern(name, LENGTH)).float()
    for (query, key), seen in changes.get("but", {}).items():
        matrix[query, key] = seen
    return Mixing(matrix)


def decoder(mistake=None):
    torch.manual_seed(0)
    return Decoder(mistake)


def test_access_as_expected_is_returned():
    measured = testing.assert_access(mixing("window-2-1"), "window-2-1", length=LENGTH)
    assert isinstance(measured, Access)
    assert testing.assert_access(mixing("causal"), pattern("causal", LENGTH)).length == LENGTH
    assert testing.assert_access(mixing("causal"), torch.ones(LENGTH, LENGTH).tril().bool()).verdict.name == "causal"
    assert testing.assert_causal(mixing("causal"), length=LENGTH).verdict.name == "causal"


def test_the_message_shows_the_first_offending_pair_and_the_size_of_the_effect():
    model = mixing("causal", but={(3, 5): 1, (6, 7): 1, (4, 2): 0})
    with pytest.raises(AssertionError) as caught:
        testing.assert_causal(model, length=LENGTH)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("expected access: causal; measured: other: 37 of 64 pairs are seen; nearest is causal")
    assert lines[1].startswith("query 3 sees key 5, which it must not: the answer at 3 moves by ")
    effect = float(lines[1].split(" moves by ")[1].split()[0])
    assert effect > 0.01
    assert lines[1].endswith("; 3 pairs differ")
    grid = lines[-1 - LENGTH : -1]
    assert grid[3].split()[-LENGTH:] == ["■", "■", "■", "■", "·", "✗", "·", "·"]
    assert grid[4].split()[-LENGTH:] == ["■", "■", "○", "■", "■", "·", "·", "·"]
    assert "✗ seen, but must not be" in lines[-1]


def test_a_key_that_is_not_seen_is_an_offence_too():
    with pytest.raises(AssertionError, match=r"query 0 does not see key 1, which it must \(largest effect 0\)"):
        testing.assert_access(mixing("causal"), "full", length=LENGTH)
    with pytest.raises(AssertionError, match="expected access: the given matrix; measured: causal"):
        testing.assert_access(mixing("causal"), np.eye(LENGTH, dtype=bool))


def test_a_long_message_has_no_grid():
    with pytest.raises(AssertionError) as caught:
        testing.assert_access(lambda vectors: vectors, "causal", length=40, width=2)
    assert len(str(caught.value).splitlines()) == 2


def test_what_is_expected_is_checked_before_anything_is_measured():
    def never(_):
        raise KeyboardInterrupt

    with pytest.raises(StudyError, match="pattern 'casual' is not known"):
        testing.assert_access(never, "casual")
    with pytest.raises(StudyError, match="a boolean matrix of shape"):
        testing.assert_access(never, np.ones((4, 4)))
    with pytest.raises(StudyError, match=r"a boolean matrix of shape \(5, 5\)"):
        testing.assert_access(never, np.ones((4, 4), dtype=bool), length=5)


def with_weights(model, tokens):
    return model(tokens, output_attentions=True)


def by_documents(model, tokens, documents):
    return model(tokens, documents=documents)


SIBLINGS = {
    "padding_has_no_effect": ("padding", {"cases": ["contents"]}),
    "examples_are_independent": ("batch", {}),
    "batch_size_has_no_effect": ("size", {}),
    "evaluation_is_deterministic": ("dropout", {}),
    "returned_weights_have_no_effect": ("weights", {"call_with_weights": with_weights}),
    "cached_decoding_agrees": ("cache", {}),
    "documents_are_separate": ("documents", {"call": by_documents}),
}


@pytest.mark.parametrize("name", SIBLINGS)
def test_each_sibling_holds_and_each_bites(name):
    mistake, arguments = SIBLINGS[name]
    assertion = getattr(testing, f"assert_{name}")
    assert isinstance(assertion(decoder(), **arguments), Proof)
    with pytest.raises(AssertionError) as caught:
        assertion(decoder(mistake), **arguments)
    assert str(caught.value) == str(getattr(proofs, name)(decoder(mistake), **arguments))
    assert "broken in" in str(caught.value)


def test_forbidden_tokens():
    assert testing.assert_forbidden_tokens_have_no_effect(decoder(), "causal", layers=["layers.1"]).holds
    with pytest.raises(
        AssertionError, match="evaluation, answers: query 1, for another content of key 0, which it must"
    ):
        testing.assert_forbidden_tokens_have_no_effect(decoder(), "diagonal", layers=["layers.1"])


def test_every_proof_has_its_assertion():
    claims = {name for name in proofs.__all__ if name[0].islower()}
    assert claims == {*SIBLINGS, "forbidden_tokens_have_no_effect"}
    assert all(callable(getattr(testing, f"assert_{name}")) for name in claims)


def test_pytest_need_not_be_there():
    program = (
        "import sys; sys.modules['pytest'] = None; sys.modules['_pytest'] = None; sys.modules['hypothesis'] = None\n"
        "import torch; from maskstudy.testing import assert_causal\n"
        "assert_causal(lambda vectors: vectors.cumsum(1), width=2, length=3)\n"
        "try: assert_causal(lambda vectors: vectors, width=2, length=3)\n"
        "except AssertionError as error: print(str(error).splitlines()[1])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "query 1 does not see key 0, which it must (largest effect 0); 3 pairs differ"


def test_the_traceback_ends_at_the_reader_s_own_line():
    with pytest.raises(AssertionError) as caught:
        testing.assert_causal(lambda vectors: vectors, width=2, length=3)
    shown = [entry for entry in caught.traceback if not entry.ishidden(caught)]
    assert [entry.path.name for entry in shown] == ["test_testing.py"]
