"""The cache: with it, without it and all at once the answers must be the same."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, Unpack

import torch
from torch import Tensor

from maskstudy.access import LENGTH
from maskstudy.errors import StudyError
from maskstudy.probing import per_position
from maskstudy.proofs.proof import Options, Proof, Trial, compared, parameter_names

Step = Callable[..., tuple[Any, Any]]  # (model, new inputs, cache) -> (result, cache)


def cached_decoding_agrees(
    model: Any,
    *,
    step: Step | None = None,
    call: Callable[..., Any] | None = None,
    real: Tensor | None = None,
    **options: Unpack[Options],
) -> Proof:
    """Step by step against a cache, without one on ever longer inputs, and all at once: the same answers.

    Tried in evaluation, against the parallel pass without a cache: every position on its own; half of them at once
    and the rest on their own; all at once with an empty cache; and every beginning of the input anew, its last answer
    alone.

    Args:
        model: a module or a function.
        step: `step(model, new inputs, cache) -> (result, cache)`; the cache is None at first. Left out: `cache=` or
            `past_key_values=`, whichever the model takes, with `use_cache=True`.
        call: the parallel pass, `call(model, inputs)`; `model(inputs)` where it is left out, with `use_cache=False`
            if the model takes that.
        real: `[batch, length]` bool, True for a real position, to decode with padding: `step` and `call` are then
            given one more argument, `[batch, positions so far]`, by default as `attention_mask=`.
        options: see `Options`; the length is at least 2.

    Raises:
        StudyError: what `measure_access` refuses, or a model that is not known to take a cache.
    """
    length = options.get("length", LENGTH)
    if length < 2:
        raise StudyError(f"length {length}; decoding needs at least 2 positions")
    if real is not None and (real.dtype != torch.bool or real.dim() != 2 or real.shape[1] != length):
        raise StudyError(f"real is {real.dtype} of shape {tuple(real.shape)}; give bool [batch, {length}]")
    take_step, parallel = step or _cache_step(model), call or _parallel_call(model)
    trial = Trial(model, lambda m, x: parallel(m, x, *_so_far(real, x, x.shape[1])), **options)
    mode = trial.subject.modes[0]
    base = trial.draw(2 if real is None else len(real))

    def decoded(*pieces: int) -> Tensor:
        """The answers of pieces of these lengths, each with the cache that the one before left."""
        cache, answers = None, []
        for piece, end in zip(pieces, accumulate(pieces), strict=True):

            def one_step(m: Any, x: Tensor, cache: Any = cache, end: int = end) -> Any:
                return take_step(m, x, cache, *_so_far(real, x, end))

            result, cache = trial.run(base[:, end - piece : end], mode, one_step)
            answers.append(per_position(result, len(base), piece))
        return torch.cat(answers, 1)

    half, ones = length // 2, [1] * length
    with torch.no_grad():
        at_once = trial.answers(base, mode)
        cases = {
            "step by step against the cache": decoded(*ones),
            f"{half} at once, then step by step": decoded(half, *ones[half:]),
            "all at once with an empty cache": decoded(length),
            "every beginning anew": torch.cat(
                [trial.answers(base[:, :end], mode)[:, -1:] for end in range(1, length + 1)], 1
            ),
        }
    findings = [
        compared(f"{mode}, {case}", at_once, other, trial.subject.rounding, real) for case, other in cases.items()
    ]
    return Proof("cached, uncached and parallel answers agree", tuple(findings))


def _so_far(real: Tensor | None, inputs: Tensor, positions: int) -> Sequence[Tensor]:
    """What a call gets beside its inputs: which positions so far are real, if any is not."""
    return () if real is None else (real[: len(inputs), :positions].to(inputs.device),)


def _cache_step(model: Any) -> Step:
    """How a model of the common kinds is given new tokens and a cache."""
    names = parameter_names(model)
    for name in ("cache", "past_key_values"):
        if name in names:

            def step(m: Any, x: Tensor, cache: Any, real: Tensor | None = None, name: str = name) -> tuple[Any, Any]:
                result = m(x, **{name: cache}, use_cache=True, **_attention_mask(real))
                return result, result[name]

            return step
    raise StudyError(
        "the model takes neither cache= nor past_key_values=; give step=, a function of (model, new inputs, "
        "cache) that returns (result, cache)"
    )


def _parallel_call(model: Any) -> Callable[..., Any]:
    """How a model of the common kinds is run without a cache."""
    without = {"use_cache": False} if "use_cache" in parameter_names(model) else {}
    return lambda m, x, real=None: m(x, **without, **_attention_mask(real))


def _attention_mask(real: Tensor | None) -> dict[str, Tensor]:
    return {} if real is None else {"attention_mask": real.long()}
