"""A model under examination: a copy, in double precision, inputs drawn for it, and its answers per position.

Nothing here knows what kind of model it is. What it takes (tokens or vectors) is found by trying, and where tokens
become numbers is found by watching: a `Crossings` mode sees every operation that makes real numbers out of whole ones,
an embedding looked up by whatever function, a table indexed, a one-hot vector, and can add to them.
"""

import copy
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from maskstudy.errors import StudyError

EVALUATION, TRAINING, AS_GIVEN = "evaluation", "training", "as given"  # the last: a function has no modes to switch

Call = Callable[[Any, Tensor], Any]  # (model, inputs) -> what the model returns
Run = Callable[[Tensor], Tensor]  # inputs -> answers [batch, length, features]

_ANSWER_NAMES = ("logits", "prediction_logits", "last_hidden_state")  # of an output with named parts, first one wins
_MOST_ANSWERS = 256  # numbers of an answer that are looked at one by one where a pass is costly
_MOST_WIDTHS = 8  # widths that are tried before the reader is asked for one


# --- the model --------------------------------------------------------------------------------------------------------


class Subject:
    """A copy of a model that can be run without leaving a trace in the model itself.

    Attributes:
        model: the copy, of which no parameter wants a gradient; a function that is no module is itself.
        modes: `evaluation` and `training` of a module, `as given` of any other function.
        dtype: of the numbers that it computes with, as far as is known.
        device: where the inputs go.
    """

    def __init__(self, model: Any, call: Call | None = None, precision: torch.dtype | None = torch.float64) -> None:
        """Copy the model.

        Args:
            model: a `torch.nn.Module` or a function.
            call: how it is run, `call(model, inputs)`; `model(inputs)` where it is left out.
            precision: of the copy; None for the model's own. Tensors that a module makes while it runs follow it.

        Raises:
            StudyError: it cannot be called, or it is a module that cannot be copied in this precision.
        """
        self._call = call or _plain_call
        self._convert = isinstance(model, nn.Module) and precision is not None
        self.modes: tuple[str, ...] = (AS_GIVEN,)
        self.dtype = precision or torch.get_default_dtype()
        self.device = torch.device("cpu")
        self.model = model
        self._buffers: list[tuple[nn.Module, str, Tensor]] = []
        if isinstance(model, nn.Module):
            try:
                self.model = copy.deepcopy(model).requires_grad_(False)
                if precision is not None:
                    self.model.to(precision)
            except Exception as error:
                raise StudyError(
                    f"{type(model).__name__} cannot be copied in {precision or 'its own precision'} "
                    f"({_one_line(error)}); give a module that copy.deepcopy and .to(precision) accept"
                ) from error
            tensors = list(self.model.state_dict().values())
            self.modes = (EVALUATION, TRAINING)
            self.device = next((tensor.device for tensor in tensors), self.device)
            self.dtype = next((tensor.dtype for tensor in tensors if tensor.is_floating_point()), self.dtype)
            self._buffers = [
                (owner, name, buffer.clone())
                for owner in self.model.modules()
                for name, buffer in owner._buffers.items()
                if buffer is not None
            ]
        elif not callable(model):
            raise StudyError(f"a module or a function is needed, not {type(model).__name__}")

    @property
    def rounding(self) -> float:
        """The part of an answer that adding up in another order may change.

        In double precision 1e-6, since models round to single precision in places (norms, rotations); in others a
        thousand times what a number is rounded by, but at most a tenth.
        """
        return max(1e-6, min(1000 * torch.finfo(self.dtype).eps, 0.1))

    def answers(self, inputs: Tensor, mode: str, seed: int = 0, call: Call | None = None) -> Tensor:
        """One pass.

        The same inputs, mode and seed give the same answers: chance (dropout) is fixed, and what a training pass
        writes into buffers is taken back before the next.

        Args:
            inputs: `[batch, length]` tokens or `[batch, length, width]` vectors.
            mode: one of `modes`.
            seed: of everything random inside the model.
            call: how it is run, where it is not the subject's own way.

        Returns:
            `[batch, length, features]`.

        Raises:
            StudyError: the model fails, or its answers are not one real number or more a position.
        """
        result = self.run(inputs, mode, seed, call)
        return per_position(result, inputs.shape[0], inputs.shape[1])

    def run(self, inputs: Tensor, mode: str, seed: int = 0, call: Call | None = None) -> Any:
        """One pass, and whatever the model returns.

        Raises:
            StudyError: the model fails.
        """
        if isinstance(self.model, nn.Module):
            self.model.train(mode == TRAINING)
            for owner, name, buffer in self._buffers:
                owner._buffers[name] = buffer.clone() if mode == TRAINING else buffer
        dtype = self.dtype if inputs.is_floating_point() else inputs.dtype
        inputs = inputs.to(self.device, dtype, copy=True)
        default = torch.get_default_dtype()
        try:
            with fixed_randomness(seed, self.device):
                if self._convert:
                    torch.set_default_dtype(self.dtype)
                return (call or self._call)(self.model, inputs)
        except StudyError:
            raise
        except Exception as error:
            raise StudyError(
                f"the model fails on {_described(inputs)}: {type(error).__name__}: {_one_line(error)}"
            ) from error
        finally:
            torch.set_default_dtype(default)

    def narrow(self, inputs: Tensor, generator: torch.Generator) -> str | None:
        """Let the copy give random directions of its answers where they are many and a last matrix makes them.

        Scores of 50 000 tokens are a third of the work of a small GPT-2. Whatever changes any of them changes every
        random direction of them, short of a coincidence. The copy stays narrow only if it gives, in each mode, the
        directions of what it gave before; a model that counts on the number of its answers does not.

        Args:
            inputs: to try it on.
            generator: of the directions.

        Returns:
            The name of the matrix; None where the copy is as it was.
        """
        if not isinstance(self.model, nn.Module):
            return None
        before = self._in_each_mode(inputs)
        features = {answers.shape[-1] for answers in before}
        matrices = [
            (name, module)
            for name, module in self.model.named_modules()
            if type(module) is nn.Linear and {module.out_features} == features
        ]
        if max(features) <= _MOST_ANSWERS or not matrices:
            return None
        name, last = matrices[-1]
        directions = torch.randn(_MOST_ANSWERS, last.out_features, generator=generator, dtype=torch.float64)
        directions = (directions / last.out_features**0.5).to(last.weight)  # as large as the answers
        wide = last._parameters
        last._parameters = {  # not changed in place: an embedding may share the matrix
            kind: None if parameter is None else nn.Parameter(directions @ parameter, requires_grad=False)
            for kind, parameter in wide.items()
        }
        with suppress(StudyError):
            if all(
                now.shape[-1] == _MOST_ANSWERS and self._agree(now, answers @ directions.T.to(answers))
                for now, answers in zip(self._in_each_mode(inputs), before, strict=True)
            ):
                return name
        last._parameters = wide
        return None

    def _in_each_mode(self, inputs: Tensor) -> list[Tensor]:
        with torch.no_grad():
            return [self.answers(inputs, mode) for mode in self.modes]

    def _agree(self, one: Tensor, other: Tensor) -> bool:
        return bool((one - other).abs().max() < self.rounding * _size(other))  # which infinite numbers never do

    def cost(self, positions: int) -> int:
        """Floating-point operations of the products of a pass with the module's weight matrices; 0 of a function.

        Torch can count all operations, but loading what it needs for that takes longer than measuring a small model.
        """
        if not isinstance(self.model, nn.Module):
            return 0
        matrices = {
            parameter
            for module in self.model.modules()
            for parameter in module.parameters(recurse=False)
            if parameter.dim() >= 2 and not isinstance(module, nn.Embedding)  # looked up, not multiplied with
        }
        return 2 * positions * sum(matrix.numel() for matrix in matrices)

    def redraw(self, generator: torch.Generator) -> None:
        """Draw all weights of the copy anew, those that start at 0 and would hide all influence among them.

        Matrices are normal with variance 1 / inputs, embeddings standard normal; to gains and biases noise is added.
        """
        if not isinstance(self.model, nn.Module):
            raise StudyError("only the weights of a torch.nn.Module can be drawn anew, not those of a function")
        embeddings = {module.weight for module in self.model.modules() if isinstance(module, nn.Embedding)}
        with torch.no_grad():
            for parameter in self.model.parameters():
                noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64).to(parameter.device)
                if parameter in embeddings:
                    parameter.copy_(noise)
                elif parameter.dim() >= 2:
                    parameter.copy_(noise * parameter[0].numel() ** -0.5)
                else:
                    parameter.add_(0.3 * noise)

    def zero_weights(self) -> list[str]:
        """Names of the weight matrices that are 0 everywhere: nothing flows through them."""
        if not isinstance(self.model, nn.Module):
            return []
        return [
            name
            for name, parameter in self.model.named_parameters()
            if parameter.dim() >= 2 and parameter.numel() and not parameter.any()
        ]


@contextmanager
def fixed_randomness(seed: int, device: torch.device | None = None) -> Iterator[None]:
    """Let torch, NumPy and `random` start from `seed`, and put them back afterwards."""
    accelerator = device if device is not None and device.type == "cuda" else None
    python, numpy, cpu = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
    cuda = torch.cuda.get_rng_state(accelerator) if accelerator else None
    # torch.manual_seed also seeds, lazily, every kind of device that is not there: that takes longer than a small model
    torch.default_generator.manual_seed(seed)
    if accelerator:
        torch.cuda.manual_seed_all(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
        torch.set_rng_state(cpu)
        if accelerator and cuda is not None:
            torch.cuda.set_rng_state(cuda, accelerator)


def per_position(result: Any, batch: int, length: int) -> Tensor:
    """The answers in what a model returned: a tensor, the first of a tuple, or the logits or hidden state by name.

    Returns:
        `[batch, length, features]` floating point.

    Raises:
        StudyError: no tensor, whole numbers, or another shape.
    """
    found = _first_tensor(result)
    if found is None:
        raise StudyError(f"the model returns {type(result).__name__}, in which there is no tensor of answers")
    if tuple(found.shape[:2]) != (batch, length):
        swapped = tuple(found.shape[:2]) == (length, batch) != (batch, length)
        advice = "positions come first: build it with batch_first=True" if swapped else "wrap the model, or give call="
        raise StudyError(
            f"answers of shape {tuple(found.shape)} to inputs of shape ({batch}, {length}); "
            f"one answer a position is needed, ({batch}, {length}, …); {advice}"
        )
    if found.is_complex():
        found = torch.view_as_real(found)
    if not found.is_floating_point():
        raise StudyError(
            f"the answers are whole numbers ({found.dtype}), which hide small effects; "
            "return the logits, not their argmax"
        )
    return found.flatten(2) if found.dim() > 2 else found.unsqueeze(-1)


def _first_tensor(result: Any) -> Tensor | None:
    """The tensor of answers; a lone number, such as a loss, is passed over."""
    if isinstance(result, np.ndarray):
        result = torch.from_numpy(result)
    if isinstance(result, Tensor):
        return result if result.dim() else None
    if is_dataclass(result) and not isinstance(result, Mapping | type):
        result = {field.name: getattr(result, field.name) for field in fields(result)}
    if isinstance(result, Mapping):
        named = [result[name] for name in _ANSWER_NAMES if result.get(name) is not None]
        result = named or list(result.values())
    if isinstance(result, Sequence) and not isinstance(result, str):
        return next((tensor for part in result if (tensor := _first_tensor(part)) is not None), None)
    return None


def _plain_call(model: Any, inputs: Tensor) -> Any:
    return model(inputs)


def _described(inputs: Tensor) -> str:
    kind = "vectors" if inputs.is_floating_point() else "tokens"
    return f"{kind} of shape {tuple(inputs.shape)} ({str(inputs.dtype).removeprefix('torch.')})"


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 300 else text[:299] + "…"


# --- its inputs -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Inputs:
    """What a model is fed with: tokens out of a vocabulary, or vectors.

    Attributes:
        length: positions.
        tokens: sorted tokens that may occur, or None for vectors.
        width: of the vectors, or None for tokens.
    """

    length: int
    tokens: Tensor | None = None
    width: int | None = None

    def draw(self, batch: int, generator: torch.Generator) -> Tensor:
        """`[batch, length]` uniform tokens, or `[batch, length, width]` standard normal vectors in float64."""
        if self.tokens is None:
            return torch.randn(batch, self.length, self.width or 1, generator=generator, dtype=torch.float64)
        return self.tokens[torch.randint(len(self.tokens), (batch, self.length), generator=generator)]

    def changed(self, inputs: Tensor, where: Tensor, generator: torch.Generator) -> Tensor:
        """The same inputs but for the positions `where` (`[batch, length]` bool), which hold something else."""
        if self.tokens is None:
            return torch.where(where[..., None], self.draw(len(where), generator), inputs)
        step = torch.randint(1, len(self.tokens), where.shape, generator=generator)
        others = self.tokens[(torch.searchsorted(self.tokens, inputs) + step) % len(self.tokens)]
        return torch.where(where, others, inputs)

    def describe(self) -> str:
        """In words, for the head of a report."""
        return f"tokens out of {len(self.tokens)}" if self.tokens is not None else f"vectors of width {self.width}"


def find_inputs(
    subject: Subject, length: int, vocabulary: int | Sequence[int] | None = None, width: int | None = None
) -> Inputs:
    """What the model takes: what the reader says, else what works.

    Tokens are tried first, then vectors of the widths of the model's own weights. How many tokens there are is the
    size of the smallest table that they are looked up in; a token that the table declares to be padding is left out.

    Args:
        subject: the model.
        length: positions.
        vocabulary: how many tokens there are, or the tokens to draw from.
        width: of vectors.

    Raises:
        StudyError: a value out of range, both `vocabulary` and `width`, or neither and nothing works.
    """
    if length < 1:
        raise StudyError(f"length {length}; at least one position is needed")
    if vocabulary is not None and width is not None:
        raise StudyError("both vocabulary= and width= are given; a model takes either tokens or vectors")
    if width is not None:
        if width < 1:
            raise StudyError(f"width {width}; at least 1 is needed")
        return Inputs(length, width=width)
    if vocabulary is None:
        return _inputs_that_work(subject, length)
    tokens = torch.arange(vocabulary) if isinstance(vocabulary, int) else torch.tensor(sorted(set(vocabulary)))
    if len(tokens) < 2:
        raise StudyError(f"a vocabulary of {len(tokens)}; at least two tokens are needed, to change one")
    return Inputs(length, tokens=tokens)


def _inputs_that_work(subject: Subject, length: int) -> Inputs:
    failures = []
    try:
        tokens = _looked_up(subject, length)
    except StudyError as error:
        failures.append(str(error))
    else:
        if tokens is None:
            raise StudyError("how many tokens there are cannot be told from the model; give vocabulary=")
        return Inputs(length, tokens=tokens)
    for width in _widths(subject.model):
        try:
            with torch.no_grad():
                subject.answers(torch.zeros(1, length, width, dtype=torch.float64), subject.modes[0])
        except StudyError as error:
            failures.append(str(error))
        else:
            return Inputs(length, width=width)
    raise StudyError(f"{failures[0]} (vectors do not work either: give vocabulary= or width=, or call=)")


def _looked_up(subject: Subject, length: int) -> Tensor | None:
    """The tokens of the smallest table in which the model looks its tokens up; None where it has none."""
    passes: list[list[tuple[Tensor, int | None, int | None]]] = []
    for token in (0, 1):
        found: list[tuple[Tensor, int | None, int | None]] = []
        most = len(passes[0]) if passes else None

        def visit(
            number: int, result: Tensor, table: int | None, padding: int | None, found: Any = found, most: Any = most
        ) -> Tensor:
            found.append((result.detach().clone(), table, padding))
            if number + 1 == most:
                raise _Enough
            return result

        with torch.no_grad(), Crossings(visit), suppress(_Enough):
            subject.answers(torch.full((1, length), token), subject.modes[0])
        passes.append(found)
    tables = [
        (table, padding)
        for (first, table, padding), (second, _, _) in zip(*passes, strict=False)
        if table is not None and (first.shape != second.shape or not torch.equal(first, second))
    ]
    if not tables:
        return None
    tokens = torch.arange(min(table for table, _ in tables))
    return tokens[~torch.isin(tokens, torch.tensor([padding for _, padding in tables if padding is not None]))]


def _widths(model: Any) -> list[int]:
    """Sizes that occur in the model's weights, in the order in which they are met."""
    parameters = model.parameters() if isinstance(model, nn.Module) else []
    sizes = (size for parameter in parameters for size in reversed(parameter.shape))
    return list(dict.fromkeys(sizes))[:_MOST_WIDTHS]


# --- where tokens become numbers --------------------------------------------------------------------------------------


class Crossings(TorchFunctionMode):
    """Watches a pass for the places where whole numbers become real ones, before anything real is known of the input.

    An operation counts if it makes real numbers, has whole numbers among its arguments, and no argument that wants a
    gradient. `visit` may mark what it is handed by adding something that wants a gradient; what is computed from it
    then counts no more.
    """

    def __init__(self, visit: Callable[[int, Tensor, int | None, int | None], Tensor]) -> None:
        """`visit(number, result, rows of the table or None, padding token or None)` gives what takes its place."""
        super().__init__()
        self._visit = visit
        self._count = 0

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Let an operation run and hand on its result."""
        del types
        kwargs = kwargs or {}
        result = function(*args, **kwargs)
        if not isinstance(result, Tensor) or not result.is_floating_point() or _inside_transform(result):
            return result
        tensors = list(_tensors([args, kwargs]))
        if any(tensor.requires_grad for tensor in tensors) or not any(_is_whole(tensor) for tensor in tensors):
            return result
        table = next((len(tensor) for tensor in tensors if tensor.is_floating_point() and tensor.dim() == 2), None)
        padding = None
        if function is nn.functional.embedding:
            padding = kwargs.get("padding_idx", args[2] if len(args) > 2 else None)
        self._count += 1
        return self._visit(self._count - 1, result, table, padding)


class _Enough(BaseException):
    """Ends a pass early. No `Exception`, so that no model catches it."""


@dataclass(frozen=True)
class Entrance:
    """A tensor through which inputs enter the model, and which of its numbers each position sets.

    Attributes:
        number: of the crossing in a pass; None for vectors, which are the entrance themselves.
        shape: of the tensor for a single example.
        cells: `[length, most]` flat places within one example that a position sets; a place beyond the last is none.
        size: typical size (root mean square) of its numbers.
    """

    number: int | None
    shape: tuple[int, ...]
    cells: Tensor
    size: float

    def rows(self, tensor: Tensor, batch: int) -> Tensor:
        """The tensor of a batch, `[batch, cells of one example]`, wherever it has its batch axis."""
        axis = self._axis(tensor.shape, batch)
        return tensor.unflatten(axis, (batch, self.shape[axis])).movedim(axis, 0).reshape(batch, -1)

    def joined(self, rows: Tensor, shape: torch.Size) -> Tensor:
        """The inverse of `rows`: a tensor of the given shape."""
        batch = len(rows)
        axis = self._axis(shape, batch)
        return rows.reshape(batch, *self.shape).movedim(0, axis).reshape(shape)

    def _axis(self, shape: torch.Size, batch: int) -> int:
        if len(shape) == len(self.shape):
            for axis, (whole, single) in enumerate(zip(shape, self.shape, strict=True)):
                others = [size for place, size in enumerate(shape) if place != axis]
                if whole == batch * single and others == [s for place, s in enumerate(self.shape) if place != axis]:
                    return axis
        raise StudyError(
            f"where tokens become numbers, one example gives {self.shape} but {batch} give {tuple(shape)}; "
            "the gradient cannot be told apart by example: measure by perturbation alone"
        )


def find_entrances(
    run: Run, inputs: Inputs, base: Tensor, generator: torch.Generator
) -> tuple[list[Entrance], str | None]:
    """Where `base` enters the model.

    Tokens are changed one after another; a number in a crossing belongs to the token whose change changes it. A pass
    ends at its last crossing, so this costs little more than the look-ups.

    Args:
        run: a pass, deterministic.
        inputs: what the model takes.
        base: a single example, `[1, length]` or `[1, length, width]`.
        generator: for the changes.

    Returns:
        The entrances, and why there are none that can be used, if so.
    """
    if base.is_floating_point():
        _, length, width = base.shape
        cells = torch.arange(length * width).view(length, width)
        return [Entrance(None, tuple(base.shape), cells, _size(base))], None
    before = _crossed(run, base, None)
    changed: list[list[Tensor]] = [[] for _ in before]
    for position in range(inputs.length):
        where = torch.arange(inputs.length)[None] == position
        after = _crossed(run, inputs.changed(base, where, generator), len(before))
        if [result.shape for result in after] != [result.shape for result in before]:
            return [], "what it computes from tokens changes shape with the tokens"
        for places, one, other in zip(changed, before, after, strict=True):
            places.append((one != other).flatten().nonzero()[:, 0].cpu())
    entrances = [
        Entrance(number, tuple(result.shape), nn.utils.rnn.pad_sequence(places, True, result.numel()), _size(result))
        for number, (result, places) in enumerate(zip(before, changed, strict=True))
        if any(len(place) for place in places)
    ]
    return entrances, None if entrances else "no place was found where tokens become numbers inside torch"


def _crossed(run: Run, inputs: Tensor, most: int | None) -> list[Tensor]:
    """What is handed over at each crossing of a pass; the pass ends at crossing `most`."""
    results: list[Tensor] = []

    def visit(number: int, result: Tensor, *_: Any) -> Tensor:
        results.append(result.detach().clone())
        if number + 1 == most:
            raise _Enough
        return result + torch.zeros_like(result, requires_grad=True)

    with torch.enable_grad(), Crossings(visit), suppress(_Enough):
        run(inputs)
    return results


def run_with(run: Run, inputs: Tensor, entrances: Sequence[Entrance], add: Sequence[Tensor]) -> Tensor:
    """A pass in which something is added at each entrance.

    Args:
        run: a pass.
        inputs: `[batch, length]` or `[batch, length, width]`.
        entrances: of `find_entrances`.
        add: for each entrance `[batch, cells of one example]`; it may want a gradient.

    Returns:
        What `run` gives.
    """
    additions = {entrance.number: (entrance, added) for entrance, added in zip(entrances, add, strict=True)}
    if None in additions:
        entrance, added = additions[None]
        return run(inputs + entrance.joined(added, inputs.shape).to(inputs.dtype))

    def visit(number: int, result: Tensor, *_: Any) -> Tensor:
        mark = torch.zeros_like(result, requires_grad=True)
        if number in additions:
            entrance, added = additions[number]
            mark = mark + entrance.joined(added, result.shape).to(result)
        return result + mark

    with torch.enable_grad(), Crossings(visit):  # the marks that number the crossings are gradients wanted
        return run(inputs)


def _size(tensor: Tensor) -> float:
    return tensor.double().square().mean().sqrt().item()


def _tensors(value: Any) -> Iterator[Tensor]:
    """The tensors in nested arguments."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Mapping):
        yield from _tensors(list(value.values()))
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _tensors(part)


def _is_whole(tensor: Tensor) -> bool:
    return not (tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool)


def _inside_transform(tensor: Tensor) -> bool:
    """True inside torch.vmap and its kin, whose tensors do not outlive them."""
    return bool(torch._C._functorch.is_functorch_wrapped_tensor(tensor))
