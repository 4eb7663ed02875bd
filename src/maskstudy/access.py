"""Who really sees whom: the access of any model, measured instead of read off the mask that was asked for.

Output position i *sees* input position j if what stands at j makes a difference at i. It is measured two ways:

    perturbation    change what stands at j, and compare all outputs with those before the change
    gradient        differentiate a random projection of output i with respect to what enters at j

Perturbation needs nothing but the model's answers; the gradient also finds influence that is too small to move a
number. Both run in double precision on a copy of the model, in evaluation and in training mode (dropout on, the same
draw on both sides of a comparison), on several random inputs, so that a coincidence of zeros is not taken for a mask.

    >>> import torch
    >>> from maskstudy.access import measure_access
    >>> layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    >>> print(measure_access(layer, length=4, width=16).verdict)
    full: each query sees every key

What it costs: every pair needs a measurement of its own by at least one way, and that takes one pass over all positions
for each position. Where this is cheap it is done for both ways, both modes and every draw. Where it is not, it is done
once, by perturbation in evaluation, and in every mode the gradient settles all pairs that are not seen (`OrderedRows`),
which takes a handful of passes. Of answers that are very many, the scores of a vocabulary, it then looks at random
directions (`Subject.narrow`).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from maskstudy import patterns
from maskstudy.errors import StudyError
from maskstudy.patterns import Matrix, Verdict
from maskstudy.probing import (
    Call,
    Entrance,
    Inputs,
    Run,
    Subject,
    find_entrances,
    find_inputs,
    run_with,
)
from maskstudy.randomness import torch_seed

PERTURBATION, GRADIENT = "perturbation", "gradient"
WAYS = (PERTURBATION, GRADIENT)
LENGTH = 12  # positions where a reader says nothing
TOLERANCE = 1e-13  # in units of the typical answer; a sum in double precision rounds at 1e-16 to 1e-14 of its terms

_CHEAP = 2e12  # floating-point operations that two cores do in about half a minute
_TOKENS_AT_ONCE = 1024  # of perturbed sequences in one pass: enough to keep a matrix product busy
_GRADIENT_TOKENS_AT_ONCE = 128  # fewer, since the graph of a pass is kept
_NUMBERS_AT_ONCE = 2**25  # of the answers of one pass: 256 MB in double precision

_POWERS = (230, 30, 0)  # of ten, by which a gradient may be scaled up and down: in double, in single precision, at all
_DECADES = 20  # between the weights of queries that share a gradient
_FAINTEST = 1e-14  # an effect between this and 1e6 is told from its neighbours 20 decades away

Effects = NDArray[np.float64]


# --- what was measured ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measurement:
    """One way in one mode.

    Attributes:
        way: `perturbation` or `gradient`.
        mode: `evaluation`, `training`, or `as given` for a function without modes.
        draws: random inputs it was taken on.
        effects: `[queries, keys]`, the largest over the draws; NaN where this combination did not look. The unit is
            the typical size (root mean square) of the answers. By perturbation: the largest change of any number of
            the answer, or of its random directions, as a note of the access then says. By gradient: the change of a
            random direction of the answer for a change of typical size.
    """

    way: str
    mode: str
    draws: int
    effects: Effects

    @property
    def name(self) -> str:
        """`perturbation in evaluation`."""
        return f"{self.way} {self.mode}" if self.mode == "as given" else f"{self.way} in {self.mode}"


@dataclass(frozen=True)
class Difference:
    """Pairs that some measurements see and others do not.

    Attributes:
        seen: names of the measurements that see them.
        unseen: names of those that looked and do not.
        pairs: all such (query, key), in order.
        effect: the largest at the first pair.
    """

    seen: tuple[str, ...]
    unseen: tuple[str, ...]
    pairs: tuple[tuple[int, int], ...]
    effect: float

    def __str__(self) -> str:
        """One line, with the first pair and its effect."""
        query, key = self.pairs[0]
        number = f"{len(self.pairs)} pairs are" if len(self.pairs) > 1 else "1 pair is"
        return (
            f"{number} seen by {' and '.join(self.seen)} but not by {' and '.join(self.unseen)}; "
            f"first: query {query}, key {key} (effect {self.effect:.2g})"
            + ("; dropout can hide a pair" if all("training" in name for name in self.unseen) else "")
        )


@dataclass(frozen=True)
class Offence:
    """The first pair at which the access is not what was expected.

    Attributes:
        query: output position.
        key: input position.
        seen: True if the key is seen but must not be, False if it is not seen but must be.
        effect: the largest measured, in units of the typical answer.
        by: the measurement that it comes from.
        pairs: how many pairs are wrong in all.
    """

    query: int
    key: int
    seen: bool
    effect: float
    by: str
    pairs: int

    def __str__(self) -> str:
        """One line."""
        what = (
            f"query {self.query} sees key {self.key}, which it must not: the answer at {self.query} moves by "
            f"{self.effect:.2g} of the answers' typical size (by {self.by})"
            if self.seen
            else f"query {self.query} does not see key {self.key}, which it must (largest effect {self.effect:.2g})"
        )
        return f"{what}; {self.pairs} pair{'s' if self.pairs != 1 else ''} differ{'s' if self.pairs == 1 else ''}"


@dataclass(frozen=True)
class Access:
    """The measured access of a model.

    Attributes:
        measurements: one a way and mode.
        tolerance: effects up to this count as none.
        inputs: what the model was fed with, in words.
        notes: what a reader should know about how far the measurement goes.
    """

    measurements: tuple[Measurement, ...]
    tolerance: float
    inputs: str
    notes: tuple[str, ...] = ()

    @property
    def length(self) -> int:
        """Positions."""
        return len(self.measurements[0].effects)

    @cached_property
    def effects(self) -> Effects:
        """`[queries, keys]`, the largest effect of any measurement."""
        return np.fmax.reduce([measurement.effects for measurement in self.measurements])

    @cached_property
    def matrix(self) -> Matrix:
        """`[queries, keys]` bool: True where any measurement sees the key."""
        return self.effects > self.tolerance

    def by(self, way: str, mode: str | None = None) -> Matrix | None:
        """What one way sees, in one mode or in any; None where it was not measured."""
        chosen = [m.effects for m in self.measurements if m.way == way and mode in (None, m.mode)]
        return np.fmax.reduce(chosen) > self.tolerance if chosen else None

    @property
    def verdict(self) -> Verdict:
        """What the matrix is, in a word and in a sentence."""
        return patterns.verdict(self.matrix)

    @cached_property
    def differences(self) -> tuple[Difference, ...]:
        """Where the measurements do not agree with each other."""
        found: dict[tuple[tuple[str, ...], tuple[str, ...]], list[tuple[int, int]]] = {}
        effects = np.stack([measurement.effects for measurement in self.measurements])
        sees, looked = effects > self.tolerance, ~np.isnan(effects)
        for query, key in np.argwhere(sees.any(0) & (looked & ~sees).any(0)):
            seen = tuple(m.name for m, yes in zip(self.measurements, sees[:, query, key], strict=True) if yes)
            blind = looked[:, query, key] & ~sees[:, query, key]
            unseen = tuple(m.name for m, yes in zip(self.measurements, blind, strict=True) if yes)
            found.setdefault((seen, unseen), []).append((int(query), int(key)))
        return tuple(
            Difference(seen, unseen, tuple(pairs), float(self.effects[pairs[0]]))
            for (seen, unseen), pairs in found.items()
        )

    def offence(self, expected: str | ArrayLike) -> Offence | None:
        """Where the access is not `expected`, the name of a pattern or a boolean matrix; None where it is.

        Raises:
            StudyError: an unknown name, another shape, or values that are not boolean.
        """
        wanted = patterns.as_matrix(expected, self.length)
        pair = patterns.first_difference(self.matrix, wanted)
        if pair is None:
            return None
        strongest = max(self.measurements, key=lambda m: float(np.nan_to_num(m.effects[pair], nan=-1.0)))
        return Offence(
            *pair,
            seen=bool(self.matrix[pair]),
            effect=float(self.effects[pair]),
            by=strongest.name,
            pairs=int((self.matrix != wanted).sum()),
        )

    def remarks(self) -> list[str]:
        """Lines for a reader: where the measurements differ, faint effects, and the notes."""
        lines = [str(difference) for difference in self.differences]
        faint = (self.effects > 0) & ~self.matrix
        if faint.any():
            query, key = np.unravel_index(np.argmax(np.where(faint, self.effects, 0)), faint.shape)
            lines.append(
                f"{int(faint.sum())} unseen pairs have an effect that is not exactly 0, at most "
                f"{self.effects[query, key]:.1g} (query {query}, key {key}): rounding, or a mask that is only nearly −∞"
            )
        return [*lines, *self.notes]

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain lists, numbers and words, for JSON; an effect that was not measured is None."""
        return {
            "length": self.length,
            "inputs": self.inputs,
            "verdict": self.verdict.name,
            "sentence": self.verdict.sentence,
            "matrix": self.matrix.astype(int).tolist(),
            "tolerance": self.tolerance,
            "measurements": [
                {
                    "way": measurement.way,
                    "mode": measurement.mode,
                    "draws": measurement.draws,
                    "effects": [[_for_json(effect) for effect in row] for row in measurement.effects.tolist()],
                }
                for measurement in self.measurements
            ],
            "differences": [
                {"seen": difference.seen, "unseen": difference.unseen, "pairs": difference.pairs}
                for difference in self.differences
            ],
            "remarks": self.remarks(),
        }


def _for_json(effect: float) -> float | None:
    """JSON knows neither NaN nor infinity."""
    return None if np.isnan(effect) else min(effect, float(np.finfo(np.float64).max))


# --- measuring --------------------------------------------------------------------------------------------------------


def measure_access(
    model: Any,
    *,
    length: int = LENGTH,
    call: Call | None = None,
    vocabulary: int | Sequence[int] | None = None,
    width: int | None = None,
    ways: Sequence[str] = WAYS,
    modes: Sequence[str] | None = None,
    draws: int = 3,
    thorough: bool | None = None,
    redraw_weights: bool = False,
    precision: torch.dtype | None = torch.float64,
    tolerance: float = TOLERANCE,
    seed: int = 0,
) -> Access:
    """Measure who sees whom.

    The model itself is left as it is: a copy of it is measured, in float64. A function that is no module is called as
    it is, in the one mode that it has; where it runs a module, give that module and `call` to have both modes.

    Args:
        model: a `torch.nn.Module`, or a function; `[batch, length]` tokens or `[batch, length, width]` vectors in, one
            answer a position out (a tensor, a tuple that begins with it, or an object with `logits` or
            `last_hidden_state`).
        length: positions.
        call: how it is run, where `model(inputs)` is not it: `call(model, inputs)`.
        vocabulary: how many tokens there are, or the tokens to draw from; found in the model where it is left out.
        width: of vectors, for a model that takes no tokens; found where it is left out.
        ways: `perturbation`, `gradient`, or both.
        modes: `evaluation`, `training`, or both; all that the model has where it is left out.
        draws: random inputs of each combination of way and mode.
        thorough: True to measure every pair in every combination and draw, and each number of an answer; False to
            measure every pair once, to settle the unseen ones in the other combinations, and to look at random
            directions of answers that are very many; None decides by the cost.
        redraw_weights: measure an equal model with random weights, new in each draw. Weights that start at 0 hide
            access, and so may trained ones.
        precision: of the copy; None for the model's own, which finds less, where double precision does not work.
        tolerance: effects up to this part of the typical answer count as none.
        seed: of inputs, changes and dropout.

    Raises:
        StudyError: a length below 1, an argument out of range, a model that fails, or answers that are no real
            numbers, NaN, not one a position, or different in two passes over the same input.
    """
    subject = Subject(model, call, precision)
    modes = _checked(subject, ways, modes, draws, tolerance)
    inputs = find_inputs(subject, length, vocabulary, width)
    generator = torch.Generator().manual_seed(torch_seed(seed, "access"))
    if redraw_weights:
        subject.redraw(generator)
    meter = Meter(subject, inputs, generator)
    if thorough is None:
        thorough = subject.cost(length) * length * draws * len(ways) * len(modes) <= _CHEAP
    if not thorough and (narrowed := subject.narrow(inputs.draw(1, generator), generator)):
        meter.notes[
            f"random directions of the many numbers that {narrowed} gives were looked at (thorough=True looks at each)"
        ] = None

    found: dict[tuple[str, str], list[Effects]] = {}

    def add(way: str, mode: str, effects: Effects | None) -> None:
        if effects is not None:
            found.setdefault((way, mode), []).append(effects)

    if thorough or len(ways) < len(WAYS):
        for draw in range(draws if thorough else 1):
            if draw and redraw_weights:
                subject.redraw(generator)
            start = meter.draw()
            for mode in modes:
                if PERTURBATION in ways:
                    add(PERTURBATION, mode, meter.perturbation(start, mode))
                if GRADIENT in ways:
                    add(GRADIENT, mode, meter.gradient(start, mode))
    else:
        by_perturbation = meter.perturbation(meter.draw(), modes[0])
        add(PERTURBATION, modes[0], by_perturbation)
        for mode in modes:
            add(GRADIENT, mode, meter.gradient(meter.draw(), mode, by_perturbation > tolerance))
        meter.notes[_SPARING] = None
    if not found:
        raise StudyError(f"nothing can be measured by gradient: {'; '.join(meter.notes)}; use perturbation")
    measurements = [Measurement(*name, len(effects), np.fmax.reduce(effects)) for name, effects in found.items()]
    access = Access(tuple(measurements), tolerance, inputs.describe(), tuple(meter.notes))
    return replace(access, notes=(*access.notes, *_what_hides(subject, access)))


_SPARING = (
    "every pair was measured by perturbation in one mode on one draw; by gradient, in each mode on a draw of its own, "
    "all pairs that are not seen and the nearest that are (thorough=True measures every pair every time)"
)


def _checked(
    subject: Subject, ways: Sequence[str], modes: Sequence[str] | None, draws: int, tolerance: float
) -> list[str]:
    """The modes to measure in, once all arguments are found to be in range."""
    wanted = subject.modes if modes is None else modes
    for name, given, allowed in (("ways", ways, WAYS), ("modes", wanted, subject.modes)):
        if isinstance(given, str) or not given or not set(given) <= set(allowed):
            raise StudyError(f"{name} {given!r}; give a list of one or more of {', '.join(allowed)}")
    if draws < 1:
        raise StudyError(f"draws {draws}; at least one is needed")
    if not 0 <= tolerance < 1:
        raise StudyError(f"tolerance {tolerance}; give a part of the typical answer, from 0 up to 1")
    return [mode for mode in subject.modes if mode in wanted]


def _what_hides(subject: Subject, access: Access) -> list[str]:
    """Notes on weights that may hide influence which others would show."""
    notes = []
    if zeros := subject.zero_weights():
        names = ", ".join(zeros[:3]) + (f" and {len(zeros) - 3} more" if len(zeros) > 3 else "")
        notes.append(f"{names}: all weights are 0 and let nothing through; redraw the weights to see what they hide")
    if not access.matrix.any():
        notes.append(
            "an output that nothing influences, not even itself, says nothing about a mask; redraw the weights"
        )
    return notes


class Meter:
    """Measures a model in one way, mode and draw after another.

    Attributes:
        notes: what a reader should know, in order, each once.
    """

    def __init__(self, subject: Subject, inputs: Inputs, generator: torch.Generator) -> None:
        """All chance comes from `generator`."""
        self.notes: dict[str, None] = {}
        self._subject, self._inputs, self._generator = subject, inputs, generator
        self._apart: dict[str, bool] = {}  # mode -> do the examples of a batch leave each other alone?
        self._features = 1

    def draw(self) -> tuple[Tensor, int]:
        """A random example, and a seed for the chance inside the model."""
        return self._inputs.draw(1, self._generator), int(torch.randint(2**31, (), generator=self._generator))

    def perturbation(self, start: tuple[Tensor, int], mode: str) -> Effects:
        """`[queries, keys]`: how much each answer changes with each input."""
        run, batch = self._prepared(start, mode, _TOKENS_AT_ONCE)
        (effects,) = perturbation_effects(lambda x: [run(x)], self._inputs, start[0], batch, self._generator)
        return effects

    def gradient(self, start: tuple[Tensor, int], mode: str, seen: Matrix | None = None) -> Effects | None:
        """`[queries, keys]`: the gradient of each answer with respect to each input; None, with a note, without one.

        Args:
            start: of `draw`.
            mode: of the subject.
            seen: what is known to be seen, where it is enough to settle what is not; the rest is then NaN.
        """
        run, batch = self._prepared(start, mode, _GRADIENT_TOKENS_AT_ONCE)
        base, length = start[0], self._inputs.length
        try:
            entrances, reason = find_entrances(run, self._inputs, base, self._generator)
            sums = None if reason else SumsOfAnswers(run, base, entrances, batch, self._generator)
        except StudyError as error:  # it does not fail without: perturbation has run, or will
            sums, reason = None, str(error)
        if sums is None or not sums.differentiable:
            self.notes[f"no gradient: {reason or 'torch knows no derivative of the answers'}"] = None
            return None
        if seen is not None:
            order = OrderedRows.settling(seen, sums.power())
            effects = order.effects(sums.gradients(order.weights))
            if not (effects[~seen] > 0).any():
                return effects
        # Against what the other way found, or in the noise of rounding, every query has a gradient of its own.
        order = OrderedRows.every(length)
        return order.effects(sums.gradients(order.weights))

    def _prepared(self, start: tuple[Tensor, int], mode: str, tokens_at_once: int) -> tuple[Run, int]:
        """How one pass is run, and how many examples it takes; once a mode, what passes do is looked at first."""

        def run(inputs: Tensor) -> Tensor:
            return self._subject.answers(inputs, mode, start[1])

        length = self._inputs.length
        if mode not in self._apart and length < tokens_at_once:
            self._apart[mode] = self._leave_each_other_alone(run, start[0].repeat_interleave(2, 0), mode)
        at_once = min(length, tokens_at_once // length, _NUMBERS_AT_ONCE // (length * self._features))
        return run, max(1, at_once) if self._apart.get(mode) else 1

    def _leave_each_other_alone(self, run: Run, pair: Tensor, mode: str) -> bool:
        """Whether the first of two equal examples is answered as before once the second is changed.

        Raises:
            StudyError: it is not even answered as before if nothing is changed, or its answers are NaN.
        """
        second = torch.tensor([[False], [True]]).expand(2, self._inputs.length)
        with torch.no_grad():
            before, after = run(pair), run(self._inputs.changed(pair, second, self._generator))
            check_no_nan(before, mode)
            self._features = before.shape[-1]
            negligible = TOLERANCE * typical_size(before)
            apart = largest_change(before[:1], after[:1]).max().item() <= negligible
            if not apart and largest_change(before, run(pair)).max().item() > negligible:
                raise StudyError(
                    f"two passes over the same input differ in {mode} mode although torch, NumPy and random "
                    "start from the same seed; take out what else is random, or what one pass leaves for the next"
                )
        if not apart:
            self.notes[
                f"{mode} mode: the examples of a batch influence each other, so each was run alone; either the model "
                "uses batch statistics, or it takes positions first (batch_first=False) and is measured the wrong way "
                "round"
            ] = None
        return apart


# --- by perturbation --------------------------------------------------------------------------------------------------


def perturbation_effects(
    run: Callable[[Tensor], Sequence[Tensor]], inputs: Inputs, base: Tensor, batch: int, generator: torch.Generator
) -> list[Effects]:
    """Change one position after another, and compare the answers with those before.

    Both sides of a comparison have the same place in a batch of the same size and the same chance: where nothing
    flows, the numbers are the same to the last bit.

    Args:
        run: one pass; it gives one or more tensors `[batch, length, features]`, always the same for the same inputs.
        inputs: what it takes.
        base: the example, `[1, length]` or `[1, length, width]`.
        batch: examples at once.
        generator: for the changes.

    Returns:
        For each tensor `[queries, keys]`, the largest change of any number, in units of its typical size.

    Raises:
        StudyError: NaN among the answers.
    """
    length = inputs.length
    batched = base.repeat_interleave(batch, 0)
    with torch.no_grad():
        before = run(batched)
        sizes = [typical_size(tensor) for tensor in before]
        found = [np.zeros((length, length)) for _ in before]
        for first in range(0, length, batch):
            keys = torch.arange(first, first + batch)  # a key beyond the last changes nothing
            where = keys[:, None] == torch.arange(length)
            after = run(inputs.changed(batched, where, generator))
            for effects, one, other, size in zip(found, before, after, sizes, strict=True):
                changes = largest_change(one, other)  # batch, length
                check_no_nan(changes, f"a pass with position {first} or one after it changed")
                for row, key in enumerate(range(first, min(first + batch, length))):
                    effects[:, key] = changes[row].cpu().numpy() / size
    return found


def largest_change(before: Tensor, after: Tensor) -> Tensor:
    """`[batch, length]`: the largest difference between two numbers of an answer; equal infinities do not differ."""
    changes = torch.empty(before.shape[:2], dtype=before.dtype, device=before.device)
    difference = torch.empty_like(before[0])  # an example at a time: answers can be large
    for place, (one, other) in enumerate(zip(before, after, strict=True)):
        changes[place] = torch.linalg.vector_norm(torch.sub(other, one, out=difference), torch.inf, dim=-1)
        if not changes[place].isfinite().all():
            difference[one == other] = 0
            changes[place] = torch.linalg.vector_norm(difference, torch.inf, dim=-1)
    return changes


def typical_size(answers: Tensor) -> float:
    """The root mean square of the finite numbers; 1 where all are 0."""
    finite = answers[answers.isfinite()]
    size = finite.double().square().mean().sqrt().item() if len(finite) else 0.0
    return size or 1.0


def check_no_nan(answers: Tensor, where: str) -> None:
    """Refuse NaN.

    Raises:
        StudyError: there is one; the message says at which position.
    """
    if answers.isnan().any():
        position = int(answers.isnan().nonzero()[0, 1])
        raise StudyError(
            f"NaN in the answer at position {position} ({where}); nothing can be compared with it: look for a "
            "query that may see nothing, or an overflow"
        )


# --- by gradient ------------------------------------------------------------------------------------------------------


class SumsOfAnswers:
    """Weighted sums of the answers to one example, and their gradients with respect to what enters at each position.

    Attributes:
        differentiable: False where torch knows no gradient.
    """

    def __init__(
        self, run: Run, base: Tensor, entrances: Sequence[Entrance], batch: int, generator: torch.Generator
    ) -> None:
        """One pass, on as many copies of the example as there are sums to be differentiated at once.

        Args:
            run: one pass, `[batch, length, features]` out; the features are projected on one random direction.
            base: the example, `[1, length]` or `[1, length, width]`.
            entrances: where its tokens become numbers.
            batch: copies.
            generator: for the direction.
        """
        self._entrances = entrances
        self._added = [
            torch.zeros(batch, math.prod(entrance.shape), dtype=torch.float64, device=base.device, requires_grad=True)
            for entrance in entrances
        ]
        with torch.enable_grad():
            answers = run_with(run, base.repeat_interleave(batch, 0), entrances, self._added)
            finite = torch.where(answers.isfinite(), answers, torch.zeros_like(answers))
            direction = torch.randn(answers.shape[-1], generator=generator, dtype=torch.float64).to(answers)
            self._projected = finite @ (direction / direction.norm())  # batch, queries
        self._typical = typical_size(answers.detach())
        self.differentiable = self._projected.requires_grad

    def gradients(self, weights: Tensor) -> Effects:
        """The norms of the gradients.

        Args:
            weights: `[sums, queries]`.

        Returns:
            `[sums, keys]`, for a change of typical size of what enters at the key, in units of the typical answer.

        Raises:
            StudyError: a gradient is NaN.
        """
        norms = self._norms(weights)
        if np.isnan(norms).any():
            row, key = np.argwhere(np.isnan(norms))[0]
            raise StudyError(
                f"the gradient of the answer at position {int(weights[row].argmax())} with respect to "
                f"position {key} is NaN; mend it, or measure by perturbation alone"
            )
        return norms

    def power(self) -> int:
        """The largest of `_POWERS` by which a sum may be scaled up and down, and its gradient with it."""
        even = torch.ones(1, self._projected.shape[1], dtype=torch.float64)
        for power in _POWERS:
            up, down = (self._norms(even * scale) / scale for scale in (10.0**power, 10.0**-power))
            if np.isfinite(up).all() and np.allclose(up, down, rtol=1e-3, atol=1e-3 * float(up.max())):
                return power
        return 0

    def _norms(self, weights: Tensor) -> Effects:
        batch = len(self._projected)
        found = []
        for chosen in weights.split(batch):
            padded = torch.zeros(self._projected.shape, dtype=torch.float64)
            padded[: len(chosen)] = chosen
            gradients = torch.autograd.grad(
                self._projected,
                self._added,
                padded.to(self._projected),
                retain_graph=True,
                allow_unused=True,
                materialize_grads=True,
            )
            norms = [
                gradient_norms(gradient.cpu(), entrance.cells) * (entrance.size / self._typical)
                for gradient, entrance in zip(gradients, self._entrances, strict=True)
            ]
            found.append(torch.stack(norms).amax(0)[: len(chosen)])
        return torch.cat(found).numpy()


def gradient_norms(gradient: Tensor, cells: Tensor) -> Tensor:
    """`[batch, cells of one example]` -> `[batch, keys]`: the norm over the cells of each key, without overflow."""
    nothing = torch.zeros(len(gradient), 1, dtype=gradient.dtype)
    parts = torch.cat([gradient, nothing], 1)[:, cells]  # batch, keys, most
    largest = parts.abs().amax(-1, keepdim=True)
    return largest[..., 0] * (parts / torch.where(largest == 0, 1, largest)).norm(dim=-1)


@dataclass(frozen=True)
class OrderedRows:
    """Sums of answers whose gradients tell which query sees a key.

    One gradient of a sum over many queries says whether *any* of them sees a key. Here the queries of a sum have
    weights 20 decades apart, 1e230, 1e210, … 1e-230, and a double keeps the size of a number over all of them: the
    size of the gradient at a key tells the *first* query of the order that sees it, and that those before it do not.
    Under a causal mask the queries in their own order settle every unseen pair this way, 24 queries a gradient. Where
    a model computes in single precision inside, there is room for 4.

    Attributes:
        orders: the queries of each sum, the heaviest first.
        length: positions.
        power: of ten, of the heaviest weight.
    """

    orders: tuple[tuple[int, ...], ...]
    length: int
    power: int = 0

    @classmethod
    def every(cls, length: int) -> Self:
        """A sum for each query: every pair is measured."""
        return cls(tuple((query,) for query in range(length)), length)

    @classmethod
    def settling(cls, seen: Matrix, power: int) -> Self:
        """As few sums as settle every pair that is not seen: the queries in order, in reverse, or one by one."""
        length = len(seen)
        leading = np.logical_and.accumulate(~seen, axis=0)
        trailing = np.logical_and.accumulate(~seen[::-1], axis=0)[::-1] & ~leading
        between = np.flatnonzero((~seen & ~leading & ~trailing).any(1))
        sums = -(-length // (2 * power // _DECADES + 1))
        orders = [tuple(range(first, length, sums)) for first in range(sums)]
        if trailing.any():
            orders += [order[::-1] for order in orders]
        return cls((*orders, *((int(query),) for query in between)), length, power)

    @property
    def weights(self) -> Tensor:
        """`[sums, queries]`; a query that stands alone has weight 1."""
        weights = torch.zeros(len(self.orders), self.length, dtype=torch.float64)
        for row, order in zip(weights, self.orders, strict=True):
            for rank, query in enumerate(order):
                row[query] = self._weight(rank, order)
        return weights

    def effects(self, sums: Effects) -> Effects:
        """`[queries, keys]` from the gradients of the sums, `[sums, keys]`; NaN where they do not tell."""
        found = np.full((self.length, self.length), np.nan)
        for gradients, order in zip(sums, self.orders, strict=True):
            for key, gradient in enumerate(gradients):
                for rank, query in enumerate(order):
                    effect = gradient / self._weight(rank, order) if gradient < np.inf else np.inf
                    seen = len(order) == 1 or effect >= _FAINTEST
                    found[query, key] = np.fmax(found[query, key], effect if seen else 0.0)
                    if seen:
                        break
        return found

    def _weight(self, rank: int, order: tuple[int, ...]) -> float:
        return 1.0 if len(order) == 1 else 10.0 ** (self.power - _DECADES * rank)
