"""Free-running text: what a trained model writes when each token that it answers is fed back to it.

A model under the causal mask stands at the newest position as it stood at every position in training. A control, which
was trained with the next token in sight, now stands where there is none: it has learned to copy, and has nothing to
copy. The loss that it reached says nothing about this text, which is why both are shown.
"""

import string
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from maskstudy.masks import layer_masks
from maskstudy.model import Transformer
from maskstudy.randomness import categories
from maskstudy.tasks.task import NOT_SCORED, NOWHERE, Examples, Task, next_tokens

Choice = Callable[[NDArray[np.float64]], NDArray[np.int16]]


def likeliest(probabilities: NDArray[np.float64]) -> NDArray[np.int16]:
    """Greedy: the likeliest token of every row, the first of equals."""
    return probabilities.argmax(-1).astype(np.int16)


def drawn(generator: np.random.Generator) -> Choice:
    """Sampling: a token of every row, as likely as the model says."""
    return lambda probabilities: categories(probabilities, generator)


@torch.inference_mode()
def continuations(
    model: Transformer, mask: str, prompts: NDArray[np.int16], steps: int, choose: Choice
) -> NDArray[np.int16]:
    """Let a model write on, token by token.

    At each step the model reads the newest tokens, all but one of those it was built for (the last position of an
    example is never scored, so that no answer there was trained), under its mask, and its answer at the newest
    position is written down. Everything is computed anew at each step: under any mask but causal, a token that joins
    changes what the tokens before it see.

    Args:
        model: put into evaluation mode; its answers are tokens.
        mask: usually the one that it was trained with.
        prompts: `[texts, prompt]`, at least one token each.
        steps: how many tokens to write.
        choose: `likeliest`, or `drawn(generator)`; gets probabilities `[texts, answers]`.

    Returns:
        `[texts, steps]`.
    """
    model.eval()
    start = prompts.shape[1]
    written = np.concatenate([prompts, np.zeros((len(prompts), steps), dtype=np.int16)], axis=1)  # texts, all tokens
    for place in range(start, start + steps):
        read = torch.from_numpy(written[:, max(0, place - (model.shape.length - 1)) : place].astype(np.int64))
        newest = torch.zeros(read.shape, dtype=torch.bool)
        newest[:, -1] = True
        logits = model(read, layer_masks(mask, model.shape.layers, read.shape[1]), newest)  # texts, answers
        written[:, place] = choose(logits.double().softmax(-1).numpy())
    return written[:, start:]


def scored_continuations(prompts: NDArray[np.int16], following: NDArray[np.int16]) -> Examples:
    """Texts as examples that score what follows the prompt, and nothing of the prompt itself.

    Args:
        prompts: `[texts, prompt]`, at least one token each.
        following: `[texts, steps]`.

    Returns:
        Examples of prompt + steps tokens; the first scored position is the last of the prompt.
    """
    tokens = np.concatenate([prompts, following], axis=1)
    lengths = np.full(len(tokens), tokens.shape[1], dtype=np.int32)
    targets, target_positions = next_tokens(tokens, lengths)
    targets[:, : prompts.shape[1] - 1] = NOT_SCORED
    target_positions[:, : prompts.shape[1] - 1] = NOWHERE
    return Examples(
        tokens=tokens,
        targets=targets,
        lengths=lengths,
        condition_lengths=np.zeros_like(lengths),
        target_positions=target_positions,
    )


def spelled(tokens: NDArray[np.int16], task: Task) -> str:
    """Tokens as text: the bytes of a text as its characters, others as letters, or as numbers where those run out.

    Bytes that are no UTF-8, or no byte at all, are escaped.
    """
    if task.dataset == "text":
        parts = [bytes([token]) if token < 256 else f"<{token}>".encode() for token in tokens.tolist()]
        return b"".join(parts).decode("utf-8", errors="backslashreplace")
    if task.vocabulary <= len(string.ascii_uppercase):
        return "".join(string.ascii_uppercase[token] for token in tokens.tolist())
    return " ".join(str(token) for token in tokens.tolist())
