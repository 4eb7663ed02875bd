"""Padding: what stands there must not matter."""

import math
from collections.abc import Sequence
from typing import Any, Unpack

import torch
from torch import Tensor

from maskstudy.access import LENGTH, TOLERANCE, gradient_norms, typical_size
from maskstudy.errors import StudyError
from maskstudy.probing import TRAINING, Entrance, Run, find_entrances, run_with
from maskstudy.proofs.proof import (
    Finding,
    MaskedCall,
    Options,
    Proof,
    Trial,
    at_positions,
    compared,
    parameter_names,
)

_NAMES = {"left": "padding on the left", "right": "padding on the right", "both": "padding on both sides"}
SIDES = tuple(_NAMES)
FINITE_CASES = ("contents", "gradient", "taken away")
_NOT_FINITE = {"NaN": math.nan, "infinity": math.inf}
CASES = (*FINITE_CASES, *_NOT_FINITE)


def padding_has_no_effect(
    model: Any,
    *,
    call: MaskedCall | None = None,
    sides: Sequence[str] = SIDES,
    cases: Sequence[str] = CASES,
    **options: Unpack[Options],
) -> Proof:
    """Whatever stands in padding, the answers at real positions stay the same, and no gradient flows into it.

    Three examples, one without padding, one with a third of it and one with two thirds, on each side in turn:

        contents     other contents in the padding
        gradient     the gradient of the real answers to what enters in the padding
        taken away   each example alone, without its padding; a model with learned positions fails this where padding
                     on the left is counted as positions
        NaN          NaN where the padding enters; most models fail this, because 0 · NaN is NaN
        infinity     the same with infinity

    Args:
        model: a module or a function.
        call: `call(model, inputs, real)`, where `real` is `[batch, length]` bool, True for a real position. Left out:
            `attention_mask=` (1 = real) or `src_key_padding_mask=` (True = padding), whichever the model takes.
        sides: of the padding, out of `left`, `right` and `both`.
        cases: out of those above; `FINITE_CASES` leaves out NaN and infinity.
        options: see `Options`; the length is at least 3.

    Raises:
        StudyError: what `measure_access` refuses, an unknown side or case, or a model that is not known to take a
            mask.
    """
    for name, given, allowed in (("sides", sides, SIDES), ("cases", cases, CASES)):
        if isinstance(given, str) or not given or not set(given) <= set(allowed):
            raise StudyError(f"{name} {given!r}; give a list of one or more of {', '.join(allowed)}")
    length = options.get("length", LENGTH)
    if length < 3:
        raise StudyError(f"length {length}; padding needs at least 3 positions")
    masked = call or _padding_call(model)

    def unpadded(m: Any, x: Tensor) -> Any:
        return masked(m, x, torch.ones(x.shape[:2], dtype=torch.bool, device=x.device))

    trial = Trial(model, unpadded, **options)
    findings: list[Finding] = []
    for side in sides:
        for mode in trial.subject.modes:
            real = _real_positions(length, side)
            findings += _with_padding(trial, masked, real, mode, f"{_NAMES[side]}, {mode}", cases)
    return Proof("padding has no effect", tuple(findings))


def _padding_call(model: Any) -> MaskedCall:
    """How a model of the common kinds is told which positions are real."""
    names = parameter_names(model)
    if "attention_mask" in names:
        return lambda m, x, real: m(x, attention_mask=real.long())
    if "src_key_padding_mask" in names:
        return lambda m, x, real: m(x, src_key_padding_mask=~real)
    raise StudyError(
        "the model takes neither attention_mask= nor src_key_padding_mask=; give call=, a function of "
        "(model, inputs, real) where real is True for real positions"
    )


def _real_positions(length: int, side: str) -> Tensor:
    """`[3, length]` bool: an example without padding, one with a third of it, one with two thirds."""
    counts = torch.tensor([length, length - length // 3, length // 3])[:, None]
    first = {"left": length - counts, "right": 0 * counts, "both": (length - counts) // 2}[side]
    position = torch.arange(length)
    return (position >= first) & (position < first + counts)


def _with_padding(
    trial: Trial, masked: MaskedCall, real: Tensor, mode: str, where: str, cases: Sequence[str]
) -> list[Finding]:
    """The cases of one side and mode."""
    base = trial.draw(len(real))

    def run(x: Tensor) -> Tensor:
        return trial.answers(x, mode, lambda m, x: masked(m, x, real.to(x.device)))

    def run_last(x: Tensor) -> Tensor:
        return trial.answers(x, mode, lambda m, x: masked(m, x, real[-1:].to(x.device)))

    with torch.no_grad():
        before = run(base)
    if (not_numbers := before.isnan().any(-1).cpu() & real).any():
        example, position = not_numbers.nonzero()[0].tolist()
        answer = f"the answer at position {position} of example {example}"
        return [Finding(f"{where}, any contents", math.inf, answer, TOLERANCE)]
    entrances, reason = find_entrances(run_last, trial.inputs, base[-1:], trial.generator)
    findings = []
    for case in cases:
        what = f"{where}, {'other contents' if case == 'contents' else case}"
        if case == "contents":
            with torch.no_grad():
                after = run(trial.inputs.changed(base, ~real, trial.generator))
            findings.append(compared(what, before, after, TOLERANCE, real))
        elif case == "taken away" and mode != TRAINING:
            findings.append(compared(what, before, _alone(trial, base, real, mode), trial.subject.rounding, real))
        elif case == "gradient" and reason is None:
            findings.append(_gradient_into_padding(what, run, base, entrances, ~real, trial.generator))
        elif case in _NOT_FINITE and reason is None:
            add = [at_positions(entrance, ~real, _NOT_FINITE[case]) for entrance in entrances]
            after = run_with(run, base, entrances, add).detach()
            findings.append(compared(what, before, after, TOLERANCE, real))
    return findings


def _alone(trial: Trial, base: Tensor, real: Tensor, mode: str) -> Tensor:
    """The answers to each example without its padding, at the places that they have with it."""
    rows = []
    with torch.no_grad():
        for example, positions in enumerate(real):
            answers = trial.answers(base[example : example + 1, positions], mode)[0]  # real positions, features
            row = torch.zeros(len(positions), answers.shape[1], dtype=answers.dtype, device=answers.device)
            row[positions.to(row.device)] = answers
            rows.append(row)
    return torch.stack(rows)


def _gradient_into_padding(
    case: str, run: Run, base: Tensor, entrances: Sequence[Entrance], padding: Tensor, generator: torch.Generator
) -> Finding:
    """The gradient of the answers that are no padding to what enters in the padding of the same example."""
    add = [at_positions(entrance, padding, 0.0).requires_grad_() for entrance in entrances]
    answers = run_with(run, base, entrances, add)
    direction = torch.randn(answers.shape[-1], generator=generator, dtype=torch.float64).to(answers)
    projected = (answers @ (direction / direction.norm()))[~padding.to(answers.device)]
    sizes = torch.zeros(padding.shape, dtype=torch.float64)  # batch, length
    if projected.requires_grad:
        gradients = torch.autograd.grad(projected.sum(), add, allow_unused=True, materialize_grads=True)
        for gradient, entrance in zip(gradients, entrances, strict=True):
            sizes = torch.maximum(sizes, gradient_norms(gradient, entrance.cells) * entrance.size)
    sizes = torch.where(padding, sizes / typical_size(answers.detach()), 0.0).nan_to_num(nan=math.inf)
    example, position = divmod(int(sizes.argmax()), padding.shape[1])
    where = f"a real answer of example {example}, by its gradient to the padding at position {position},"
    return Finding(case, sizes.max().item(), where, TOLERANCE)
