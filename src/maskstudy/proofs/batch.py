"""The rest of the batch: its contents and its size must not matter."""

import math
from collections.abc import Sequence
from typing import Any, Unpack

import torch
from torch import Tensor

from maskstudy.access import TOLERANCE
from maskstudy.errors import StudyError
from maskstudy.probing import Call, find_entrances, run_with
from maskstudy.proofs.proof import Options, Proof, Trial, at_positions, compared


def examples_are_independent(model: Any, *, call: Call | None = None, **options: Unpack[Options]) -> Proof:
    """No example of a batch influences another, whether it holds other contents, NaN or infinity.

    Args:
        model: a module or a function.
        call: `call(model, inputs)`; `model(inputs)` where it is left out.
        options: see `Options`.

    Raises:
        StudyError: what `measure_access` refuses.
    """
    trial = Trial(model, call, **options)
    base = trial.draw(3)
    changed = torch.tensor([[False], [True], [False]]).expand(3, trial.length)
    findings = []
    for mode in trial.subject.modes:

        def run(x: Tensor, mode: str = mode) -> Tensor:
            return trial.answers(x, mode)

        with torch.no_grad():
            before, after = run(base), run(trial.inputs.changed(base, changed, trial.generator))
        findings.append(compared(f"{mode}, other contents in example 1", before, after, TOLERANCE, ~changed))
        entrances, reason = find_entrances(run, trial.inputs, base[:1], trial.generator)
        for content, value in (("NaN", math.nan), ("infinity", math.inf)) if reason is None else ():
            add = [at_positions(entrance, changed, value) for entrance in entrances]
            after = run_with(run, base, entrances, add).detach()
            findings.append(compared(f"{mode}, {content} in example 1", before, after, TOLERANCE, ~changed))
    return Proof("no example influences another", tuple(findings))


def batch_size_has_no_effect(
    model: Any, *, call: Call | None = None, sizes: Sequence[int] = (1, 2, 5), **options: Unpack[Options]
) -> Proof:
    """In evaluation, an example gets the same answers whatever the size of the batch that it stands in.

    Args:
        model: a module or a function.
        call: `call(model, inputs)`; `model(inputs)` where it is left out.
        sizes: of batches, each compared with the first.
        options: see `Options`.

    Raises:
        StudyError: what `measure_access` refuses, or fewer than two sizes.
    """
    if len(sizes) < 2 or min(sizes) < 1:
        raise StudyError(f"batch sizes {list(sizes)}; give two or more, each at least 1")
    trial = Trial(model, call, **options)
    base, mode = trial.draw(max(sizes)), trial.subject.modes[0]
    with torch.no_grad():  # the last batch of a size may be smaller
        first, *others = [torch.cat([trial.answers(part, mode) for part in base.split(size)]) for size in sizes]
    findings = [
        compared(f"{mode}, batches of {size} instead of {sizes[0]}", first, other, trial.subject.rounding)
        for size, other in zip(sizes[1:], others, strict=True)
    ]
    return Proof("the batch size has no effect", tuple(findings))
