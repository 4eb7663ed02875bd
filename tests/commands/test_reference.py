import numpy as np
import pytest

from maskstudy import tasks
from maskstudy.commands import reference
from maskstudy.data.examples import write_examples
from maskstudy.files import read_json, read_table
from maskstudy.schemas import PREDICTIONS
from maskstudy.scoring import score
from small_study import HMM, RandomTokens, cell, settings

TASK = HMM | {"parameters": HMM["parameters"] | {"train_examples": 3000, "test_examples": 200}}


@pytest.fixture
def data(tmp_path):
    for split, made in tasks.build(TASK).splits(None).items():
        write_examples(tmp_path / "data" / f"{split}.parquet", made)
    return tmp_path


def run(folder, mask="causal"):
    stem = folder / "references" / mask
    reference.main([*settings(cell=cell(mask), task=TASK), "--data", str(folder / "data"), "--out", str(stem)])
    return read_json(folder / f"references/{mask}.json"), read_table(folder / f"references/{mask}.parquet", PREDICTIONS)


@pytest.mark.parametrize("mask", ["causal", "lookahead-2", "full"])
def test_a_synthetic_task_has_a_baseline_and_its_ideal_observer(data, mask):
    found, table = run(data, mask)
    task = tasks.build(TASK)
    splits = task.splits(None)
    ideal = score(task.ceiling(mask, splits["test"]), splits["test"])
    baseline = score(task.baseline(mask, splits["train"], splits["test"]), splits["test"])
    assert found == {
        "task": "hmm_tagging",
        "mask": mask,
        "baseline": baseline.metrics(),
        "ceiling": ideal.metrics(),
    }
    assert table.equals(ideal.table())
    assert found["ceiling"]["nats"] < found["baseline"]["nats"]


def test_a_name_with_a_dot_keeps_it(data):
    stem = data / "references" / "lookahead-1.5"
    reference.main([*settings(cell=cell("causal"), task=TASK), "--data", str(data / "data"), "--out", str(stem)])
    assert sorted(path.name for path in stem.parent.iterdir()) == ["lookahead-1.5.json", "lookahead-1.5.parquet"]


def test_where_no_ceiling_is_known_the_baseline_stands_in_its_place(tmp_path, monkeypatch):
    task = RandomTokens()
    monkeypatch.setattr(tasks, "build", lambda _: task)
    splits = task.splits(None)
    for split, made in splits.items():
        write_examples(tmp_path / "data" / f"{split}.parquet", made)
    found, table = run(tmp_path)
    assert found["ceiling"] is None
    assert found["baseline"]["nats"] == pytest.approx(np.log(4))
    assert table.equals(score(task.baseline("causal", splits["train"], splits["test"]), splits["test"]).table())


def test_the_same_command_twice_gives_the_same_bytes(data):
    run(data)
    before = [path.read_bytes() for path in sorted((data / "references").iterdir())]
    run(data)
    assert [path.read_bytes() for path in sorted((data / "references").iterdir())] == before
