"""What the parts of a training step cost on this machine: `python benchmarks/block_parts.py`.

Every variant is timed in turn, one step each, round after round, in one process on one thread. The time is CPU time,
which other processes disturb less. The table gives the median over rounds and its ratio to the study's own choice in
the same rounds; docs/performance.md holds such a table.
"""

import argparse
import platform
import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from maskstudy.masks import layer_masks
from maskstudy.model import Block, Transformer
from maskstudy.optimizer import MuonWithAdamW
from maskstudy.shape import ModelShape

Step = Callable[[], None]
BATCH, LENGTH, ANSWERS, SCORED = 64, 64, 256, 0.15


def main() -> None:
    """Print one line a variant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    variants = {name: make() for name, make in VARIANTS.items()}
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(rounds):
        for name, step in variants.items():
            started = time.process_time()
            step()
            seconds[name].append(time.process_time() - started)
    print(f"{platform.processor() or platform.machine()}, torch {torch.__version__}, one thread, {rounds} rounds")
    print(f"batch {BATCH} × {LENGTH} tokens, width 64, 2 layers, 4 heads")
    print("\n| variant | ms a step | ratio |\n|---|---|---|")
    for name, taken in seconds.items():
        ratio = statistics.median(a / b for a, b in zip(taken, seconds["the study's own"], strict=True))
        print(f"| {name} | {1000 * statistics.median(taken):.1f} | {ratio:.2f} |")


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
        def forward(self, stream: Tensor, mask: Tensor, rotation: Tensor | None) -> Tensor:
            stream = stream + self.attention(self.attention_norm(stream), mask, rotation)
            return stream + self.contract(function(self.expand(self.network_norm(stream))))

    def change(model: Transformer) -> None:
        for block in model.blocks:
            block.__class__ = Changed

    return change


VARIANTS: dict[str, Callable[[], Step]] = {
    "the study's own": step,
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

if __name__ == "__main__":
    main()
