"""A whole training step beside that of other libraries, and beside its matrix products alone.

Everything has the same shape: width 128, 4 layers, 4 heads, 12 examples of 64 tokens, bytes, logits at every position,
no dropout, one thread; each runs in a process of its own, in turn. The peers take PyTorch's fused AdamW with the
gradient clipped to norm 1, the study's own training what `maskstudy train` takes. The share of the peak is the time of
the step's matrix products, run alone, divided by the time of the step; the products are those of the study's model for
all.
"""

from functools import partial

import torch

from benchmarks.effort import Effort
from benchmarks.own import adamw_step, prepare_process, random_batch, training_seconds
from benchmarks.peers import HOW_TO_INSTALL, PEERS
from benchmarks.processes import taking_turns
from benchmarks.products import training_products
from benchmarks.tables import Table
from benchmarks.timing import Measure, alternating, rates, ratio, spread, timed
from maskstudy.masks import layer_masks
from maskstudy.model import Transformer
from maskstudy.shape import ModelShape

SHAPE = ModelShape(vocabulary=257, answers=257, length=64, width=128, layers=4, heads=4, positions="rotary")
SMALLEST = ModelShape(vocabulary=257, answers=257, length=8, width=16, layers=1, heads=2, positions="rotary")
BATCH = 12
OWN, OWN_ADAMW, PRODUCTS = "maskstudy train", "maskstudy's model, AdamW", "matrix products alone"


def measure(effort: Effort) -> list[Table]:
    """Tokens a second, the ratio to each peer's, and the share of the peak."""
    shape = SMALLEST if effort.smallest else SHAPE
    makers = {
        OWN: partial(_training, shape),
        PRODUCTS: partial(_products, shape),
        OWN_ADAMW: partial(_own_adamw, shape),
        **{name: partial(_peer, shape, name) for name in PEERS},
    }
    with taking_turns(makers) as started:
        measures = {name: value for name, value in started.items() if not isinstance(value, ModuleNotFoundError)}
        seconds = alternating(measures, effort.rounds_or(30), effort.warmup)
    notes = [
        f"{name}: {error.name} is not installed; {HOW_TO_INSTALL}"
        for name, error in started.items()
        if isinstance(error, ModuleNotFoundError)
    ]
    _, flops = training_products(shape, BATCH)
    rows = {
        name: {
            "ms": spread([1000 * second for second in taken]),
            "tokens/s": rates(BATCH * shape.length, taken),
            "GFLOP/s": rates(flops / 1e9, taken),
            "share of peak": ratio(seconds[PRODUCTS], taken),
            f"speed of {OWN} ÷ this": ratio(taken, seconds[OWN]),
            f"speed of {OWN_ADAMW} ÷ this": ratio(taken, seconds[OWN_ADAMW]),
        }
        for name, taken in seconds.items()
    }
    return [Table("training step", rows, notes)]


def _training(shape: ModelShape) -> Measure:
    prepare_process()
    return lambda: training_seconds(shape, "causal", BATCH, steps=4)


def _products(shape: ModelShape) -> Measure:
    return timed(training_products(shape, BATCH)[0])


def _own_adamw(shape: ModelShape) -> Measure:
    prepare_process()
    model, masks = Transformer(shape), layer_masks("causal", shape.layers, shape.length)
    return timed(adamw_step(model, lambda tokens: model(tokens, masks), *random_batch(shape, BATCH)))


def _peer(shape: ModelShape, name: str) -> Measure:
    torch.manual_seed(0)
    model, logits = PEERS[name](shape)
    return timed(adamw_step(model, logits, *random_batch(shape, BATCH)))
