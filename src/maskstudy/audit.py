"""Does any scored position see its own answer? Decided from the masks, before anything trains.

A *leak* is a scored position whose access holds the input token that *is* its target. Access is the product of the
layers' masks (`masks.access`), and a task says where its answers stand (`target_positions`).
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskstudy.masks import access, layer_masks
from maskstudy.tasks.task import NOWHERE, Examples


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


def find_leak(mask: str, layers: int, examples: Examples) -> Leak | None:
    """The first scored position of `examples` that sees its own answer under `mask`, or None.

    Args:
        mask: a mask of the study.
        layers: of the model.
        examples: any number, of any lengths.
    """
    for masks, rows in _same_shape(mask, layers, examples):
        seen = access(masks).numpy()  # length, length
        length = len(seen)
        standing = examples.target_positions[rows, :length].astype(np.int64)  # rows, length
        scored = examples.scored[rows, :length] & (standing != NOWHERE)
        leaking = scored & seen[np.arange(length), np.where(scored, standing, 0)]
        if leaking.any():
            row, position = np.argwhere(leaking)[0]
            target_position = int(standing[row, position])
            return Leak(int(position), target_position, carrying_path(masks, target_position, int(position)))
    return None


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
    """The masks of the layers and the access after all of them at a length that fits a figure, as 0 / 1 lists."""
    masks = _plain_masks(mask, layers, length, condition_length)
    return {
        "length": length,
        "layers": [layer_mask.int().tolist() for layer_mask in masks],
        "access": access(masks).int().tolist(),
    }


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
