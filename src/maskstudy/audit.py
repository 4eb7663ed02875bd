"""Does any scored position see its own answer? Decided from the masks, then measured, before anything trains.

A *leak* is a scored position whose access holds the input token that *is* its target. Access is the product of the
layers' masks (`masks.access`), and a task says where its answers stand (`target_positions`).

What the masks promise, a model must keep. `measure` therefore asks a model with random weights, on the masks that
training uses: does the output at a scored position move when the token that is its answer is replaced by another, and
has it a gradient to that token's embedding?
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskstudy.evaluation import Model, build_model, model_input
from maskstudy.masks import access, layer_masks
from maskstudy.shape import ModelShape
from maskstudy.tasks.task import NOWHERE, Examples

MEASURED_EXAMPLES = 2  # of those that have an answer in the input; all their scored positions are measured
_PAIRS = 64  # pairs that go through the model at a time: more do not go faster, and memory stays small


@dataclass(frozen=True)
class Leak:
    """One scored position that sees its own answer.

    Attributes:
        position: the scored position.
        target_position: where its answer stands in the input.
        path: the positions that carry the answer: the input, then one after each layer, `layers + 1` in all.
    """

    position: int
    target_position: int
    path: tuple[int, ...]

    def describe(self) -> str:
        """The path in words: `input 3 → layer 1 position 3 → layer 2 position 2`."""
        later = [f"layer {layer} position {position}" for layer, position in enumerate(self.path[1:], start=1)]
        return " → ".join([f"input {self.path[0]}", *later])


@dataclass(frozen=True)
class Measurement:
    """Scored positions and where their answers stand, one entry a pair: what the masks say, and what a model does.

    Attributes:
        positions: `[pairs]`, the scored positions.
        target_positions: `[pairs]`, where their answers stand in the input.
        seen: `[pairs]`, whether the access of the position holds the answer.
        moved: `[pairs]`, whether the output at the position changes with the token there.
        felt: `[pairs]`, whether the output at the position has a gradient to that token's embedding.
    """

    positions: NDArray[np.int64]
    target_positions: NDArray[np.int64]
    seen: NDArray[np.bool_]
    moved: NDArray[np.bool_]
    felt: NDArray[np.bool_]

    @property
    def leaks(self) -> bool:
        """Whether an answer reached its position."""
        return bool(self.moved.any())

    def contradiction(self) -> str | None:
        """The first pair for which the masks and the model disagree, in words; None where all agree."""
        wrong = np.flatnonzero((self.moved != self.seen) | (self.felt != self.seen))
        if not len(wrong):
            return None
        pair = wrong[0]
        says = "sees" if self.seen[pair] else "does not see"
        does = "changes" if self.moved[pair] else "does not change"
        gradient = "a gradient" if self.felt[pair] else "no gradient"
        return (
            f"by its masks, scored position {self.positions[pair]} {says} its answer, input "
            f"{self.target_positions[pair]}, but the output of a random model there {does} with it and has {gradient} "
            "to it"
        )


def find_leak(mask: str, layers: int, examples: Examples) -> Leak | None:
    """The first scored position of `examples` that sees its own answer under `mask`, or None.

    Args:
        mask: a mask of the study.
        layers: of the model.
        examples: any number, of any lengths.
    """
    _, seen = _answers(mask, layers, examples)
    if not seen.any():
        return None
    row, position = (int(index) for index in np.argwhere(seen)[0])
    target_position = int(examples.target_positions[row, position])
    masks = _plain_masks(mask, layers, int(examples.lengths[row]), int(examples.condition_lengths[row]))
    return Leak(position, target_position, carrying_path(masks, target_position, position))


def measure(mask: str, shape: ModelShape, examples: Examples) -> Measurement:
    """Ask a model with random weights which answers that stand in the input reach the positions that are scored.

    Measured are all scored positions of the first `MEASURED_EXAMPLES` examples that have an answer in the input, and of
    the first that leaks. Where no answer stands in any input, nothing can leak and there is nothing to measure.

    Args:
        mask: a mask of the study.
        shape: of the model.
        examples: any number, of any lengths.
    """
    answered, seen = _answers(mask, shape.layers, examples)
    rows = np.union1d(np.flatnonzero(answered.any(1))[:MEASURED_EXAMPLES], np.flatnonzero(seen.any(1))[:1])
    chosen, positions = np.nonzero(answered[rows])
    of_rows = rows[chosen]  # pairs
    target_positions = examples.target_positions[of_rows, positions].astype(np.int64)
    model = random_model(shape, mask=mask)
    moved, felt = np.zeros((2, len(positions)), dtype=np.bool_)
    for start in range(0, len(positions), _PAIRS):
        part = slice(start, start + _PAIRS)
        moved[part], felt[part] = influences(
            model, mask, examples[of_rows[part]], positions[part], target_positions[part]
        )
    return Measurement(positions, target_positions, seen[of_rows, positions], moved, felt)


def random_model(shape: ModelShape, seed: int = 0, mask: str = "causal") -> Model:
    """A model for the mask in float64, its every matrix drawn, also those that start at 0 and would hide all influence.

    Variance 1/inputs keeps attention far from one-hot, where an influence would be lost to rounding.
    """
    model = build_model(mask, shape).double().eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 2:
                inputs = 1 if name in ("embedding.weight", "position") else parameter.shape[1]
                parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64) / inputs**0.5)
    return model


def influences(
    model: Model, mask: str, examples: Examples, positions: NDArray[np.int64], sources: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether the output at one position of each example depends on one of its input tokens, measured in two ways.

    Args:
        model: in float64 and in evaluation mode.
        mask: a mask of the study.
        examples: one a pair; an example may stand there several times.
        positions: `[examples]`, the outputs.
        sources: `[examples]`, the input tokens.

    Returns:
        `[examples]` each: whether the output changes when the token is replaced by another; whether its gradient to the
        token's embedding is anything but 0.
    """
    tokens, masks, _ = model_input(mask, model.shape.layers, examples)
    rows = torch.arange(len(tokens))
    wanted = torch.zeros(tokens.shape, dtype=torch.bool)
    wanted[rows, torch.from_numpy(positions)] = True
    embedded: list[Tensor] = []
    hook = model.embedding.register_forward_hook(lambda _module, _tokens, output: embedded.append(output))
    outputs = model(tokens, masks, wanted)  # examples, answers
    hook.remove()
    (gradient,) = torch.autograd.grad(outputs.sum(), embedded)  # examples, length, width
    felt = (gradient[rows, torch.from_numpy(sources)] != 0).any(-1)
    tokens[rows, torch.from_numpy(sources)] += 1
    with torch.no_grad():
        moved = (model(tokens % model.shape.vocabulary, masks, wanted) != outputs).any(-1)
    return moved.numpy(), felt.numpy()


def carrying_path(masks: list[Tensor], source: int, position: int) -> tuple[int, ...]:
    """The positions through which input `source` reaches `position`: the input, then one after each layer.

    It stays where it is as long as it can, so that the step that the mask allows stands out.

    Args:
        masks: one `[length, length]` bool tensor a layer.
        source: the input position.
        position: the output position.

    Raises:
        ValueError: `source` does not reach `position`.
    """
    own = torch.eye(masks[0].shape[-1], dtype=torch.bool)
    reaches = [own[position]]  # which positions lead to `position` from after layer n on, last layer first
    for mask in reversed(masks):
        step = mask | own  # queries, keys
        reaches.append((step & reaches[-1][:, None]).any(0))
    reaches.reverse()  # entry n: the positions after n layers (0 = input) from which `position` is reached
    if not reaches[0][source]:
        raise ValueError(f"input {source} does not reach position {position}")
    path = [source]
    for mask, leads in zip(masks, reaches[1:], strict=True):
        here = path[-1]
        step = (mask[:, here] | own[:, here]) & leads
        path.append(here if step[here] else int(step.nonzero()[0, 0]))
    return tuple(path)


def scored_access_digest(mask: str, layers: int, examples: Examples) -> str:
    """A digest of what the scored positions of `examples` see under `mask`: equal digests, equal access.

    Args:
        mask: a mask of the study.
        layers: of the model.
        examples: usually the test split.

    Returns:
        Hexadecimal SHA-256.
    """
    digest = hashlib.sha256()
    for masks, rows in _same_shape(mask, layers, examples):
        seen = access(masks).numpy()
        positions = np.flatnonzero(examples.scored[rows, : len(seen)].any(0))
        header = [len(seen), examples.condition_lengths[rows[0]], len(positions), *positions]
        digest.update(np.array(header, dtype=np.int64).tobytes())
        digest.update(np.packbits(seen[positions]).tobytes())
    return digest.hexdigest()


def access_grid(mask: str, layers: int, length: int, condition_length: int = 0) -> dict[str, object]:
    """The masks of the layers and the access after all of them at a length that fits a figure, as 0 / 1 lists.

    `look_ahead` says how many tokens after its own position any position sees.
    """
    masks = _plain_masks(mask, layers, length, condition_length)
    return {
        "length": length,
        "layers": [layer_mask.int().tolist() for layer_mask in masks],
        "access": access(masks).int().tolist(),
        "look_ahead": look_ahead(access(masks)),
    }


def look_ahead(seen: Tensor) -> int:
    """The most tokens after its own position that any position sees.

    Two layers that look ahead by 1 each carry a token from 2 ahead, though no mask admits it:

        >>> one_ahead = torch.ones(4, 4, dtype=torch.bool).tril(1)
        >>> look_ahead(access([one_ahead])), look_ahead(access([one_ahead, one_ahead]))
        (1, 2)

    Args:
        seen: `[length, length]` bool, the access after all layers.
    """
    queries, keys = seen.nonzero(as_tuple=True)
    return int((keys - queries).max())


def _answers(mask: str, layers: int, examples: Examples) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """`[examples, length]` each: scored and its answer stands in the input; and the access holds that answer."""
    answered = examples.scored & (examples.target_positions != NOWHERE)
    seen = np.zeros_like(answered)
    for masks, rows in _same_shape(mask, layers, examples):
        reached = access(masks).numpy()  # length, length
        length = len(reached)
        standing = np.where(answered, examples.target_positions, 0)[rows, :length].astype(np.int64)
        seen[rows, :length] = answered[rows, :length] & reached[np.arange(length), standing]
    return answered, seen


def _same_shape(mask: str, layers: int, examples: Examples) -> Iterator[tuple[list[Tensor], NDArray[np.int64]]]:
    """The masks, without padding, of each (length, condition length) that occurs, and the examples that have it."""
    shapes = np.stack([examples.lengths, examples.condition_lengths], axis=1)
    for length, condition_length in np.unique(shapes, axis=0):
        rows = np.flatnonzero((shapes == (length, condition_length)).all(1))
        yield _plain_masks(mask, layers, int(length), int(condition_length)), rows


def _plain_masks(mask: str, layers: int, length: int, condition_length: int) -> list[Tensor]:
    """One `[length, length]` mask a layer, for a single example without padding."""
    condition_lengths = torch.tensor([condition_length]) if condition_length else None
    masks = layer_masks(mask, layers, length, condition_lengths=condition_lengths)
    return [layer_mask.reshape(length, length) for layer_mask in masks]
