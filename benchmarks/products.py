"""The matrix products of a training step and nothing else: what a step could cost at best on this machine."""

from collections.abc import Callable

import torch
from torch import Tensor

from maskstudy.shape import ModelShape

Product = tuple[Tensor, Tensor, Tensor]


def training_products(shape: ModelShape, batch: int) -> tuple[Callable[[], None], float]:
    """All products of one step, forward and both of the backward pass, at their sizes and in their memory layouts.

    The products of a matrix `x` (rows are tokens) with weights `w` are `x wᵀ`, `d w` and `dᵀ x`; those of attention are
    batched over examples and heads, masked cells included. Every layer has memory of its own, as in a model.

    Args:
        shape: of the model; logits are computed at every position.
        batch: examples a step, of `shape.length` tokens.

    Returns:
        A function that runs them once, and the number of floating-point operations, 2abc for a product of an `a × b`
        and a `b × c` matrix.
    """
    tokens, width, head_width = batch * shape.length, shape.width, shape.width // shape.heads
    generator = torch.Generator().manual_seed(0)

    def random(*size: int) -> Tensor:
        return torch.randn(*size, generator=generator)

    def linear(inputs: int, outputs: int) -> list[Product]:
        x, w, d = random(tokens, inputs), random(outputs, inputs), random(tokens, outputs)
        return [_product(x, w.mT), _product(d, w), _product(d.mT, x)]

    def attention() -> list[Product]:
        queries, keys, values, mixed = (random(batch * shape.heads, shape.length, head_width) for _ in range(4))
        weights, scores = (random(batch * shape.heads, shape.length, shape.length) for _ in range(2))
        forward = [_product(queries, keys.mT), _product(weights, values)]
        of_values = [_product(weights.mT, mixed), _product(mixed, values.mT)]
        return [*forward, *of_values, _product(scores, keys), _product(scores.mT, queries)]

    products: list[Product] = []
    for _ in range(shape.layers):
        products += linear(width, 3 * width)
        products += attention()
        products += linear(width, width)
        products += linear(width, 4 * width)
        products += linear(4 * width, width)
    products += linear(width, shape.answers)

    def run() -> None:
        for left, right, result in products:
            torch.matmul(left, right, out=result)

    return run, sum(2.0 * result.numel() * left.shape[-1] for left, _, result in products)


def _product(left: Tensor, right: Tensor) -> Product:
    return left, right, left @ right
