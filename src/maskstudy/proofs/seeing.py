"""What must not be seen: other documents, and what a declared mask forbids, at any layer."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Unpack

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from maskstudy import patterns
from maskstudy.access import TOLERANCE, Effects, measure_access, perturbation_effects
from maskstudy.errors import StudyError
from maskstudy.masks import access
from maskstudy.patterns import Matrix
from maskstudy.probing import Call, Subject, per_position
from maskstudy.proofs.proof import Finding, MaskedCall, Options, Proof, Trial


def documents_are_separate(
    model: Any, documents: Sequence[int] = (5, 3, 4), *, call: MaskedCall, **options: Unpack[Options]
) -> Proof:
    """Documents that are packed into one row do not see each other, by perturbation and by gradient.

    Args:
        model: a module or a function.
        documents: how many positions each document has, in order.
        call: `call(model, inputs, documents)`, where `documents` is `[batch, length]`, the number of the document at
            each position.
        options: see `Options`; the length is that of the documents together.

    Raises:
        StudyError: what `measure_access` refuses, or a document without positions.
    """
    if not documents or min(documents) < 1:
        raise StudyError(f"documents of {list(documents)} positions; give one or more, each at least 1")
    number = torch.repeat_interleave(torch.arange(len(documents)), torch.tensor(documents))
    options["length"] = len(number)
    measured = measure_access(model, call=lambda m, x: call(m, x, number.to(x.device).repeat(len(x), 1)), **options)
    allowed = (number[:, None] == number).numpy()
    findings = [_forbidden(each.name, each.effects, allowed) for each in measured.measurements]
    return Proof("packed documents do not see each other", tuple(findings))


def forbidden_tokens_have_no_effect(
    model: nn.Module,
    allowed: str | ArrayLike,
    *,
    call: Call | None = None,
    layers: Sequence[str] | None = None,
    draws: int = 3,
    **options: Unpack[Options],
) -> Proof:
    """At every layer, and in the answers, nothing depends on tokens that the declared mask forbids.

    Args:
        model: a module.
        allowed: the declared access, the name of a pattern or `[length, length]` bool, which bounds every layer; or
            the mask of each layer, `[layers, length, length]` bool: a layer is then bounded by the product of the
            masks up to it.
        call: `call(model, inputs)`; `model(inputs)` where it is left out.
        layers: names of the modules after which to look. Left out: the members of the model's outermost module lists.
        draws: random inputs.
        options: see `Options`.

    Raises:
        StudyError: what `measure_access` refuses; no layer, an unknown one, or another number than there are masks.
    """
    trial = Trial(model, call, **options)
    names = _layers(trial.subject, layers)
    bounds = _bounds(allowed, trial.length, names)
    findings = []
    for mode in trial.subject.modes:

        def run(x: Tensor, mode: str = mode) -> list[Tensor]:
            with _recorded(trial.subject.model, names) as outputs:
                answers = trial.answers(x, mode)
            if idle := [name for name in names if name not in outputs]:
                raise StudyError(f"layers {idle} do not run when the model does; name others with layers=")
            return [*(per_position(outputs[name], *x.shape[:2]) for name in names), answers]

        batch = min(trial.length, 8)
        found = [perturbation_effects(run, trial.inputs, trial.draw(1), batch, trial.generator) for _ in range(draws)]
        for place, bound, *effects in zip([*names, "answers"], bounds, *found, strict=True):
            findings.append(_forbidden(f"{mode}, {place}", np.maximum.reduce(effects), bound))
    return Proof("forbidden tokens have no effect at any layer", tuple(findings))


def _bounds(allowed: str | ArrayLike, length: int, names: Sequence[str]) -> list[Matrix]:
    """What may be seen after each layer and in the answers."""
    if isinstance(allowed, str) or np.asarray(allowed).ndim != 3:
        return [patterns.as_matrix(allowed, length)] * (len(names) + 1)
    masks = [torch.from_numpy(patterns.as_matrix(mask, length)) for mask in np.asarray(allowed)]
    if len(masks) != len(names):
        raise StudyError(f"{len(masks)} masks for {len(names)} layers ({', '.join(names)}); give one a layer")
    seen = [access(masks[: layer + 1]).numpy() for layer in range(len(masks))]
    return [*seen, seen[-1]]


def _layers(subject: Subject, layers: Sequence[str] | None) -> list[str]:
    """Names of the modules after which to look."""
    if not isinstance(subject.model, nn.Module):
        raise StudyError("only a torch.nn.Module has layers to look into; give the module, and call=")
    modules = dict(subject.model.named_modules())
    if layers is None:
        lists = [name for name, module in modules.items() if isinstance(module, nn.ModuleList)]
        outermost = [name for name in lists if not any(name.startswith(f"{other}.") for other in lists)]
        layers = [f"{name}.{place}" for name in outermost for place, _ in modules[name].named_children()]
    if not layers:
        raise StudyError("no torch.nn.ModuleList of layers is found in the model; name its layers with layers=")
    if unknown := [name for name in layers if name not in modules]:
        raise StudyError(f"layers {unknown} are not in the model; see model.named_modules()")
    return list(layers)


@contextmanager
def _recorded(model: nn.Module, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """What modules return while a pass runs; of one that runs more than once, the last."""
    outputs: dict[str, Any] = {}
    handles = []
    for name in names:

        def keep(module: nn.Module, inputs: Any, result: Any, name: str = name) -> None:
            del module, inputs
            outputs[name] = result

        handles.append(model.get_submodule(name).register_forward_hook(keep))
    try:
        yield outputs
    finally:
        for handle in handles:
            handle.remove()


def _forbidden(case: str, effects: Effects, allowed: Matrix) -> Finding:
    """The first pair that is seen but must not be; where there is none, the largest effect of those that must not."""
    outside = np.where(allowed, 0.0, np.nan_to_num(effects))
    wrong = np.argwhere(outside > TOLERANCE)
    query, key = wrong[0] if len(wrong) else np.unravel_index(outside.argmax(), outside.shape)
    where = f"query {query}, for another content of key {key}, which it must not see,"
    return Finding(case, float(outside[query, key]), where, TOLERANCE)
