"""`maskstudy reference`: the baseline, the ideal observer, and the worth of frequencies alone."""

import numpy as np
import pytest

from maskstudy import files, tasks
from maskstudy.commands import prepare, reference
from maskstudy.data.examples import read_examples
from maskstudy.schemas import PREDICTIONS
from maskstudy.scoring import score
from small_study import HMM, RandomTokens, cell, settings

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


def test_a_name_with_a_dot_keeps_it(tmp_path):
    made(tmp_path, HMM, "causal")
    stem = tmp_path / "others" / "lookahead-1.5"
    reference.main([*settings(cell=cell("causal"), task=HMM), "--data", str(tmp_path / "data"), "--out", str(stem)])
    assert sorted(path.name for path in stem.parent.iterdir()) == ["lookahead-1.5.json", "lookahead-1.5.parquet"]


def test_where_no_ceiling_is_known_the_baseline_stands_in_its_place(tmp_path, monkeypatch):
    monkeypatch.setattr(tasks, "build", lambda _: RandomTokens())
    found, predictions = made(tmp_path, HMM, "causal")
    train, test = (read_examples(tmp_path / f"data/{name}.parquet") for name in ("train", "test"))
    assert found["ceiling"] is None
    assert found["baseline"]["nats"] == pytest.approx(np.log(4))
    assert predictions.equals(score(RandomTokens().baseline("causal", train, test), test).table())


def test_the_same_command_twice_gives_the_same_bytes(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        made(folder, HMM, "causal")
    for path in (first / "references").iterdir():
        assert path.read_bytes() == (second / "references" / path.name).read_bytes()
