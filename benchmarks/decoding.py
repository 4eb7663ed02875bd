"""Greedy decoding of the study's model beside `generate` of GPT-2 (transformers), over the number of tokens written.

Both models have the shape of `step`, but positions for the longest text, and both write on from one token. Milliseconds
a token that stay the same mean that time is linear in length.
"""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.effort import Effort
from benchmarks.peers import HOW_TO_INSTALL, gpt2
from benchmarks.step import SHAPE, SMALLEST
from benchmarks.tables import Table
from benchmarks.timing import alternating, ratio, spread, timed
from maskstudy.generation import continuations, likeliest
from maskstudy.model import Transformer
from maskstudy.shape import ModelShape

LENGTHS = (16, 64, 256, 512)
BATCHES = (1, 8)
MOST_RECOMPUTED = 2048  # tokens written: recomputing more takes minutes
CACHED, RECOMPUTED, GENERATE = "maskstudy, cached", "maskstudy, recomputed", "generate (transformers)"

Decoder = Callable[[NDArray[np.int16], int], object]  # prompts [texts, prompt], how many tokens to write


def own_decoders(shape: ModelShape) -> Mapping[str, Decoder]:
    """The ways in which the study's model writes, by name.

    Under `causal` the study decodes with a cache. Under `full` it computes everything anew at every step, for there a
    token that joins changes what those before it see; the products are the same as a causal model's would be.
    """
    torch.manual_seed(0)
    model = Transformer(shape)

    def under(mask: str) -> Decoder:
        return lambda prompts, steps: continuations(model, mask, prompts, steps, likeliest)

    return {CACHED: under("causal"), RECOMPUTED: under("full")}


def peer_decoder(shape: ModelShape) -> Decoder:
    """`generate` with its cache, greedy, as many tokens as it is told."""
    torch.manual_seed(0)
    model = gpt2(shape)[0].eval()

    def decode(prompts: NDArray[np.int16], steps: int) -> object:
        tokens = torch.from_numpy(prompts.astype(np.int64))
        return model.generate(
            tokens,
            attention_mask=torch.ones_like(tokens),
            max_new_tokens=steps,
            do_sample=False,
            eos_token_id=None,
            pad_token_id=0,
        )

    return decode


def measure(effort: Effort) -> list[Table]:
    """One table a batch size."""
    lengths = (4,) if effort.smallest else LENGTHS
    small = SMALLEST if effort.smallest else SHAPE
    shape = ModelShape(**{**vars(small), "length": max(lengths) + 2})
    decoders, notes = dict(own_decoders(shape)), []
    try:
        decoders[GENERATE] = peer_decoder(shape)
    except ModuleNotFoundError as error:
        notes.append(f"{GENERATE}: {error.name} is not installed; {HOW_TO_INSTALL}")
    return [_table(batch, lengths, decoders, effort, notes) for batch in BATCHES]


def _table(
    batch: int, lengths: tuple[int, ...], decoders: Mapping[str, Decoder], effort: Effort, notes: list[str]
) -> Table:
    prompts = np.ones((batch, 1), dtype=np.int16)
    rows = {}
    for length in lengths:
        timers = {
            name: timed(lambda decode=decode, length=length: decode(prompts, length))
            for name, decode in decoders.items()
            if name != RECOMPUTED or batch * length <= MOST_RECOMPUTED
        }
        seconds = alternating(timers, effort.rounds_or(5), effort.warmup)
        for name, taken in seconds.items():
            rows[f"{length} tokens: {name}"] = {
                "ms a step": spread([1000 * second / length for second in taken]),
                "tokens/s": spread([batch * length / second for second in taken]),
                **{f"speed ÷ {other}": ratio(seconds[other], taken) for other in seconds if other != name},
            }
    return Table(f"decoding, batch {batch}", rows, notes)
