"""What a trained model says at the scored positions."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskstudy.encoder_decoder import EncoderDecoder
from maskstudy.errors import StudyError
from maskstudy.masks import EncoderDecoderMasks, encoder_decoder_masks, layer_masks, named
from maskstudy.model import Transformer
from maskstudy.shape import ModelShape
from maskstudy.tasks.task import Examples

Model = Transformer | EncoderDecoder
Masks = list[Tensor] | EncoderDecoderMasks

BATCH = 128  # examples at a time: more do not go faster, and memory stays small


def build_model(mask: str, shape: ModelShape) -> Model:
    """The model that a mask belongs to, its weights drawn from the current torch seed.

    Args:
        mask: a mask of the study.
        shape: of the transformer for every mask; an encoder–decoder has as many parameters.

    Raises:
        StudyError: there is no such mask, or too few layers for an encoder and a decoder.
    """
    return EncoderDecoder(shape) if named(mask).has_encoder else Transformer(shape)


def model_input(
    mask: str, layers: int, examples: Examples, device: torch.device | None = None
) -> tuple[Tensor, Masks, Tensor]:
    """Tokens, the masks of all layers, and which positions are scored: the arguments of a model.

    Positions that are padding in every example are cut off. Padding that remains is hidden by the masks.

    Args:
        mask: a mask of the study.
        layers: how many layers the model has.
        examples: the batch.
        device: where the model is; None for the processor.

    Returns:
        `[batch, length]` int64, one bool mask a layer (or those of an encoder–decoder), `[batch, length]` bool.

    Raises:
        StudyError: an encoder is asked for where an example has no condition, or an answer is scored in it.
    """
    longest = int(examples.lengths.max())
    tokens = torch.from_numpy(examples.tokens[:, :longest].astype(np.int64)).to(device)
    scored = torch.from_numpy(examples.scored[:, :longest]).to(device)
    if named(mask).has_encoder:
        return tokens, _encoder_decoder_masks(mask, examples, device), scored
    padded = (examples.lengths < longest).any()
    masks = layer_masks(
        mask,
        layers,
        longest,
        lengths=torch.from_numpy(examples.lengths).to(device) if padded else None,
        condition_lengths=torch.from_numpy(examples.condition_lengths).to(device)
        if examples.condition_lengths.any()
        else None,
        device=device,
    )
    return tokens, masks, scored


def _encoder_decoder_masks(mask: str, examples: Examples, device: torch.device | None) -> EncoderDecoderMasks:
    """The condition of an example is the source, what follows it the target."""
    sources = examples.condition_lengths[:, None]
    if not sources.all():
        raise StudyError(f"mask {mask}: an example has no condition to encode; choose another mask for the task")
    if (examples.scored & (np.arange(examples.tokens.shape[1]) < sources)).any():
        raise StudyError(f"mask {mask}: an answer is scored in the condition, which has none; choose another mask")
    targets = examples.lengths[:, None] - sources
    keys = (torch.from_numpy(np.arange(ends.max()) < ends).to(device) for ends in (sources, targets))
    return encoder_decoder_masks(*keys)


@torch.inference_mode()
def log_probabilities(model: Model, mask: str, examples: Examples) -> NDArray[np.float32]:
    """Log-probabilities of the answers at every scored position, under the mask.

    Args:
        model: put into evaluation mode, so that dropout is off; wherever it is.
        mask: a mask of the study, not necessarily the one that the model was trained with.
        examples: the split to answer.

    Returns:
        `[scored positions, answers]` natural logarithms, in row-major order of the examples.
    """
    model.eval()
    device = model.answer.weight.device
    parts = []
    for start in range(0, len(examples), BATCH):
        tokens, masks, scored = model_input(mask, model.shape.layers, examples[start : start + BATCH], device)
        parts.append(model(tokens, masks, scored).log_softmax(-1).cpu().numpy())
    return np.concatenate(parts)
