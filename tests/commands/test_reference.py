"""`maskstudy reference`: the baseline, the ideal observer, and the worth of frequencies alone."""

import numpy as np
import pytest

from maskstudy import files, tasks
from maskstudy.commands import prepare, reference
from maskstudy.data.examples import read_examples
from maskstudy.schemas import PREDICTIONS
from maskstudy.scoring import score
from small_study import HMM, cell, settings

MARKOV = {
    "kind": "markov_next",
    "dataset": None,
    "parameters": {"symbols": 4, "length": 12, "train_examples": 300, "validation_examples": 4, "test_examples": 50},
}


def made(folder, task, mask):
    prepare.main([*settings(**task), "--raw", "raw", "--out", str(folder / "data")])
    out = folder / "references" / mask
    given = settings(cell=cell(mask, task=task["kind"]), task=task)
    reference.main([*given, "--data", str(folder / "data"), "--out", str(out)])
    return files.read_json(out.with_suffix(".json")), files.read_table(out.with_suffix(".parquet"), PREDICTIONS)


@pytest.mark.parametrize("mask", ["causal", "full"])
def test_baseline_ceiling_and_frequencies_are_scored_on_the_test_split(tmp_path, mask):
    found, predictions = made(tmp_path, MARKOV, mask)
    task = tasks.build(MARKOV)
    train, test = (read_examples(tmp_path / f"data/{name}.parquet") for name in ("train", "test"))
    assert found["baseline"] == pytest.approx(score(task.baseline(mask, train, test), test).metrics())
    observer = score(task.ceiling(mask, test), test)
    assert found["ceiling"] == pytest.approx(observer.metrics())
    assert predictions["nats"].to_pylist() == observer.nats.tolist()

    answers = train.targets[train.scored]
    frequencies = np.bincount(answers, minlength=4) / len(answers)
    asked = test.targets[test.scored]
    assert found["unigram"]["nats"] == pytest.approx(-np.log(frequencies)[asked].mean(), abs=0.005)
    assert found["unigram"]["accuracy"] == pytest.approx((asked == frequencies.argmax()).mean())


def test_frequencies_alone_are_asked_for_where_the_answer_is_the_next_token(tmp_path):
    found, _ = made(tmp_path, HMM, "causal")
    assert found["unigram"] is None
    assert found["ceiling"]
