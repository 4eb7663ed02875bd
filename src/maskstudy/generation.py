"""Free-running text: what a trained model writes when each token that it answers is fed back to it.

A model under the causal mask stands at the newest position as it stood at every position in training. A control, which
was trained with the next token in sight, now stands where there is none: it has learned to copy, and has nothing to
copy. The loss that it reached says nothing about this text, which is why both are shown.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from maskstudy.cache import KeyValueCache
from maskstudy.encoder_decoder import EncoderDecoder, Source
from maskstudy.errors import StudyError
from maskstudy.evaluation import Model
from maskstudy.masks import each_once, encoder_decoder_masks, is_settled, layer_masks
from maskstudy.model import Transformer
from maskstudy.randomness import categories
from maskstudy.tasks.task import NOT_SCORED, NOWHERE, Examples, next_tokens

Choice = Callable[[NDArray[np.float64]], NDArray[np.int16]]


def likeliest(probabilities: NDArray[np.float64]) -> NDArray[np.int16]:
    """Greedy: the likeliest token of every row, the first of equals."""
    return probabilities.argmax(-1).astype(np.int16)


def drawn(generator: np.random.Generator) -> Choice:
    """Sampling: a token of every row, as likely as the model says."""
    return lambda probabilities: categories(probabilities, generator)


@torch.inference_mode()
def continuations(
    model: Model,
    mask: str,
    prompts: NDArray[np.int16],
    steps: int,
    choose: Choice,
    *,
    real: NDArray[np.bool_] | None = None,
    condition_lengths: NDArray[np.int32] | None = None,
    end: int | None = None,
) -> NDArray[np.int16]:
    """Let a model write on, token by token.

    At each step a transformer reads the newest tokens, all but one of those it was built for (the last position of an
    example is never scored, so that no answer there was trained), under its mask, and its answer at the newest
    position is written down. An encoder–decoder reads its source once.

    Args:
        model: put into evaluation mode; its answers are tokens.
        mask: usually the one that it was trained with.
        prompts: `[texts, prompt]`, at least one real token each; at least one after the condition, if an encoder reads
            that.
        steps: how many tokens to write.
        choose: `likeliest`, or `drawn(generator)`; gets probabilities `[texts, answers]`.
        real: `[texts, prompt]` bool, False where a prompt is padded, wherever that is; None where none is.
        condition_lengths: `[texts]`, real tokens of the condition, which a text begins with; None where there is none.
        end: the token that ends a text; None where texts have no end.

    Returns:
        `[texts, steps]`; after a text's `end` it goes on with `end`.

    Raises:
        StudyError: an encoder–decoder gets no condition, nothing after it, or has no room for so many steps.
    """
    reader = _reader(model, mask, prompts, steps, real, condition_lengths)
    start = prompts.shape[1]
    ended = torch.zeros(len(prompts), dtype=torch.bool)
    for place in range(start, start + steps):
        chosen = torch.from_numpy(choose(reader.logits(place).double().softmax(-1).numpy()))
        reader.tokens[:, place] = chosen
        if end is not None:
            reader.tokens[ended, place] = end
            ended |= chosen == end
            if ended.all():
                reader.tokens[:, place + 1 :] = end
                break
    return reader.tokens[:, start:].numpy().astype(np.int16)


class Found(NamedTuple):
    """The likeliest text that a search has found for each prompt."""

    tokens: NDArray[np.int16]  # texts, steps
    log_probabilities: NDArray[np.float64]  # texts: of the whole text, its end included


@torch.inference_mode()
def beam_search(
    model: Model,
    mask: str,
    prompts: NDArray[np.int16],
    steps: int,
    width: int,
    end: int,
    *,
    real: NDArray[np.bool_] | None = None,
    condition_lengths: NDArray[np.int32] | None = None,
) -> Found:
    """Look for the likeliest text: at each step, go on with the `width` likeliest beginnings of each.

    A beginning that has ended keeps its place and its probability. Others only lose by going on, so the search is over
    as soon as the likeliest of every prompt has ended. Probabilities are not divided by lengths. With a width of 1 it
    is greedy choice.

    Args:
        model: as for `continuations`, and so the others.
        mask: as there.
        prompts: as there.
        steps: most tokens of a text.
        width: how many beginnings to keep.
        end: the token that ends a text.
        real: as there.
        condition_lengths: as there.

    Returns:
        The likeliest text of each prompt among those that were kept; after its `end` it goes on with `end`.

    Raises:
        StudyError: as `continuations`.
    """
    reader = _reader(model, mask, prompts, steps, real, condition_lengths)
    texts, start = len(prompts), prompts.shape[1]
    scores = torch.zeros(texts, 1, dtype=torch.float64)  # texts, beginnings
    ended = torch.zeros(texts, 1, dtype=torch.bool)
    for place in range(start, start + steps):
        following = reader.logits(place).double().log_softmax(-1).unflatten(0, (texts, -1))
        answers = following.shape[-1]  # texts, beginnings, answers
        nothing_more = torch.full((answers,), -torch.inf, dtype=torch.float64)
        nothing_more[end] = 0.0
        candidates = (scores[..., None] + torch.where(ended[..., None], nothing_more, following)).flatten(1)
        scores, order = (kept[:, :width] for kept in candidates.sort(dim=1, descending=True, stable=True))
        parents, chosen = order // answers, order % answers  # texts, beginnings
        rows = parents + torch.arange(texts)[:, None] * ended.shape[1]
        reader.select(rows.flatten())
        reader.tokens[:, place] = chosen.flatten()
        ended = ended.gather(1, parents) | (chosen == end)
        if ended[:, 0].all():
            reader.tokens[:, place + 1 :] = end
            break
    best = torch.arange(texts) * ended.shape[1]  # the first of each text is the likeliest
    return Found(reader.tokens[best, start:].numpy().astype(np.int16), scores[:, 0].numpy())


@torch.inference_mode()
def stepwise_log_probabilities(
    model: Model,
    mask: str,
    prompts: NDArray[np.int16],
    following: NDArray[np.int16],
    *,
    real: NDArray[np.bool_] | None = None,
    condition_lengths: NDArray[np.int32] | None = None,
) -> NDArray[np.float64]:
    """What a model says token by token, as it does when it writes, when it is given each token that follows.

    Args:
        model: as for `continuations`, and so the others.
        mask: as there.
        prompts: as there.
        following: `[texts, steps]`, the tokens that are given.
        real: as there.
        condition_lengths: as there.

    Returns:
        `[texts, steps, answers]` natural logarithms; the first of each before any token of `following` is given.

    Raises:
        StudyError: as `continuations`.
    """
    start, steps = prompts.shape[1], following.shape[1]
    reader = _reader(model, mask, prompts, steps, real, condition_lengths)
    reader.tokens[:, start:] = torch.from_numpy(following.astype(np.int64))
    said = [reader.logits(place).double().log_softmax(-1) for place in range(start, start + steps)]
    return torch.stack(said, dim=1).numpy()


class _Reader(Protocol):
    """A model that reads texts while they grow, and goes on with some of them."""

    tokens: Tensor  # texts, all tokens: those that are there already, all padding to their left, and room for more

    def logits(self, place: int) -> Tensor:
        """The answers `[texts, answers]` at the position before `place`, the newest."""
        ...

    def select(self, rows: Tensor) -> None:
        """Go on with the texts at `rows`, which may name a text twice or not at all."""
        ...


def _reader(
    model: Model,
    mask: str,
    prompts: NDArray[np.int16],
    steps: int,
    real: NDArray[np.bool_] | None,
    condition_lengths: NDArray[np.int32] | None,
) -> _Reader:
    """The reader of a model, with the prompts in it and room for `steps` tokens more."""
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
    if isinstance(model, EncoderDecoder):
        return _EncoderDecoderReader(model, tokens, start, keys, conditions)
    return _TransformerReader(model, mask, tokens, start, keys, conditions)


class _TransformerReader:
    """A transformer that reads texts while they grow.

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
            masks = each_once(lambda mask: mask[..., begin:place, :place], self.masks)
            places = self._places(0, place, begin)
            return self.model(self.tokens[:, begin:place], masks, places=places, cache=self.cache)[:, -1]
        begin = max(0, place - self.most)
        masks = self._masks(begin, place)
        return self.model(self.tokens[:, begin:place], masks, places=self._places(begin, place, begin))[:, -1]

    def select(self, rows: Tensor) -> None:
        """Go on with the texts at `rows`, which may name a text twice or not at all."""
        texts = len(self.tokens)
        self.tokens = self.tokens[rows]
        self.keys = None if self.keys is None else self.keys[rows]
        self.conditions = None if self.conditions is None else self.conditions[rows]
        if self.cache is not None:
            self.cache.select(rows)
            self.masks = each_once(
                lambda mask: mask[rows] if mask.dim() == 4 and len(mask) == texts else mask, self.masks
            )

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
        return _places(self.keys[:, begin:end])[:, new - begin :]


class _EncoderDecoderReader:
    """An encoder–decoder that has read its sources once, and reads the targets while they grow, against a cache."""

    def __init__(
        self, model: EncoderDecoder, tokens: Tensor, start: int, keys: Tensor | None, conditions: Tensor | None
    ) -> None:
        """Read `tokens` `[texts, all tokens]`, the first `start` of which are there already."""
        if conditions is None or not conditions.all():
            raise StudyError("generation: an encoder–decoder needs a condition in every text")
        keys = torch.ones_like(tokens, dtype=torch.bool) if keys is None else keys
        ends = (~keys).sum(-1, keepdim=True) + conditions[:, None]  # texts, 1: of the condition
        before = torch.arange(tokens.shape[1]) < ends
        source, self.begin = slice(0, int(ends.max())), int(ends.min())  # the targets are read from `begin` on
        if source.stop >= start:
            raise StudyError("generation: an encoder–decoder needs a token after the condition in every text")
        if max(source.stop, tokens.shape[1] - self.begin) > model.shape.length:
            raise StudyError(f"generation: the model was built for at most {model.shape.length} tokens; write fewer")
        self.model, self.tokens = model, tokens
        source_keys, target_keys = (keys & before)[:, source], (keys & ~before)[:, self.begin :]
        masks = encoder_decoder_masks(source_keys, target_keys)
        self.target_mask, self.cross_mask = masks.target, masks.cross
        self.source = model.encode(tokens[:, source], masks.source, places=_places(source_keys))
        self.places = _places(target_keys)
        self.cache = model.new_cache(*target_keys.shape)

    def logits(self, place: int) -> Tensor:
        """The answers `[texts, answers]` at the position before `place`, the newest."""
        new = slice(self.cache.filled, place - self.begin)
        masks = self.target_mask[..., new, : new.stop], self.cross_mask
        tokens = self.tokens[:, self.begin :][:, new]
        return self.model.decode(tokens, self.source, masks, places=self.places[:, new], cache=self.cache)[:, -1]

    def select(self, rows: Tensor) -> None:
        """Go on with the texts at `rows`, which may name a text twice or not at all."""
        self.tokens, self.places = self.tokens[rows], self.places[rows]
        self.target_mask, self.cross_mask = self.target_mask[rows], self.cross_mask[rows]
        self.source = [Source(*(each[rows] for each in layer)) for layer in self.source]
        self.cache.select(rows)


def _places(keys: Tensor) -> Tensor:
    """The place of each token among the real ones; of padding, anything that is a place."""
    return (keys.cumsum(-1) - 1).clamp(min=0)


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
