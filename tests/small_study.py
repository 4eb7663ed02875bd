"""A study small enough for tests: examples by hand, a next-token task, a tiny `hmm_tagging` that every verb can run."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file
from torch import Tensor

from maskstudy import checkpoints
from maskstudy.files import write_json
from maskstudy.model import Transformer
from maskstudy.shape import ModelShape
from maskstudy.tasks.task import NOT_SCORED, NOWHERE, Examples

MASK_NAMES = ("causal", "full", "prefix", "lookahead-1", "lookahead-3")

HMM = {
    "kind": "hmm_tagging",
    "dataset": None,
    "parameters": {
        "states": 3,
        "symbols": 4,
        "length": 6,
        "train_examples": 64,
        "validation_examples": 16,
        "test_examples": 24,
        "chain_seed": 0,
    },
}
MODEL = {"width": 8, "layers": 2, "heads": 2, "positions": "learned", "dropout": 0.0}
TRAINING = {"steps": 6, "batch": 8, "learning_rate": 0.02, "adamw_learning_rate": 0.003, "warmup": 2, "points": 3}


def cell(mask: str = "causal", role: str = "study", task: str = "hmm_tagging") -> dict[str, str]:
    return {"task": task, "mask": mask, "role": role}


def untuned(folder: Path, of_cell: dict[str, str]) -> list[str]:
    """`--tuning` and a file in `folder` by which the cell trains with the rates that are declared."""
    path = folder / f"tuning-{of_cell['mask']}.json"
    write_json(path, {**of_cell, "chosen": 1})
    return ["--tuning", str(path)]


def settings(**parts: Any) -> list[str]:
    """`--settings` and its value."""
    return ["--settings", json.dumps(parts)]


def examples(
    tokens: Any,
    targets: Any = None,
    lengths: Any = None,
    condition_lengths: Any = None,
    target_positions: Any = None,
    group: str = "group",
) -> Examples:
    """Examples of these tokens; nothing scored, nothing padded and no condition where nothing is said."""
    tokens = np.asarray(tokens, dtype=np.int16)
    count, length = tokens.shape
    return Examples(
        tokens=tokens,
        targets=np.full_like(tokens, NOT_SCORED) if targets is None else np.asarray(targets, dtype=np.int16),
        lengths=np.full(count, length, dtype=np.int32) if lengths is None else np.asarray(lengths, dtype=np.int32),
        condition_lengths=np.asarray([0] * count if condition_lengths is None else condition_lengths, dtype=np.int32),
        target_positions=np.full_like(tokens, NOWHERE)
        if target_positions is None
        else np.asarray(target_positions, dtype=np.int16),
        groups=np.array([f"{group} {number}" for number in range(count)]),
    )


def next_token(tokens: Any, lengths: Any = None, group: str = "group") -> Examples:
    """At every position but the last, the next token is the answer, and it stands in the input."""
    tokens = np.asarray(tokens, dtype=np.int16)
    count, length = tokens.shape
    ends = np.full(count, length) if lengths is None else np.asarray(lengths)
    scored = np.arange(length) < ends[:, None] - 1
    following = np.roll(tokens, -1, axis=1)
    return examples(
        tokens,
        targets=np.where(scored, following, NOT_SCORED),
        lengths=ends,
        target_positions=np.where(scored, np.arange(length) + 1, NOWHERE),
        group=group,
    )


@dataclass(frozen=True)
class RandomTokens:
    """Independent uniform tokens, new in every batch; `answer` makes the targets of `[examples, length]` tokens.

    Nobody can say more of the next token than that it is one of `vocabulary`: unless it is seen, its loss cannot go
    below ln(vocabulary).
    """

    dataset: ClassVar[str | None] = None
    generative: ClassVar[bool] = False

    answer: Callable[[NDArray[np.int16]], Examples] = next_token
    vocabulary: int = 4
    length: int = 8

    @property
    def answers(self) -> int:
        return self.vocabulary

    def draw(self, count: int, generator: np.random.Generator, group: str = "train") -> Examples:
        tokens = generator.integers(0, self.vocabulary, (count, self.length)).astype(np.int16)
        drawn = self.answer(tokens)
        return Examples(
            **{**vars(drawn), "groups": np.array([f"{group} {number}" for number in range(count)])},
        )

    def splits(self, documents: Any) -> dict[str, Examples]:  # noqa: ARG002
        generator = np.random.default_rng(0)
        return {split: self.draw(64, generator, split) for split in ("train", "validation", "test")}

    def batch(self, examples: Examples, index: NDArray[np.int64], generator: np.random.Generator) -> Examples:  # noqa: ARG002
        return self.draw(len(index), generator)

    def check_cell(self, mask: str, model: Mapping[str, Any]) -> None:
        """Any mask will do."""

    def baseline(self, mask: str, train: Examples, test: Examples) -> NDArray[np.float64]:  # noqa: ARG002
        return np.full((int(test.scored.sum()), self.answers), -np.log(self.answers))

    def ceiling(self, mask: str, test: Examples) -> None:  # noqa: ARG002
        return None


def random_model(shape: ModelShape, seed: int = 0, scale: float = 0.5) -> Transformer:
    """A model in float64 whose every weight is drawn, also those that start at 0 and would hide all influence."""
    generator = torch.Generator().manual_seed(seed)
    model = Transformer(shape).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(scale * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return model


def save_model(run: Path, model: Transformer, mask: str = "causal", task: Mapping[str, Any] = HMM) -> None:
    """Write a model into the folder of a run, as `train` does."""
    run.mkdir(parents=True, exist_ok=True)
    metadata = checkpoints.metadata(cell(mask), task, model.shape)
    save_file(model.state_dict(), run / "model.safetensors", metadata=metadata)


def random_masks(layers: int, length: int, seed: int, share: float = 0.4) -> list[Tensor]:
    """One random `[length, length]` mask a layer, empty rows among them."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.rand(length, length, generator=generator) < share for _ in range(layers)]


def reached(masks: list[Tensor]) -> NDArray[np.bool_]:
    """Access by walking: from every input, layer by layer, to all queries that admit a position reached so far."""
    length = masks[0].shape[-1]
    seen = np.zeros((length, length), dtype=np.bool_)
    for source in range(length):
        here = {source}
        for mask in masks:
            here |= {query for query in range(length) for key in here if bool(mask[query, key])}
        seen[list(here), source] = True
    return seen
