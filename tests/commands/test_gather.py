"""`maskstudy gather`: files of runs in, tables of the study out."""

import json

import pyarrow.parquet as pq
import pytest

from maskstudy import files, schemas
from maskstudy.commands import gather, options
from maskstudy.errors import StudyError

CELLS = [
    {"task": "tagging", "mask": "full", "role": "study"},
    {"task": "tagging", "mask": "causal", "role": "study"},
    {"task": "bytes", "mask": "full", "role": "control"},
]
SEEDS = [0, 1, 10]
TABLES = ("metrics", "timing", "audit", "tuning")


@pytest.fixture
def results(tmp_path):
    """A results folder with every file that `gather` reads; the values follow from cell and seed."""
    for number, cell in enumerate(CELLS):
        name = f"{cell['task']}/{cell['mask']}"
        control = cell["role"] == "control"
        names = {"task": cell["task"], "mask": cell["mask"]}
        found = {"leaks": control, "measured_leaks": control, "position": 3 if control else None, "path": None}
        files.write_json(
            tmp_path / "audit" / f"{name}.json", {**cell, **found, "scored_access": "0f", "grid": {"length": 8}}
        )
        row = {"learning_rate": 0.02, "adamw_learning_rate": 0.003, "nats": 1.0, "accuracy": 0.5, "train_flops": 7.0}
        diverged = {"nats": None, "accuracy": None, "train_flops": None}
        curve = [{"scale": 1.0, "seed": 1000, **row}, {"scale": 2.0, "seed": 1000, **row, **diverged}]
        files.write_json(
            tmp_path / "tuning" / f"{name}.json", {**cell, "curve": curve, "chosen": 1.0, "at_edge": control}
        )
        ceiling = None if control else {"accuracy": 0.9, "nats": 0.2}
        files.write_json(
            tmp_path / "references" / f"{name}.json",
            {**names, "baseline": {"accuracy": 0.5 + number / 10, "nats": 1.5}, "ceiling": ceiling},
        )
        for seed in SEEDS:
            run = tmp_path / "runs" / name / f"seed-{seed}"
            counts = {"scored": 99, "parameters": 7, "steps": 5, "tokens_seen": 60, "targets_seen": 50}
            scores = {"nats": 1.0 + seed / 100, "accuracy": number / 10 + seed / 1000}
            files.write_json(
                run / "metrics.json",
                {**cell, "seed": seed, "metrics": scores, **counts, "train_flops": 2**53 + 1, "code": "not a column"},
            )
            timing = {"train_seconds": 1.5, "cpu_seconds": 1.25, "peak_memory_bytes": 1000, "threads": 1}
            files.write_json(run / "timing.json", {**names, "seed": seed, **timing})
    return tmp_path


def run(results, cells=CELLS, seeds=SEEDS):
    asked = [cell | {"seeds": seeds} for cell in cells]
    gather.main(["--settings", json.dumps({"cells": asked}), "--results", str(results)])


def edit(file, **changes):
    files.write_json(file, {**files.read_json(file), **changes})


def test_one_row_a_cell_seed_and_metric_in_the_order_of_the_config(results):
    run(results)
    table = files.read_table(results / "metrics.parquet", schemas.METRICS).to_pylist()
    assert [(row["task"], row["mask"], row["role"], row["seed"], row["metric"]) for row in table] == [
        (cell["task"], cell["mask"], cell["role"], seed, metric)
        for cell in CELLS
        for seed in SEEDS
        for metric in ("accuracy", "nats")
    ]


def test_values_stand_beside_the_baseline_and_ceiling_of_their_cell(results):
    run(results)
    table = files.read_table(results / "metrics.parquet", schemas.METRICS).to_pylist()
    row = next(row for row in table if row["mask"] == "causal" and row["seed"] == 10 and row["metric"] == "accuracy")
    assert row == {
        **CELLS[1],
        "seed": 10,
        "metric": "accuracy",
        "value": pytest.approx(0.11),
        "baseline": pytest.approx(0.6),
        "ceiling": 0.9,
        "scored": 99,
        "parameters": 7,
        "steps": 5,
        "tokens_seen": 60,
        "targets_seen": 50,
        "train_flops": float(2**53),
    }
    assert table[1]["baseline"] == 1.5
    assert table[1]["ceiling"] == 0.2
    assert [row["ceiling"] for row in table if row["task"] == "bytes"] == [None] * 6


def test_a_metric_without_reference_has_no_baseline(results):
    edit(results / "references/tagging/full.json", baseline={"accuracy": 0.5}, ceiling=None)
    run(results)
    table = files.read_table(results / "metrics.parquet", schemas.METRICS).to_pylist()
    assert [(row["baseline"], row["ceiling"]) for row in table[:2]] == [(0.5, None), (None, None)]


def test_every_run_of_the_tuning_has_a_row(results):
    run(results)
    table = files.read_table(results / "tuning.parquet", schemas.TUNING).to_pylist()
    assert [(row["task"], row["mask"], row["role"], row["scale"]) for row in table] == [
        (cell["task"], cell["mask"], cell["role"], scale) for cell in CELLS for scale in (1.0, 2.0)
    ]
    assert [row["chosen"] for row in table] == [True, False] * len(CELLS)
    assert [row["at_edge"] for row in table] == [cell["role"] == "control" for cell in CELLS for _ in range(2)]
    assert [row["nats"] for row in table] == [1.0, None] * len(CELLS)


def test_a_grid_of_one_point_leaves_the_table_empty(results):
    for cell in CELLS:
        edit(results / "tuning" / cell["task"] / f"{cell['mask']}.json", curve=[])
    run(results)
    assert files.read_table(results / "tuning.parquet", schemas.TUNING).num_rows == 0


def test_time_stands_in_its_own_table_alone(results):
    run(results)
    timing = files.read_table(results / "timing.parquet", schemas.TIMING).to_pylist()
    assert [(row["task"], row["mask"], row["seed"]) for row in timing] == [
        (cell["task"], cell["mask"], seed) for cell in CELLS for seed in SEEDS
    ]
    assert timing[0]["train_seconds"] == 1.5
    before = {name: (results / f"{name}.parquet").read_bytes() for name in TABLES}
    edit(results / "runs/tagging/full/seed-0/timing.json", train_seconds=2.5, cpu_seconds=2.0, peak_memory_bytes=1)
    run(results)
    changed = [name for name in TABLES if (results / f"{name}.parquet").read_bytes() != before[name]]
    assert changed == ["timing"]


def test_audit_keeps_the_verdict_of_every_cell(results):
    run(results)
    assert files.read_table(results / "audit.parquet", schemas.AUDIT).to_pylist() == [
        {**cell, "leaks": leaks, "measured_leaks": leaks, "position": 3 if leaks else None, "path": None}
        for cell, leaks in zip(CELLS, (False, False, True), strict=True)
    ]


def test_a_leak_that_was_not_measured_is_empty(results):
    edit(results / "audit/bytes/full.json", measured_leaks=None, path="layer 0: 3 -> 4")
    run(results)
    row = files.read_table(results / "audit.parquet", schemas.AUDIT).to_pylist()[2]
    assert row["measured_leaks"] is None
    assert row["path"] == "layer 0: 3 -> 4"


def test_same_files_same_bytes(results):
    run(results)
    before = [(results / f"{name}.parquet").read_bytes() for name in TABLES]
    run(results)
    assert [(results / f"{name}.parquet").read_bytes() for name in TABLES] == before


def test_tables_without_rows_have_their_columns(tmp_path):
    run(tmp_path, cells=[])
    for name, schema in (("metrics", schemas.METRICS), ("timing", schemas.TIMING), ("audit", schemas.AUDIT)):
        assert pq.read_table(tmp_path / f"{name}.parquet").schema.names == schema.names


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("runs/tagging/full/seed-1/metrics.json", {"seed": 0}),
        ("runs/tagging/full/seed-1/metrics.json", {"mask": "causal"}),
        ("runs/tagging/full/seed-1/metrics.json", {"role": "control"}),
        ("runs/tagging/full/seed-1/timing.json", {"task": "bytes"}),
        ("runs/tagging/full/seed-1/timing.json", {"seed": 2}),
        ("references/tagging/full.json", {"mask": "causal"}),
        ("audit/tagging/full.json", {"role": "control"}),
    ],
)
def test_refuses_a_file_of_another_cell_and_writes_nothing(results, path, change):
    edit(results / path, **change)
    with pytest.raises(StudyError, match=f"{path}: {next(iter(change))} is"):
        run(results)
    assert not list(results.glob("*.parquet"))


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("runs/bytes/full/seed-10/metrics.json", "metrics"),
        ("runs/bytes/full/seed-10/metrics.json", "steps"),
        ("runs/bytes/full/seed-10/timing.json", "cpu_seconds"),
        ("references/bytes/full.json", "ceiling"),
        ("audit/bytes/full.json", "leaks"),
    ],
)
def test_refuses_a_file_that_lacks_an_entry_and_names_both(results, path, name):
    content = files.read_json(results / path)
    del content[name]
    files.write_json(results / path, content)
    with pytest.raises(StudyError, match=f"{path}: {name} is missing"):
        run(results)
    assert not list(results.glob("*.parquet"))


def test_names_the_run_that_is_missing(results):
    (results / "runs/tagging/causal/seed-10/metrics.json").unlink()
    with pytest.raises(StudyError, match=r"runs/tagging/causal/seed-10/metrics\.json: no such file"):
        run(results)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ('{"cells": []}', "seeds missing"),
        ('{"seeds": []}', "cells missing"),
        ("[]", "cells, seeds missing"),
        ('"cells, seeds"', "cells, seeds missing"),
    ],
)
def test_refuses_settings_that_it_cannot_read(text, message):
    with pytest.raises(StudyError, match=f"--settings: {message}"):
        options.read_settings(text, ("cells", "seeds"))
