"""Free-running text: what a trained model writes when each token that it answers is fed back to it.

A model under the causal mask stands at the newest position as it stood at every position in training. A control, which
was trained with the next token in sight, now stands where there is none: it has learned to copy, and has nothing to
copy. The loss that it reached says nothing about this text, which is why both are shown.
"""

import string
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from maskstudy.cache import KeyValueCache
from maskstudy.masks import is_settled, layer_masks
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
    model: Transformer,
    mask: str,
    prompts: NDArray[np.int16],
    steps: int,
    choose: Choice,
    *,
    real: NDArray[np.bool_] | None = None,
    condition_lengths: NDArray[np.int32] | None = None,
) -> NDArray[np.int16]:
    """Let a model write on, token by token.

    At each step the model reads the newest tokens, all but one of those it was built for (the last position of an
    example is never scored, so that no answer there was trained), under its mask, and its answer at the newest
    position is written down.

    Args:
        model: put into evaluation mode; its answers are tokens.
        mask: usually the one that it was trained with.
        prompts: `[texts, prompt]`, at least one real token each.
        steps: how many tokens to write.
        choose: `likeliest`, or `drawn(generator)`; gets probabilities `[texts, answers]`.
        real: `[texts, prompt]` bool, False where a prompt is padded, wherever that is; None where none is.
        condition_lengths: `[texts]`, real tokens of the condition, which a text begins with; None where there is none.

    Returns:
        `[texts, steps]`.
    """
    model.eval()
    start = prompts.shape[1]
    tokens = torch.zeros(len(prompts), start + steps, dtype=torch.int64)  # texts, all tokens
    tokens[:, :start] = torch.from_numpy(prompts.astype(np.int64))
    conditions = None if condition_lengths is None else torch.from_numpy(condition_lengths)
    keys = None
    if real is not None:
        keys = F.pad(torch.from_numpy(real), (0, steps), value=True)
        # All padding to the left, so that the newest tokens stand together and a look-ahead of one token is one.
        order = keys.int().argsort(dim=-1, stable=True)
        tokens, keys = tokens.gather(-1, order), keys.gather(-1, order)
    reader = _Reader(model, mask, tokens, start, keys, conditions)
    for place in range(start, start + steps):
        tokens[:, place] = torch.from_numpy(choose(reader.logits(place).double().softmax(-1).numpy()))
    return tokens[:, start:].numpy().astype(np.int16)


class _Reader:
    """A model that reads texts while they grow.

    As long as all of a text fits, and a token that joins changes nothing before it, a step computes the newest token
    alone, against a cache of those before. Otherwise everything is computed anew.
    """

    def __init__(
        self, model: Transformer, mask: str, tokens: Tensor, start: int, keys: Tensor | None, conditions: Tensor | None
    ) -> None:
        """Read `tokens` `[texts, all tokens]`, the first `start` of which are there already."""
        self.model, self.mask, self.tokens, self.keys, self.conditions = model, mask, tokens, keys, conditions
        self.most = model.shape.length - 1
        self.cache, fitting = None, min(tokens.shape[1], self.most)
        if start <= fitting:
            masks = self._masks(0, fitting)
            if is_settled(masks, start):
                self.masks = masks
                self.cache = KeyValueCache(model.shape, len(tokens), fitting, like=model.embedding.weight)

    def logits(self, place: int) -> Tensor:
        """The answers `[texts, answers]` at the position before `place`, the newest."""
        if self.cache is not None and place <= self.most:
            begin = self.cache.filled
            masks = [mask[..., begin:place, :place] for mask in self.masks]
            places = self._places(0, place, begin)
            return self.model(self.tokens[:, begin:place], masks, places=places, cache=self.cache)[:, -1]
        begin = max(0, place - self.most)
        masks = self._masks(begin, place)
        return self.model(self.tokens[:, begin:place], masks, places=self._places(begin, place, begin))[:, -1]

    def _masks(self, begin: int, end: int) -> list[Tensor]:
        """Of all layers, over the tokens from `begin` to `end`."""
        keys, conditions = None if self.keys is None else self.keys[:, begin:end], self.conditions
        if conditions is not None:
            padding = 0 if self.keys is None else (~self.keys).sum(-1)
            conditions = (conditions + padding - begin).clamp(min=0)
        return layer_masks(self.mask, self.model.shape.layers, end - begin, keys=keys, condition_lengths=conditions)

    def _places(self, begin: int, end: int, new: int) -> Tensor | None:
        """The places of the tokens from `new` to `end` in what is read, which starts at `begin`."""
        if self.keys is None:
            return None
        return (self.keys[:, begin:end].cumsum(-1) - 1).clamp(min=0)[:, new - begin :]


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
