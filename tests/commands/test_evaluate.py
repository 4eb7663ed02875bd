import numpy as np
import pytest
import torch

from maskstudy import tasks
from maskstudy.commands import evaluate, gather
from maskstudy.data.examples import write_examples
from maskstudy.evaluation import log_probabilities
from maskstudy.files import read_json, read_table, write_json
from maskstudy.schemas import METRICS, PREDICTIONS
from maskstudy.scoring import score
from maskstudy.shape import build_shape
from small_study import HMM, MODEL, cell, random_model, save_model, settings

COST = {"steps": 6, "tokens_seen": 288, "targets_seen": 288, "train_flops": 1e6, "parameters": 1234}


@pytest.fixture
def model():
    return random_model(build_shape(tasks.build(HMM), MODEL)).float()


@pytest.fixture
def study(tmp_path):
    """The test split, and nothing else that could be read but the model of a run."""
    write_examples(tmp_path / "data/test.parquet", tasks.build(HMM).splits(None)["test"])
    write_json(tmp_path / "run/cost.json", COST)
    return tmp_path


def run(folder, model, mask="causal", seed=5):
    save_model(folder / "run", model, mask)
    given = settings(cell=cell(mask), task=HMM, model=MODEL)
    evaluate.main([*given, "--seed", str(seed), "--data", str(folder / "data"), "--run", str(folder / "run")])
    return read_json(folder / "run/metrics.json"), read_table(folder / "run/examples.parquet", PREDICTIONS)


@pytest.mark.parametrize("mask", ["causal", "full", "lookahead-1"])
def test_scores_are_those_of_the_model_under_the_mask_of_its_cell(study, model, mask):
    metrics, table = run(study, model, mask)
    test = tasks.build(HMM).splits(None)["test"]
    expected = score(log_probabilities(model, mask, test), test)
    assert metrics == {
        **cell(mask),
        "seed": 5,
        "metrics": expected.metrics(),
        "scored": test.scored.sum(),
        **COST,
    }
    assert table.equals(expected.table())
    assert sum(table["correct"].to_pylist()) == np.sum(
        np.concatenate(table["predictions"].to_pylist()) == test.targets[test.scored]
    )


def test_the_masks_are_told_apart(study, model):
    accuracy = {mask: run(study, model, mask)[0]["metrics"]["nats"] for mask in ("causal", "full", "lookahead-1")}
    assert len(set(accuracy.values())) == 3


def test_metrics_hold_every_column_of_the_table_of_metrics(study, model):
    metrics, _ = run(study, model)
    rows = gather.metric_rows(metrics, {"baseline": None, "ceiling": None})
    assert [row["metric"] for row in rows] == ["accuracy", "nats"]
    assert all(set(METRICS.names) == set(row) for row in rows)


def test_the_same_command_twice_gives_the_same_bytes(study, model):
    run(study, model)
    before = [(study / "run" / name).read_bytes() for name in ("metrics.json", "examples.parquet")]
    torch.set_num_threads(2)
    run(study, model)
    assert [(study / "run" / name).read_bytes() for name in ("metrics.json", "examples.parquet")] == before
