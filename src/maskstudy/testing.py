"""Assertions for the tests of any model: who sees whom, and what must not make a difference.

    from maskstudy.testing import assert_causal

    def test_my_model_is_causal():
        assert_causal(MyModel())

Each takes what the function behind it takes (`maskstudy.access.measure_access`, `maskstudy.proofs`), returns what that
measured, and fails with the first offending pair of positions and the size of the effect. They are plain functions:
pytest shows their message, and anything else that catches an AssertionError does as well.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from maskstudy import patterns, proofs
from maskstudy.access import LENGTH, Access, measure_access
from maskstudy.proofs import Proof

_WIDEST = 32  # positions of the widest grid that a message shows


def assert_access(model: Any, expected: str | ArrayLike, **options: Any) -> Access:
    """The model's access is exactly the expected one: nothing sees more in any measurement, nor less in all of them.

    Args:
        model: a module or a function.
        expected: the name of a pattern (see `maskstudy.patterns`) or a boolean matrix, queries × keys, True = sees.
        options: of `maskstudy.access.measure_access`; the length is that of the matrix where one is given.

    Raises:
        AssertionError: it is not; the message names the first offending (query, key) and the effect.
        StudyError: what `measure_access` refuses.
    """
    __tracebackhide__ = True
    if not isinstance(expected, str):
        options.setdefault("length", len(np.asarray(expected)))
    wanted = patterns.as_matrix(expected, options.setdefault("length", LENGTH))  # before anything is measured
    access = measure_access(model, **options)
    offence = access.offence(wanted)
    if offence is None:
        return access
    name = expected if isinstance(expected, str) else "the given matrix"
    lines = [f"expected access: {name}; measured: {access.verdict}", str(offence), *access.remarks()]
    if access.length <= _WIDEST:
        lines.append(patterns.grid(access.matrix, wanted))
        lines.append(patterns.LEGEND)
    raise AssertionError("\n".join(lines))


def assert_causal(model: Any, **options: Any) -> Access:
    """Each position sees itself and every position before it, and none after it; see `assert_access`.

    Raises:
        AssertionError: it does not; the message names the first offending (query, key) and the effect.
        StudyError: what `measure_access` refuses.
    """
    __tracebackhide__ = True
    return assert_access(model, "causal", **options)


def assert_padding_has_no_effect(model: Any, **arguments: Any) -> Proof:
    """Nothing that stands in padding changes an answer; see `maskstudy.proofs.padding_has_no_effect`.

    Raises:
        AssertionError: something does; the message lists every case that breaks the claim.
        StudyError: what the proof refuses.
    """
    __tracebackhide__ = True
    return _assert(proofs.padding_has_no_effect(model, **arguments))


def assert_examples_are_independent(model: Any, **arguments: Any) -> Proof:
    """No example of a batch influences another; see `maskstudy.proofs.examples_are_independent`.

    Raises:
        AssertionError: one does; the message lists every case that breaks the claim.
        StudyError: what the proof refuses.
    """
    __tracebackhide__ = True
    return _assert(proofs.examples_are_independent(model, **arguments))


def assert_batch_size_has_no_effect(model: Any, **arguments: Any) -> Proof:
    """An example is answered the same in every batch; see `maskstudy.proofs.batch_size_has_no_effect`.

    Raises:
        AssertionError: it is not; the message lists every case that breaks the claim.
        StudyError: what the proof refuses.
    """
    __tracebackhide__ = True
    return _assert(proofs.batch_size_has_no_effect(model, **arguments))


def assert_evaluation_is_deterministic(model: Any, **arguments: Any) -> Proof:
    """Two passes in evaluation are the same; see `maskstudy.proofs.evaluation_is_deterministic`.

    Raises:
        AssertionError: they are not; the message lists every case that breaks the claim.
        StudyError: what the proof refuses.
    """
    __tracebackhide__ = True
    return _assert(proofs.evaluation_is_deterministic(model, **arguments))


def assert_returned_weights_have_no_effect(model: Any, **arguments: Any) -> Proof:
    """Asking for attention weights changes nothing; see `maskstudy.proofs.returned_weights_have_no_effect`.

    Raises:
        AssertionError: it does; the message lists every case that breaks the claim.
        StudyError: what the proof refuses.
    """
    __tracebackhide__ = True
    return _assert(proofs.returned_weights_have_no_effect(model, **arguments))


def assert_cached_decoding_agrees(model: Any, **arguments: Any) -> Proof:
    """Decoding with a cache gives the answers of the parallel pass; see `maskstudy.proofs.cached_decoding_agrees`.

    Raises:
        AssertionError: it does not; the message lists every case that breaks the claim.
        StudyError: what the proof refuses.
    """
    __tracebackhide__ = True
    return _assert(proofs.cached_decoding_agrees(model, **arguments))


def assert_documents_are_separate(model: Any, **arguments: Any) -> Proof:
    """Packed documents do not see each other; see `maskstudy.proofs.documents_are_separate`.

    Raises:
        AssertionError: they do; the message lists every case that breaks the claim.
        StudyError: what the proof refuses.
    """
    __tracebackhide__ = True
    return _assert(proofs.documents_are_separate(model, **arguments))


def assert_forbidden_tokens_have_no_effect(model: Any, allowed: str | ArrayLike, **arguments: Any) -> Proof:
    """At no layer does a token matter that the mask forbids; see `maskstudy.proofs.forbidden_tokens_have_no_effect`.

    Raises:
        AssertionError: one does; the message lists every case that breaks the claim.
        StudyError: what the proof refuses.
    """
    __tracebackhide__ = True
    return _assert(proofs.forbidden_tokens_have_no_effect(model, allowed, **arguments))


def _assert(proof: Proof) -> Proof:
    __tracebackhide__ = True
    if not proof.holds:
        raise AssertionError(str(proof))
    return proof
