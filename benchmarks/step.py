"""A whole training step beside that of other libraries, and beside its matrix products alone.

Everything has the same shape: width 128, 4 layers, 4 heads, 12 examples of 64 tokens, bytes, logits at every position,
no dropout, one thread. The peers take AdamW (PyTorch's fused one) with the gradient clipped to norm 1, the study's own
training what `maskstudy train` takes. The share of the peak is the time of the step's matrix products, run alone,
divided by the time of the step; the products are those of the study's model for all.
"""

from benchmarks.effort import Effort
from benchmarks.own import adamw_step, random_batch, training_seconds
from benchmarks.peers import installed
from benchmarks.products import training_products
from benchmarks.tables import Table
from benchmarks.timing import alternating, rates, ratio, spread, timed
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
    tokens, targets = random_batch(shape, BATCH)
    products, flops = training_products(shape, BATCH)
    model, masks = Transformer(shape), layer_masks("causal", shape.layers, shape.length)
    peers, notes = installed(shape)
    steps = {OWN_ADAMW: adamw_step(model, lambda tokens: model(tokens, masks), tokens, targets)}
    steps |= {name: adamw_step(peer, logits, tokens, targets) for name, (peer, logits) in peers.items()}

    measures = {OWN: lambda: training_seconds(shape, "causal", BATCH, steps=2), PRODUCTS: timed(products)}
    measures |= {name: timed(step) for name, step in steps.items()}
    seconds = alternating(measures, effort.rounds_or(30))

    rows = {}
    for name, taken in seconds.items():
        rows[name] = {
            "ms": spread([1000 * second for second in taken]),
            "tokens/s": rates(tokens.numel(), taken),
            "GFLOP/s": rates(flops / 1e9, taken),
            "share of peak": ratio(seconds[PRODUCTS], taken),
            f"speed of {OWN} ÷ this": ratio(taken, seconds[OWN]),
            f"speed of {OWN_ADAMW} ÷ this": ratio(taken, seconds[OWN_ADAMW]),
        }
    del rows[PRODUCTS]["tokens/s"]
    return [Table("training step", rows, notes)]
