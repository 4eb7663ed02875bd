"""`maskstudy compare`: the tables of claims, and the refusal of a model that beats its ceiling."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from maskstudy import files, schemas
from maskstudy.commands import compare
from maskstudy.comparisons import ABOVE_CEILING, NOT_LEARNED, WITHIN
from maskstudy.errors import StudyError

CELLS = [
    {"task": "tagging", "mask": "causal", "role": "study"},
    {"task": "tagging", "mask": "full", "role": "study"},
    {"task": "bytes", "mask": "causal", "role": "study"},
    {"task": "bytes", "mask": "full", "role": "control"},
]
SEEDS = [0, 1, 2, 3, 4, 5, 6]
COMPARISONS = [{"task": "tagging", "metric": "accuracy", "masks": ["full", "causal"], "margin": 0.01}]
STATISTICS = {"alpha": 0.05, "confidence": 0.95, "resamples": 300}
SETTINGS = {
    "cells": [cell | {"seeds": SEEDS} for cell in CELLS],
    "comparisons": COMPARISONS,
    "statistics": STATISTICS,
    "confirmatory": True,
}
EXAMPLES, SCORED = 300, 2
# task, mask -> how many examples are answered right, by the ideal observer (None: unknown) and by the model
RIGHT = {
    ("tagging", "causal"): (180, 180),
    ("tagging", "full"): (270, 240),
    ("bytes", "causal"): (None, 150),
    ("bytes", "full"): (90, 285),  # a control: it leaks on purpose, and passes the ceiling of who may not look
}


def predictions(path, right):
    """Scores of `EXAMPLES` examples, of which the first ones are answered right, and a fixed loss for each answer."""
    correct = np.where(np.arange(EXAMPLES) < right, SCORED, 0)
    columns = {
        "example": range(EXAMPLES),
        "scored": [SCORED] * EXAMPLES,
        "correct": correct,
        "nats": SCORED * 2.0 - correct,
        "predictions": [[0] * SCORED] * EXAMPLES,
    }
    written = {name: [None] * len(columns["example"]) for name in schemas.PREDICTIONS.names if name not in columns}
    files.write_table(path, pa.table(columns | written, schemas.PREDICTIONS), schemas.PREDICTIONS)


@pytest.fixture
def results(tmp_path):
    rows = []
    for cell in CELLS:
        task, mask = cell["task"], cell["mask"]
        ideal, typical = RIGHT[task, mask]
        files.write_json(tmp_path / f"audit/{task}/{mask}.json", {**cell, "scored_access": f"seen {mask}"})
        files.write_json(
            tmp_path / f"references/{task}/{mask}.json",
            {"task": task, "mask": mask, "ceiling": None if ideal is None else {"accuracy": ideal / EXAMPLES}},
        )
        if ideal is not None:
            predictions(tmp_path / f"references/{task}/{mask}.parquet", ideal)
        for seed in SEEDS:
            right = typical + seed - 3
            predictions(tmp_path / f"runs/{task}/{mask}/seed-{seed}/examples.parquet", right)
            counts = dict.fromkeys(["scored", "parameters", "steps", "tokens_seen", "targets_seen", "train_flops"], 1)
            for metric, value in (("accuracy", right / EXAMPLES), ("nats", 2 - right / EXAMPLES)):
                references = {"baseline": None, "ceiling": None}
                rows.append({**cell, "seed": seed, "metric": metric, "value": value, **references, **counts})
    files.write_table(tmp_path / "metrics.parquet", pa.Table.from_pylist(rows), schemas.METRICS)
    return tmp_path


def run(results, **changes):
    compare.main(["--settings", json.dumps({**SETTINGS, **changes}), "--results", str(results)])


def read(results, name, schema):
    return files.read_table(results / f"{name}.parquet", schema).to_pylist()


def comparisons(results):
    return read(results, "comparisons", schemas.COMPARISONS)


def gaps(results):
    return read(results, "ceiling_gaps", schemas.CEILING_GAPS)


def nothing_written(results):
    return {path.name for path in results.glob("*.parquet")} == {"metrics.parquet"}


def test_writes_the_declared_comparison_and_the_exploratory_ones(results):
    run(results)
    declared, exploratory = comparisons(results)
    assert (declared["mask_a"], declared["mask_b"], declared["metric"]) == ("full", "causal", "accuracy")
    assert declared["declared"]
    assert declared["effect"] == pytest.approx(0.2)
    assert declared["seeds"] == len(SEEDS)
    assert declared["p_holm"] == declared["p"] == declared["smallest_p"]
    assert not declared["equal_access"]
    assert declared["verdict"] == "a"
    assert (exploratory["mask_a"], exploratory["mask_b"], exploratory["metric"]) == ("full", "causal", "nats")
    assert not exploratory["declared"]
    assert exploratory["p_holm"] is exploratory["margin"] is exploratory["p_equivalence"] is None
    assert exploratory["verdict"] == "a"


def test_writes_effect_sizes_in_the_order_of_the_comparisons(results):
    run(results)
    effects = files.read_table(results / "effects.parquet", schemas.EFFECTS).to_pylist()
    pair = ("task", "metric", "mask_a", "mask_b")
    assert [[row[name] for name in pair] for row in effects] == [
        [row[name] for name in pair] for row in comparisons(results)
    ]
    assert effects[0]["low"] <= 0.2 <= effects[0]["high"]
    assert effects[0]["superiority"] == 1


def test_equal_access_is_read_from_the_audits(results):
    files.write_json(results / "audit/tagging/full.json", {**CELLS[1], "scored_access": "seen causal"})
    run(results)
    assert all(row["equal_access"] for row in comparisons(results))


def test_without_confirmation_everything_is_exploratory(results):
    run(results, confirmatory=False)
    assert [row["declared"] for row in comparisons(results)] == [False, False]
    assert len(gaps(results)) == 6


def test_gaps_of_every_cell_that_has_a_ceiling(results):
    run(results)
    rows = {(row["task"], row["mask"], row["metric"]): row for row in gaps(results)}
    assert list(rows) == [
        (task, mask, metric)
        for task, mask in (("tagging", "causal"), ("tagging", "full"), ("bytes", "full"))
        for metric in ("accuracy", "nats")
    ]
    at, below = rows["tagging", "causal", "accuracy"], rows["tagging", "full", "nats"]
    assert (at["value"], at["ceiling"], at["gap"]) == pytest.approx((0.6, 0.6, 0.0), abs=1e-9)
    assert at["low"] < 0 < at["high"]
    assert (below["value"], below["ceiling"], below["gap"]) == pytest.approx((1.2, 1.1, -0.1))
    assert (at["verdict"], below["verdict"]) == (WITHIN, NOT_LEARNED)


def test_a_control_may_pass_the_ceiling(results):
    run(results)
    assert [row["verdict"] for row in gaps(results) if row["task"] == "bytes"] == [ABOVE_CEILING] * 2


def test_a_study_cell_above_its_ceiling_fails_and_nothing_is_written(results):
    predictions(results / "references/tagging/full.parquet", 210)
    with pytest.raises(StudyError, match=r"tagging, mask full: its accuracy beats the exact ceiling by 0\.1 "):
        run(results)
    assert nothing_written(results)


def test_same_files_same_bytes(results):
    run(results)
    before = [(results / name).read_bytes() for name in ("comparisons.parquet", "ceiling_gaps.parquet")]
    run(results)
    assert [(results / name).read_bytes() for name in ("comparisons.parquet", "ceiling_gaps.parquet")] == before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"cells": [cell | {"seeds": [*SEEDS, 7]} for cell in CELLS]},
            r"bytes, mask causal \(study\), seed 7 is missing",
        ),
        (
            {"cells": [cell | {"seeds": SEEDS[:-1]} for cell in CELLS]},
            r"bytes, mask causal \(study\), seed 6 is not in the configuration",
        ),
        ({"cells": SETTINGS["cells"][:-1]}, r"bytes, mask full \(control\), seed 0 is not in the configuration"),
    ],
)
def test_refuses_a_table_of_other_cells_or_seeds(results, changes, message):
    with pytest.raises(StudyError, match=message):
        run(results, **changes)
    assert nothing_written(results)


def test_names_the_run_whose_scores_are_missing(results):
    (results / "runs/tagging/full/seed-3/examples.parquet").unlink()
    with pytest.raises(StudyError, match=r"runs/tagging/full/seed-3/examples\.parquet: no such file"):
        run(results)
    assert nothing_written(results)


def test_refuses_settings_without_an_entry(results):
    with pytest.raises(StudyError, match="statistics missing"):
        compare.main(
            [
                "--settings",
                json.dumps({"cells": CELLS, "comparisons": [], "confirmatory": True}),
                "--results",
                str(results),
            ]
        )


def test_loads_no_torch():
    loaded = "import sys, maskstudy.commands.compare, maskstudy.commands.gather; print('torch' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout == "False\n"
    )
