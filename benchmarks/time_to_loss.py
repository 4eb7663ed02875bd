"""The time that training takes to a validation loss on WikiText-2, beside GPT-2 of `transformers`.

Both predict every next byte of windows of 64, at the shape of `step`, one thread. GPT-2 takes 2000 steps of 12 windows
with AdamW at each of three peak rates; the lowest loss that it ends with is the target. The study's model takes Muon
with AdamW as `maskstudy train` does. It has as many rates to choose from, the declared ones of config.yaml among them,
and chooses by the loss after 500 steps; then come runs of more and more steps, each with a schedule of its own, and the
first that ends at or below the target counts. All rates rise linearly over the first 5 % of the steps and fall linearly
over the last 70 %. Seconds are CPU seconds of the training alone. The windows are those that the study made for
`next_byte`.
"""

import time
from collections.abc import Callable, Iterator

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from benchmarks.effort import Effort
from benchmarks.own import prepare_process
from benchmarks.peers import HOW_TO_INSTALL, gpt2
from benchmarks.step import BATCH, SHAPE, SMALLEST
from benchmarks.tables import Table
from benchmarks.timing import Spread
from maskstudy.data.examples import read_examples
from maskstudy.masks import layer_masks
from maskstudy.model import Transformer
from maskstudy.optimizer import MuonWithAdamW
from maskstudy.training_settings import TrainingSettings

PEER_STEPS = 2000
PEER_RATES = (0.001, 0.002, 0.004)
OWN_RATES = ((0.02, 0.003), (0.02, 0.012), (0.014, 0.012))  # of Muon and of AdamW
OWN_STEPS_TO_CHOOSE = 500
OWN_STEPS = (300, 350, 400, 450, 500, 550, 600, 700, 800)
VALIDATION_WINDOWS = 256

Windows = NDArray[np.int64]  # [windows, length + 1]
Logits = Callable[[Tensor], Tensor]  # tokens [batch, length] -> [batch, length, answers]
Update = Callable[[float], None]  # one step of an optimiser at this share of its peak rates


def measure(effort: Effort) -> list[Table]:
    """Loss and seconds of every run, and the ratio of the two that count."""
    shape, batch = (SMALLEST, 2) if effort.smallest else (SHAPE, BATCH)
    peer_steps, own_steps = (4, (4, 8)) if effort.smallest else (PEER_STEPS, OWN_STEPS)
    to_choose = 4 if effort.smallest else OWN_STEPS_TO_CHOOSE
    prepare_process()
    train, validation = (_windows(effort, split, shape.length) for split in ("train", "validation"))
    validation = validation[:VALIDATION_WINDOWS]
    rows: dict[str, dict[str, Spread]] = {}

    def run(name: str, steps: int, model: nn.Module, logits: Logits, update: Update) -> tuple[float, float]:
        schedule = TrainingSettings(steps, batch, 1.0, 1.0, warmup=steps // 20)
        started = time.process_time()
        for step, tokens in enumerate(_batches(train, batch, steps), start=1):
            _loss(logits, tokens).backward()
            update(schedule.rate_factor(step))
        seconds = time.process_time() - started
        model.eval()
        with torch.no_grad():
            loss = _loss(logits, torch.from_numpy(validation)).item()
        rows[name] = {"nats": _once(loss), "CPU seconds": _once(seconds)}
        print(f"{name}: {loss:.4f} nats, {seconds:.0f} s", flush=True)
        return loss, seconds

    peers = []
    for rate in PEER_RATES:
        torch.manual_seed(0)
        try:
            model, logits = gpt2(shape)
        except ModuleNotFoundError as error:
            return [Table("time to a loss", {}, [f"GPT-2: {error.name} is not installed; {HOW_TO_INSTALL}"])]
        model.train()
        name = f"GPT-2 (transformers), {peer_steps} steps, AdamW at {rate:g}"
        peers.append(run(name, peer_steps, model, logits, _adamw(model, rate)))
    target, peer_seconds = min(peers)
    masks = layer_masks("causal", shape.layers, shape.length)

    def run_own(steps: int, rates: tuple[float, float], what: str = "maskstudy") -> tuple[float, float, str]:
        torch.manual_seed(0)
        own = Transformer(shape).train()
        optimizer = MuonWithAdamW(own, *rates, weight_decay=0.01)
        name = f"{what}, {steps} steps, Muon at {rates[0]:g}, AdamW at {rates[1]:g}"
        return *run(name, steps, own, lambda tokens: own(tokens, masks), optimizer.step), name

    chosen = min(OWN_RATES, key=lambda rates: run_own(to_choose, rates, "which rates?")[0])
    for steps in own_steps:
        loss, seconds, name = run_own(steps, chosen)
        if loss <= target:
            rows[name]["time of the best GPT-2 ÷ this"] = _once(peer_seconds / seconds)
            break
    return [Table("time to a loss", rows, [f"The loss to reach: {target:.4f} nats a byte."])]


def _windows(effort: Effort, split: str, length: int) -> Windows:
    """Prepared windows, cut to so many bytes and the one after them."""
    path = effort.results / "data" / "next_byte" / f"{split}.parquet"
    if not path.is_file():
        raise SystemExit(f"{path}: not there; run the study first, or say with --results where one is")
    examples = read_examples(path)
    whole = examples.tokens[examples.lengths == examples.tokens.shape[1]].astype(np.int64)
    starts = range(0, whole.shape[1] - length, length)
    return np.concatenate([whole[:, start : start + length + 1] for start in starts])


def _batches(windows: Windows, batch: int, steps: int) -> Iterator[Tensor]:
    generator = np.random.default_rng(0)
    for _ in range(steps):
        yield torch.from_numpy(windows[generator.integers(0, len(windows), batch)])


def _loss(logits: Logits, tokens: Tensor) -> Tensor:
    return F.cross_entropy(logits(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())


def _adamw(model: nn.Module, rate: float) -> Update:
    """PyTorch's AdamW with the gradient clipped to norm 1."""
    parameters = list(model.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=rate, fused=True)

    def update(share: float) -> None:
        nn.utils.clip_grad_norm_(parameters, 1.0)
        for group in optimizer.param_groups:
            group["lr"] = rate * share
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return update


def _once(value: float) -> Spread:
    return Spread(value, value, value)
