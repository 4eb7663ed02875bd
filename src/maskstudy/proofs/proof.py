"""A claim about a model, the cases in which it was tried, and what all claims share."""

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import torch
from torch import Tensor, nn

from maskstudy.access import LENGTH, check_no_nan, largest_change, typical_size
from maskstudy.errors import StudyError
from maskstudy.probing import Call, Entrance, Subject, find_inputs
from maskstudy.randomness import torch_seed

MaskedCall = Callable[[Any, Tensor, Tensor], Any]  # (model, inputs, real positions or documents) -> result


class Options(TypedDict, total=False):
    """What every proof takes beside its own arguments, as `measure_access` does.

    Attributes:
        length: positions; 12 where it is left out.
        vocabulary: how many tokens there are, or the tokens to draw from; found in the model where it is left out.
        width: of vectors, for a model that takes no tokens; found where it is left out.
        precision: of the copy that is examined, float64 where it is left out; None for the model's own.
        seed: of the inputs.
    """

    length: int
    vocabulary: int | Sequence[int] | None
    width: int | None
    precision: torch.dtype | None
    seed: int


@dataclass(frozen=True)
class Finding:
    """One case in which a claim was tried.

    Attributes:
        case: in words.
        effect: the largest change of any answer that must not change, in units of the typical answer; infinite where
            an answer became NaN.
        where: what changes.
        tolerance: effects up to this count as none.
    """

    case: str
    effect: float
    where: str
    tolerance: float

    @property
    def holds(self) -> bool:
        """True where the effect counts as none."""
        return self.effect <= self.tolerance

    def __str__(self) -> str:
        """One line."""
        if self.holds:
            return f"{self.case}: no effect"
        size = "is NaN" if self.effect == math.inf else f"changes by {self.effect:.2g} of the answers' typical size"
        return f"{self.case}: {self.where} {size}"


@dataclass(frozen=True)
class Proof:
    """A claim about a model, and every case in which it was tried.

    Attributes:
        claim: in words.
        findings: the cases.
    """

    claim: str
    findings: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        """True where the claim holds in every case."""
        return all(finding.holds for finding in self.findings)

    @property
    def broken(self) -> tuple[Finding, ...]:
        """The cases in which it does not hold."""
        return tuple(finding for finding in self.findings if not finding.holds)

    def __str__(self) -> str:
        """The claim, and each case that breaks it on a line of its own."""
        count = len(self.findings)
        if self.holds:
            return f"{self.claim}: holds in {count} of {count} cases"
        return "\n  ".join([f"{self.claim}: broken in {len(self.broken)} of {count} cases", *map(str, self.broken)])


class Trial:
    """A model set up for a proof.

    Attributes:
        subject: the copy of the model.
        inputs: what it takes.
        generator: of all chance outside the model.
        length: positions.
    """

    def __init__(
        self,
        model: Any,
        call: Call | None,
        length: int = LENGTH,
        vocabulary: int | Sequence[int] | None = None,
        width: int | None = None,
        precision: torch.dtype | None = torch.float64,
        seed: int = 0,
    ) -> None:
        """Copy the model and find what it takes; the arguments are those of `Options`."""
        self.subject = Subject(model, call, precision)
        self.inputs = find_inputs(self.subject, length, vocabulary, width)
        self.generator = torch.Generator().manual_seed(torch_seed(seed, "proofs"))
        self.length = length
        self._seed = seed

    def draw(self, batch: int) -> Tensor:
        """`[batch, length]` tokens or `[batch, length, width]` vectors."""
        return self.inputs.draw(batch, self.generator)

    def answers(self, inputs: Tensor, mode: str, call: Call | None = None, chance: int = 0) -> Tensor:
        """`[batch, length, features]`, with the same chance inside the model unless `chance` says otherwise."""
        return self.subject.answers(inputs, mode, self._seed + chance, call)

    def run(self, inputs: Tensor, mode: str, call: Call) -> Any:
        """Whatever the model returns."""
        return self.subject.run(inputs, mode, self._seed, call)


def compared(case: str, before: Tensor, after: Tensor, tolerance: float, counted: Tensor | None = None) -> Finding:
    """The largest change among the answers that count.

    Args:
        case: in words.
        before: `[batch, length, features]`.
        after: of the same shape.
        tolerance: of the finding.
        counted: `[batch, length]` bool; all where it is left out.

    Raises:
        StudyError: NaN among the answers before that count, or another shape after.
    """
    if counted is None:
        counted = torch.ones(before.shape[:2], dtype=torch.bool)
    counted = counted.to(before.device)
    check_no_nan(torch.where(counted[..., None], before, torch.zeros_like(before)), case)
    if before.shape != after.shape:
        raise StudyError(f"{case}: answers of shape {tuple(after.shape)} instead of {tuple(before.shape)}")
    changes = largest_change(before, after).nan_to_num(nan=math.inf)
    changes = torch.where(counted, changes, torch.zeros_like(changes)) / typical_size(before[counted])
    example, position = divmod(int(changes.argmax()), before.shape[1])
    where = f"the answer at position {position} of example {example}"
    return Finding(case, changes.max().item(), where, tolerance)


def at_positions(entrance: Entrance, where: Tensor, value: float) -> Tensor:
    """`[batch, cells of one example]`: `value` in the cells that the positions `where` set, 0 elsewhere.

    Args:
        entrance: where inputs enter the model.
        where: `[batch, length]` bool.
        value: NaN, say.
    """
    cells = math.prod(entrance.shape)
    chosen = torch.zeros(len(where), cells + 1, dtype=torch.float64)  # the last stands for no cell
    for row, positions in zip(chosen, where, strict=True):
        row[entrance.cells[positions].flatten()] = value
    return chosen[:, :cells]


def parameter_names(model: Any) -> set[str]:
    """Names of the arguments of a model; none where they are not known."""
    function = model.forward if isinstance(model, nn.Module) else model
    try:
        return set(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return set()
