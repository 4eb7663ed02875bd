"""Muon for the matrices of the blocks, AdamW for everything else.

Muon replaces the momentum of a weight matrix by the nearest matrix whose singular values are all about 1 (Jordan et al.
2024, "Muon: An optimizer for hidden layers in neural networks"). On this study's tasks it reaches AdamW's loss in about
half the steps; docs/performance.md has the numbers. `torch.optim.Muon` does the same in bfloat16 and one matrix at a
time, which many CPUs do slowly; here all matrices of a shape are one float32 product.
"""

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw

# Coefficients of the quintic iteration, and how often it is applied (Jordan et al. 2024, "Newton–Schulz iteration").
_LINEAR, _CUBIC, _QUINTIC = 3.4445, -4.7750, 2.0315
_ITERATIONS = 5


def orthogonalised(matrices: Tensor) -> Tensor:
    """Push all singular values towards 1, keeping the singular vectors: `[n, rows, columns]` -> the same.

    Values of at least 1 % of the matrix's norm end between 0.68 and 1.14, which is near enough for a step.
    """
    tall = matrices.shape[-2] > matrices.shape[-1]
    wide = matrices.mT if tall else matrices
    wide = wide / (wide.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(_ITERATIONS):
        square = wide @ wide.mT
        wide = _LINEAR * wide + (_CUBIC * square + _QUINTIC * square @ square) @ wide
    return wide.mT if tall else wide


class Muon:
    """Muon for a group of matrices, those of one shape in one product."""

    def __init__(self, parameters: Sequence[nn.Parameter], momentum: float = 0.95) -> None:
        """Sort the matrices by shape."""
        self.momentum = momentum
        self.by_shape: dict[tuple[int, ...], list[nn.Parameter]] = {}
        for parameter in parameters:
            self.by_shape.setdefault(tuple(parameter.shape), []).append(parameter)
        self.velocities = {
            shape: torch.zeros(len(group), *shape, device=group[0].device) for shape, group in self.by_shape.items()
        }

    @torch.no_grad()
    def step(self, learning_rate: float, weight_decay: float) -> None:
        """One step with Nesterov momentum; a tall matrix moves √(rows / columns) times as far (Jordan et al. 2024)."""
        for shape, group in self.by_shape.items():
            gradients = torch.stack([cast(Tensor, parameter.grad) for parameter in group])  # n, rows, columns
            velocity = self.velocities[shape].lerp_(gradients, 1 - self.momentum)
            direction = orthogonalised(gradients.lerp(velocity, self.momentum))
            scale = learning_rate * max(1.0, shape[0] / shape[1]) ** 0.5
            for parameter, change in zip(group, direction, strict=True):
                parameter.mul_(1 - learning_rate * weight_decay).add_(change, alpha=-scale)


class AdamW:
    """AdamW for a group of parameters (Loshchilov & Hutter 2019, "Decoupled Weight Decay Regularization", algorithm 2).

    The fused step of `torch.optim.AdamW`, whose class would load PyTorch's compiler: a second and more of every run.
    """

    def __init__(self, parameters: Sequence[nn.Parameter], weight_decay: float) -> None:
        """Start with averages of 0."""
        self.parameters = list(parameters)
        self.weight_decay = weight_decay
        self.averages = [torch.zeros_like(parameter) for parameter in parameters]
        self.squares = [torch.zeros_like(parameter) for parameter in parameters]
        self.steps = [torch.zeros((), device=parameter.device) for parameter in parameters]

    @torch.no_grad()
    def step(self, learning_rate: float) -> None:
        """One step; every parameter has a gradient."""
        adamw(
            cast(list[Tensor], self.parameters),
            [cast(Tensor, parameter.grad) for parameter in self.parameters],
            self.averages,
            self.squares,
            [],
            self.steps,
            fused=True,
            amsgrad=False,
            beta1=0.9,
            beta2=0.95,
            lr=learning_rate,
            weight_decay=self.weight_decay,
            eps=1e-8,
            maximize=False,
        )


class MuonWithAdamW:
    """The optimiser of the study: Muon for matrices inside blocks, AdamW for embeddings, positions, norms, answers."""

    def __init__(self, model: nn.Module, learning_rate: float, adamw_learning_rate: float, weight_decay: float) -> None:
        """Take the parameters named `blocks.*` with two dimensions for Muon, all others for AdamW."""
        self.learning_rate = learning_rate
        self.adamw_learning_rate = adamw_learning_rate
        self.weight_decay = weight_decay
        self.model = model
        inside = {name for name, parameter in model.named_parameters() if "blocks." in name and parameter.dim() == 2}
        named = dict(model.named_parameters())
        self.muon = Muon([named[name] for name in named if name in inside])
        self.adamw = AdamW([named[name] for name in named if name not in inside], weight_decay)

    def step(self, factor: float) -> None:
        """One step at `factor` times the peak learning rates; the gradients are cleared afterwards."""
        self.adamw.step(self.adamw_learning_rate * factor)
        self.muon.step(self.learning_rate * factor, self.weight_decay)
        self.model.zero_grad(set_to_none=True)
