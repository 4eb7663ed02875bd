"""How a model is run: chance in evaluation and returned weights must not matter."""

from typing import Any, Unpack

import numpy as np
import torch
from torch import Tensor

from maskstudy.access import PERTURBATION, TOLERANCE, WAYS, Effects, Meter
from maskstudy.errors import StudyError
from maskstudy.probing import Call
from maskstudy.proofs.proof import Finding, Options, Proof, Trial, compared


def evaluation_is_deterministic(model: Any, *, call: Call | None = None, **options: Unpack[Options]) -> Proof:
    """In evaluation two passes over the same input give the same answers: no dropout, no other chance.

    Args:
        model: a module or a function.
        call: `call(model, inputs)`; `model(inputs)` where it is left out.
        options: see `Options`.

    Raises:
        StudyError: what `measure_access` refuses.
    """
    trial = Trial(model, call, **options)
    base, mode = trial.draw(2), trial.subject.modes[0]
    with torch.no_grad():
        first, *others = [trial.answers(base, mode, chance=chance) for chance in range(4)]
    findings = [
        compared(f"{mode}, pass {number} instead of pass 1", first, other, TOLERANCE)
        for number, other in enumerate(others, start=2)
    ]
    return Proof("chance has no effect in evaluation", tuple(findings))


def returned_weights_have_no_effect(
    model: Any, *, call: Call | None = None, call_with_weights: Call | None = None, **options: Unpack[Options]
) -> Proof:
    """Asking for the attention weights changes neither the answers in evaluation nor, in any mode, who sees whom.

    Args:
        model: a module or a function.
        call: `call(model, inputs)`; `model(inputs)` where it is left out.
        call_with_weights: the same with the weights asked for. Left out: `model(inputs, output_attentions=True)` for
            a model that has `output_attentions` in its configuration.
        options: see `Options`.

    Raises:
        StudyError: what `measure_access` refuses, or a model that is not known to return weights.
    """
    if call_with_weights is None and not hasattr(getattr(model, "config", None), "output_attentions"):
        raise StudyError(
            "how the model is asked for its attention weights is not known; give call_with_weights=, a "
            "function of (model, inputs)"
        )
    plain, with_weights = Trial(model, call, **options), Trial(model, call_with_weights or _with_attentions, **options)
    base, mode = plain.draw(2), plain.subject.modes[0]
    with torch.no_grad():
        before, after = plain.answers(base, mode), with_weights.answers(base, mode)
    findings = [compared(f"{mode}, answers", before, after, plain.subject.rounding)]
    for mode in plain.subject.modes:
        for way in WAYS:
            without, asked = _effects(plain, mode, way), _effects(with_weights, mode, way)
            if without is not None and asked is not None:
                findings.append(_same_access(f"{mode}, access by {way}", without, asked))
    return Proof("returning the weights has no effect", tuple(findings))


def _with_attentions(model: Any, inputs: Tensor) -> Any:
    return model(inputs, output_attentions=True)


def _effects(trial: Trial, mode: str, way: str) -> Effects | None:
    """Who sees whom in one example."""
    meter = Meter(trial.subject, trial.inputs, torch.Generator().manual_seed(0))
    start = meter.draw()
    return meter.perturbation(start, mode) if way == PERTURBATION else meter.gradient(start, mode)


def _same_access(case: str, without: Effects, asked: Effects) -> Finding:
    """The pair that is seen in one case and not in the other, with the largest effect."""
    differ = (without > TOLERANCE) != (asked > TOLERANCE)
    sizes = np.where(differ, np.maximum(without, asked), 0.0)
    query, key = np.unravel_index(sizes.argmax(), sizes.shape)
    where = f"what query {query} sees of key {key}"
    return Finding(case, float(sizes.max()), where, TOLERANCE)
