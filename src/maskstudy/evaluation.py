"""What a trained model says at the scored positions."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskstudy.masks import layer_masks
from maskstudy.model import Transformer
from maskstudy.tasks.task import Examples

BATCH = 128  # examples at a time: more do not go faster, and memory stays small


def model_input(mask: str, layers: int, examples: Examples) -> tuple[Tensor, list[Tensor], Tensor]:
    """Tokens, the masks of all layers, and which positions are scored.

    Positions that are padding in every example are cut off. Padding that remains is hidden by the masks.

    Returns:
        `[batch, length]` int64, one bool mask a layer, `[batch, length]` bool.
    """
    longest = int(examples.lengths.max())
    padded = (examples.lengths < longest).any()
    masks = layer_masks(
        mask,
        layers,
        longest,
        lengths=torch.from_numpy(examples.lengths) if padded else None,
        condition_lengths=torch.from_numpy(examples.condition_lengths) if examples.condition_lengths.any() else None,
    )
    tokens = torch.from_numpy(examples.tokens[:, :longest].astype(np.int64))
    return tokens, masks, torch.from_numpy(examples.scored[:, :longest])


@torch.inference_mode()
def log_probabilities(model: Transformer, mask: str, examples: Examples) -> NDArray[np.float32]:
    """Log-probabilities of the answers at every scored position, under the mask.

    Args:
        model: put into evaluation mode, so that dropout is off.
        mask: a mask of the study, not necessarily the one that the model was trained with.
        examples: the split to answer.

    Returns:
        `[scored positions, answers]` natural logarithms, in row-major order of the examples.
    """
    model.eval()
    parts = []
    for start in range(0, len(examples), BATCH):
        tokens, masks, scored = model_input(mask, model.shape.layers, examples[start : start + BATCH])
        parts.append(model(tokens, masks, scored).log_softmax(-1).numpy())
    return np.concatenate(parts)
