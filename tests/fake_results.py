"""A small, plausible `results/` folder with every file of a study, for tests of what only reads results.

    settings = write(tmp_path, seeds=4)                      # hmm_tagging and masked_byte
    settings = write(tmp_path, {"my_task": FakeTask(masks=("causal",))}, confirmatory=False)

The scores are drawn, not learned; the tables are made from them by the study's own verbs `gather` and `compare`.
"""

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from safetensors.numpy import save_file

from maskstudy import files, schemas, swaps
from maskstudy.commands import compare, gather

LENGTH = 8
EXAMPLES = 32
SCORED = 64
STEPS = 400
SCALES = (0.5, 1.0, 2.0)
PROMPT = " \n = The $ of 東京 = \n \n It"


@dataclass(frozen=True)
class FakeTask:
    """A task of the fake study.

    Attributes:
        masks: the masks that are compared.
        controls: masks that leak on purpose; a task that has any predicts the next token, and its models write text.
        ceilings: the best accuracy under each mask; None where it is not known.
        best: the accuracy that models come close to where there is no ceiling.
        short: how far below `ceilings` or `best` the models stay.
        baseline: how far the baseline's accuracy is above that of the models.
        equal_access: True where all masks see the same at the scored positions.
        declared: `(metric, mask_a, mask_b, margin)` of the comparisons that config.yaml declares.
        layers: layers of the model.
        written: True where models write whole answers, and the baseline nothing else.
        dataset: the kind of data that it reads; None where it makes its own.
    """

    masks: tuple[str, ...] = ("causal", "full")
    controls: tuple[str, ...] = ()
    ceilings: tuple[float, ...] | None = None
    best: tuple[float, ...] = (0.62, 0.68, 0.69, 0.70, 0.705, 0.66, 0.64)
    short: float = 0.004
    spread: float = 0.003
    baseline: float = -0.03
    equal_access: bool = False
    declared: tuple[tuple[str, str, str, float | None], ...] = ()
    layers: int = 3
    written: bool = False
    dataset: str | None = "text"


LOOKAHEADS = ("causal", "lookahead-1", "lookahead-2", "lookahead-4", "full")

TASKS: Mapping[str, FakeTask] = {
    "hmm_tagging": FakeTask(
        masks=LOOKAHEADS,
        ceilings=(0.654, 0.721, 0.739, 0.747, 0.748),
        dataset=None,
        declared=(("accuracy", "full", "causal", 0.005), ("accuracy", "full", "lookahead-4", 0.005)),
    ),
    "masked_byte": FakeTask(best=(0.43, 0.52), declared=(("nats", "full", "causal", 0.02),)),
}


@dataclass
class _Study:
    folder: Path
    generator: np.random.Generator
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def add(self, table: str, **row: Any) -> None:
        self.rows.setdefault(table, []).append(row)

    def write(self, table: str, schema: pa.Schema, path: Path) -> None:
        files.write_table(path, pa.Table.from_pylist(self.rows.pop(table), schema), schema)


def write(
    folder: Path, tasks: Mapping[str, FakeTask] = TASKS, seeds: int = 10, confirmatory: bool = True, stream: int = 0
) -> dict[str, Any]:
    """Write a whole results folder and give the settings that the verbs `figure` and `paper` take."""
    study = _Study(folder, np.random.default_rng(stream))
    cells = []
    for name, task in tasks.items():
        _write_data(study, name)
        shared = study.generator.normal(0, task.spread, seeds)  # what a seed adds under every mask: runs are paired
        for order, mask in enumerate(task.masks + task.controls):
            role = "study" if mask in task.masks else "control"
            cells.append({"task": name, "mask": mask, "role": role, "seeds": list(range(seeds))})
            best = task.ceilings[order] if task.ceilings and role == "study" else None
            aim = 0.99 if role == "control" else (best or task.best[order])
            accuracy = aim - task.short + 0.5 * shared + study.generator.normal(0, 0.5 * task.spread, seeds)
            _write_cell(study, name, task, mask, role, np.clip(accuracy, 0, 1), best)
        _write_samples(study, name, task, seeds)
    study.write("samples", schemas.SAMPLES, folder / "examples.parquet")
    settings = {
        "cells": cells,
        "confirmatory": confirmatory,
        "comparisons": [
            {"task": name, "metric": metric, "masks": [mask_a, mask_b], "margin": margin}
            for name, task in tasks.items()
            for metric, mask_a, mask_b, margin in task.declared
        ],
        "statistics": {"alpha": 0.05, "confidence": 0.95, "resamples": 500},
        "tuning": {"scales": list(SCALES), "seeds": 1, "steps": 0.5, "tolerance": 0.005},
        "texts": [name for name, task in tasks.items() if task.controls],
        "written": [name for name, task in tasks.items() if task.written],
    }
    if {"next_byte", "final_byte"} <= set(tasks):
        settings["supervision"] = ["next_byte", "final_byte"]
        _write_supervision(study, settings)
    _write_swaps(study, cells, range(seeds))
    _write_representations(study, cells, range(seeds))
    gather.main(arguments(settings, folder))
    compare.main(arguments(settings, folder))
    return settings


def arguments(settings: dict[str, Any], folder: Path) -> list[str]:
    """What follows the name of a verb on the command line."""
    return ["--settings", json.dumps(settings), "--results", str(folder)]


def layer_masks(mask: str, layers: int) -> list[NDArray[np.bool_]]:
    """The mask of each layer; unknown masks see a window of three."""
    query, key = np.arange(LENGTH)[:, None], np.arange(LENGTH)[None, :]
    causal = key <= query
    first, later = {
        "causal": (causal, causal),
        "full": (causal | True, causal | True),
        "prefix": (causal | (key < 3), causal | (key < 3)),
        "encoder-decoder": (causal | (key < 3), causal | (key < 3)),
    }.get(mask, (abs(query - key) <= 1, abs(query - key) <= 1))
    if mask.startswith("lookahead-"):
        first, later = key <= query + int(mask.split("-")[1]), causal
    return [first] + [later] * (layers - 1)


def _write_data(study: _Study, task: str) -> None:
    for split in ("train", "validation", "test"):
        for index in range(4):
            study.add(
                "examples",
                group=f"{split}-{index}",
                tokens=study.generator.integers(0, 10, LENGTH).tolist(),
                targets=study.generator.integers(0, 10, LENGTH).tolist(),
                length=LENGTH,
                condition_length=0,
                target_positions=[-1] * LENGTH,
            )
        study.write("examples", schemas.EXAMPLES, study.folder / "data" / task / f"{split}.parquet")
    files.write_json(study.folder / "data" / task / "summary.json", {"task": task, "train": 4, "test": 4})


def _write_cell(
    study: _Study, task: str, fake: FakeTask, mask: str, role: str, accuracy: NDArray[np.float64], best: float | None
) -> None:
    """Write audit, reference and runs of a cell."""
    leaks = role == "control"
    masks = layer_masks(mask, fake.layers)
    access = np.eye(LENGTH, dtype=bool)
    for layer in masks:
        access = ((layer | np.eye(LENGTH, dtype=bool)).astype(int) @ access.astype(int)) > 0
    verdict = {"leaks": leaks, "measured_leaks": leaks, "position": 0 if leaks else None}
    path = "layer 1: query 0 sees key 1" if leaks else None
    grid = {"length": LENGTH, "layers": [layer.astype(int).tolist() for layer in masks]}
    grid["access"] = access.astype(int).tolist()
    seen = b"same" if fake.equal_access else access.tobytes()
    cell = {"task": task, "mask": mask}
    files.write_json(
        study.folder / "audit" / task / f"{mask}.json",
        {**cell, "role": role, **verdict, "path": path, "scored_access": files.sha256(seen), "grid": grid},
    )

    _write_tuning(study, cell | {"role": role})
    reference = study.folder / "references" / task / mask
    simple = float(np.mean(accuracy)) + fake.baseline
    # The ideal observer's scores stand in the parquet; without one, the baseline's.
    found, rates = _predictions(
        study, simple if best is None else best, reference.with_suffix(".parquet"), fake.written
    )
    files.write_json(
        reference.with_suffix(".json"),
        {
            **cell,
            "baseline": rates or {"accuracy": simple, "nats": _nats(simple)},
            "ceiling": None if best is None else {"accuracy": found, "nats": _nats(found)},
            "unigram": {"accuracy": 0.2, "nats": 2.4} if fake.controls else None,
        },
    )
    for seed, value in enumerate(accuracy):
        _write_run(study, task, mask, role, seed, value, fake.written)
        if fake.written:
            _write_decoding(study, cell | {"role": role, "seed": seed}, value)
        if fake.controls:
            _write_text(study, cell | {"role": role, "seed": seed}, "baseline" if best is None else "ceiling")


def _write_tuning(study: _Study, cell: dict[str, str]) -> None:
    """Write what a cell found for its learning rates; full attention learns best at the edge, others in the middle."""
    best = SCALES[-1] if cell["mask"] == "full" else 1.0
    curve = [
        {
            "scale": scale,
            "seed": 1000,
            "learning_rate": 0.02 * scale,
            "adamw_learning_rate": 0.003 * scale,
            "nats": 1.2 + 0.05 * float(np.log2(scale / best)) ** 2,
            "accuracy": 0.6,
            "train_flops": 2.3e11,
        }
        for scale in SCALES
    ]
    files.write_json(
        study.folder / "tuning" / cell["task"] / f"{cell['mask']}.json",
        {**cell, "curve": curve, "chosen": best, "at_edge": best in (SCALES[0], SCALES[-1])},
    )


def _write_supervision(study: _Study, settings: dict[str, Any]) -> None:
    """Write how models of every byte, and of the final one, answer the same final bytes."""
    for cell in settings["cells"]:
        if cell["task"] in settings["supervision"] and cell["role"] == "study":
            run = {"task": cell["task"], "mask": cell["mask"], "scored": EXAMPLES, **_cost(cell["mask"])}
            run |= {"targets_seen": STEPS * 64} if cell["task"] == "final_byte" else {}
            for seed in cell["seeds"]:
                accuracy = 0.4 + study.generator.normal(0, 0.003)
                for metric, value in (("accuracy", accuracy), ("nats", _nats(accuracy))):
                    baseline = 0.3 if metric == "accuracy" else _nats(0.3)
                    study.add("supervision", **run, seed=seed, metric=metric, value=value, baseline=baseline)
    study.write("supervision", schemas.SUPERVISION, study.folder / "supervision.parquet")


def _write_swaps(study: _Study, cells: list[dict[str, Any]], seeds: range) -> None:
    """Write what models score under the other masks of their task: less, but where the mask shows the answer."""
    audits = {
        (cell["task"], cell["mask"]): files.read_json(study.folder / "audit" / cell["task"] / f"{cell['mask']}.json")
        for cell in cells
        if cell["mask"] != "encoder-decoder"
    }
    for (task, trained), (other, tested) in itertools.permutations(audits, 2):
        for seed in seeds if task == other else ():
            run = files.read_json(study.folder / "runs" / task / trained / f"seed-{seed}" / "metrics.json")
            change = 0.2 if audits[task, tested]["leaks"] else -0.1
            accuracy = float(np.clip(run["metrics"]["accuracy"] + change + study.generator.normal(0, 0.01), 0, 1))
            metrics = {"accuracy": accuracy, "nats": _nats(accuracy)}
            for row in swaps.rows(run, audits[task, trained], audits[task, tested], metrics):
                study.add("swaps", **row)
    study.rows.setdefault("swaps", [])
    study.write("swaps", schemas.SWAPS, study.folder / "swaps.parquet")


def _write_representations(study: _Study, cells: list[dict[str, Any]], seeds: range) -> None:
    """Write what two layers hold: a little with random weights, more in those that were trained."""
    cells = [cell for cell in cells if cell["mask"] != "encoder-decoder"]
    for cell, seed, weights in itertools.product(cells, seeds, ("trained", "random")):
        others = [other["mask"] for other in cells[cells.index(cell) + 1 :] if other["task"] == cell["task"]]
        for layer in range(3) if weights == "trained" or seed < 3 else ():
            run = {name: cell[name] for name in ("task", "mask", "role")}
            run |= {"seed": seed, "weights": weights, "layer": layer}
            held = layer * (0.4 if weights == "trained" else 0.1)
            for measure, chance in (("position", 0.0), ("left", 0.1), ("right", 0.1)):
                value = chance + held + study.generator.normal(0, 0.01)
                study.add("representations", **run, measure=measure, value=value, chance=chance)
            study.add("representations", **run, measure="effective_rank", value=10 + held + study.generator.random())
            for other in others:
                study.add("representations", **run, measure="cka", other_mask=other, value=study.generator.random())
    study.rows.setdefault("representations", [])
    study.write("representations", schemas.REPRESENTATIONS, study.folder / "representations.parquet")


def _nats(accuracy: float) -> float:
    return 2.6 * (1 - accuracy)


def _cost(mask: str) -> dict[str, Any]:
    return {
        "parameters": 101_000 if mask == "encoder-decoder" else 99_328,
        "steps": STEPS,
        "tokens_seen": STEPS * 64 * 32,
        "targets_seen": STEPS * 64 * 30,
        "train_flops": 4.6e11,
    }


def _predictions(study: _Study, accuracy: float, path: Path, written: bool) -> tuple[float, dict[str, float]]:
    """Write the scores of each test example; give the accuracy and the rates of errors that they amount to."""
    right = np.zeros(EXAMPLES * SCORED, dtype=int)
    right[: round(accuracy * len(right))] = 1
    correct = study.generator.permutation(right).reshape(EXAMPLES, SCORED)
    errors = SCORED - correct.sum(axis=1)
    wrong = errors > np.median(errors)
    lengths = SCORED + study.generator.integers(0, 3, EXAMPLES) if written else np.full(EXAMPLES, SCORED)
    for example, row in enumerate(correct):
        study.add(
            "predictions",
            example=example,
            scored=SCORED,
            correct=int(row.sum()),
            nats=_nats(float(row.mean())) * SCORED,
            predictions=row.tolist(),
            words=1 if written else None,
            wrong_words=int(wrong[example]) if written else None,
            phonemes=int(lengths[example]) if written else None,
            phoneme_errors=int(errors[example]) if written else None,
            written=row.tolist() if written else None,
        )
    study.write("predictions", schemas.PREDICTIONS, path)
    rates = {"per": float(errors.sum() / lengths.sum()), "wer": float(wrong.mean())} if written else {}
    return float(correct.mean()), rates


def _write_run(study: _Study, task: str, mask: str, role: str, seed: int, aim: float, written: bool) -> None:
    run = study.folder / "runs" / task / mask / f"seed-{seed}"
    accuracy, rates = _predictions(study, aim, run / "examples.parquet", written)
    nats = _nats(accuracy)
    for step in range(0, STEPS + 1, 40):
        for split in ("train", "validation"):
            rest = np.exp(-step / 70) + study.generator.normal(0, 0.002)
            study.add(
                "history",
                step=step,
                tokens_seen=step * 64 * 32,
                split=split,
                nats=nats + 1.4 * rest,
                accuracy=float(np.clip(accuracy - 0.5 * rest, 0, 1)),
                learning_rate=1e-3,
            )
    study.write("history", schemas.HISTORY, run / "history.parquet")
    cell: dict[str, Any] = {"task": task, "mask": mask, "seed": seed}
    timing = {"train_seconds": 11 + study.generator.random(), "cpu_seconds": 12.0, "peak_memory_bytes": 400_000_000}
    files.write_json(run / "timing.json", {**cell, **timing, "threads": 1})
    files.write_json(
        run / "metrics.json",
        {
            **cell,
            "role": role,
            "metrics": {"accuracy": accuracy, "nats": nats} | rates,
            "scored": EXAMPLES * SCORED,
            **_cost(mask),
        },
    )
    with files.replacing(run / "model.safetensors") as temporary:
        save_file({"embedding.weight": np.zeros((2, 2), dtype=np.float32)}, temporary)


def _write_decoding(study: _Study, run: dict[str, Any], accuracy: float) -> None:
    """Write what a search and a cache change."""
    files.write_json(
        study.folder / "runs" / run["task"] / run["mask"] / f"seed-{run['seed']}" / "decoding.json",
        {
            **run,
            "words": EXAMPLES,
            "beam_width": 4,
            "metrics": {
                search: {"per": factor * (1 - accuracy) / 4, "wer": factor * (1 - accuracy)}
                for search, factor in (("greedy", 1.0), ("beam", 0.95))
            },
            "parallel_minus_stepwise": {"probability": 4e-7 * (1 + run["seed"]), "nats": 1e-6},
            "texts": [],
        },
    )


def _write_text(study: _Study, run: dict[str, Any], judge: str) -> None:
    """Write what a model wrote: words, or, by a control, garbage."""
    garbage = run["role"] == "control"
    text = "W $   W $\n\\xbf" * 12 if garbage else " was the state of the second season , and" * 3
    nats = 8.5 if garbage else 1.9
    files.write_json(
        study.folder / "runs" / run["task"] / run["mask"] / f"seed-{run['seed']}" / "generated.json",
        {
            **run,
            "judge": judge,
            "prompt_tokens": 24,
            "generated_tokens": 100,
            "metrics": {
                "teacher_forced": {"accuracy": 0.99 if garbage else 0.5, "nats": 0.01 if garbage else 1.8},
                "true": {"judged_nats": 1.4},
                "greedy": {"accuracy": 0.1, "judged_nats": nats - 0.5},
                "sampled": {"accuracy": 0.1, "judged_nats": nats + run["seed"] / 100},
            },
            "texts": [
                {"example": 0, "prompt": PROMPT, "true": " stands there .", "greedy": text[::-1], "sampled": text},
                {"example": 4, "prompt": "other", "true": "other", "greedy": "other", "sampled": "other"},
            ],
        },
    )


BEFORE = "(edge) ¿dónde está la cañería del señor Núñez? = The $ of 東京 = \n\n  and on "


def _write_samples(study: _Study, task: str, fake: FakeTask, seeds: int) -> None:
    """Write questions: eight that are spread evenly, and for each order of two masks four at which one is ahead."""
    groups: list[tuple[str, str | None, str | None]] = [("spread", None, None)] * 8
    groups += [("ahead", *pair) for pair in permutations(fake.masks, 2) for _ in range(4)]
    for number, (chosen, mask_a, mask_b) in enumerate(groups):
        question = {"before": BEFORE[number:], "place": "▢", "after": f" (edge) on the {number}th", "truth": "ñ"}
        if fake.written:
            question = {"before": "", "place": "candid", "after": "", "truth": "K AE N D AH D / K AE N D IH D"}
        for mask in fake.masks:
            right = seeds if mask == mask_a else 0 if mask == mask_b else seeds // 2
            most_are_right = 2 * right > seeds
            wrong = "K AE N T" if fake.written else (" ", "\\xc3", "$x$")[number % 3]
            study.add(
                "samples",
                task=task,
                dataset=fake.dataset,
                chosen=chosen,
                mask_a=mask_a,
                mask_b=mask_b,
                ahead=None if mask_a is None else 12_345,
                questions=67_890,
                example=number,
                position=None if fake.written else 17,
                **question,
                mask=mask,
                seeds=seeds,
                right=right,
                answer=question["truth"].partition(" / ")[0] if most_are_right else wrong,
                agreeing=right if most_are_right else seeds - right,
                nats=1.5,
            )
