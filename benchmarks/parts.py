"""What the parts of a training step cost, and what others in their place would.

Batch 64 × 64 tokens, width 64, 2 layers, 4 heads, 15 % of the positions scored: about the models of the default study.
Each row changes one part of the study's own step.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.effort import Effort
from benchmarks.own import Step, prepare_process
from benchmarks.tables import Table
from benchmarks.timing import alternating, ratio, spread, timed
from maskstudy.masks import layer_masks
from maskstudy.model import Block, Transformer
from maskstudy.optimizer import MuonWithAdamW
from maskstudy.shape import ModelShape

BATCH, LENGTH, ANSWERS, SCORED = 64, 64, 256, 0.15
OWN = "the study's own"


def measure(effort: Effort) -> list[Table]:
    """Milliseconds a step, and the ratio to the study's own in the same rounds."""
    prepare_process()
    measures = {name: timed(make()) for name, make in VARIANTS.items()}
    seconds = alternating(measures, effort.rounds_or(40), effort.warmup)
    rows = {
        name: {"ms": spread([1000 * second for second in taken]), "÷ own": ratio(taken, seconds[OWN])}
        for name, taken in seconds.items()
    }
    return [Table("parts of a step", rows)]


def step(
    positions: str = "rotary",
    change: Callable[[Transformer], None] = lambda _: None,
    optimizer: Callable[[Transformer], Step] | None = None,
    mask: str = "causal",
    padded: bool = False,
    only_scored: bool = True,
) -> Step:
    """One training step of a changed model."""
    torch.manual_seed(0)
    model = Transformer(ModelShape(ANSWERS + 2, ANSWERS, LENGTH, positions=positions))
    change(model)
    update = optimizer(model) if optimizer else muon(model)
    tokens = torch.randint(0, ANSWERS, (BATCH, LENGTH))
    scored = torch.rand(BATCH, LENGTH) < SCORED
    masks = layer_masks(mask, 2, LENGTH, lengths=torch.full((BATCH,), LENGTH) if padded else None)

    def run() -> None:
        logits = model(tokens, masks, scored) if only_scored else model(tokens, masks)[scored]
        F.cross_entropy(logits, tokens[scored]).backward()
        update()

    return run


def muon(model: Transformer) -> Step:
    """The study's optimiser."""
    optimizer = MuonWithAdamW(model, 0.02, 0.003, 0.01)
    return lambda: optimizer.step(1.0)


def library(make: Callable[[Transformer], list[torch.optim.Optimizer]]) -> Callable[[Transformer], Step]:
    """Optimisers of PyTorch."""

    def build(model: Transformer) -> Step:
        optimizers = make(model)

        def update() -> None:
            for optimizer in optimizers:
                optimizer.step()
            model.zero_grad(set_to_none=True)

        return update

    return build


def torch_muon(model: Transformer) -> list[torch.optim.Optimizer]:
    """`torch.optim.Muon` for the same matrices, AdamW for the rest."""
    matrices = [p for name, p in model.named_parameters() if "blocks." in name and p.dim() == 2]
    others = [p for name, p in model.named_parameters() if not ("blocks." in name and p.dim() == 2)]
    return [torch.optim.Muon(matrices, lr=0.02), torch.optim.AdamW(others, lr=0.003, fused=True)]


def norms(make: Callable[[], nn.Module]) -> Callable[[Transformer], None]:
    """Another normalisation everywhere."""

    def change(model: Transformer) -> None:
        model.final_norm = make()
        for block in model.blocks:
            block.attention_norm, block.network_norm = make(), make()

    return change


def activation(function: Callable[[Tensor], Tensor]) -> Callable[[Transformer], None]:
    """Another activation in the position-wise network."""

    class Changed(Block):
        def forward(self, stream: Tensor, *rest: Any) -> Tensor:
            stream = stream + self.attention(self.attention_norm(stream), *rest)
            return stream + self.contract(function(self.expand(self.network_norm(stream))))

    def change(model: Transformer) -> None:
        for block in model.blocks:
            block.__class__ = Changed

    return change


VARIANTS: dict[str, Callable[[], Step]] = {
    OWN: step,
    "positions: learned": lambda: step(positions="learned"),
    "positions: none": lambda: step(positions="none"),
    "norm: RMSNorm": lambda: step(change=norms(lambda: nn.RMSNorm(64))),
    "norm: none": lambda: step(change=norms(nn.Identity)),
    "activation: ReLU": lambda: step(change=activation(F.relu)),
    "activation: GELU": lambda: step(change=activation(F.gelu)),
    "activation: GELU (tanh)": lambda: step(change=activation(lambda x: F.gelu(x, approximate="tanh"))),
    "logits at every position": lambda: step(only_scored=False),
    "mask: full": lambda: step(mask="full"),
    "mask: causal with padding": lambda: step(padded=True),
    "optimiser: AdamW": lambda: step(
        optimizer=library(lambda model: [torch.optim.AdamW(model.parameters(), lr=0.003)])
    ),
    "optimiser: AdamW, fused": lambda: step(
        optimizer=library(lambda model: [torch.optim.AdamW(model.parameters(), lr=0.003, fused=True)])
    ),
    "optimiser: torch.optim.Muon": lambda: step(optimizer=library(torch_muon)),
}
