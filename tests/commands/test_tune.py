import json

import pytest

from maskstudy.commands import train, tune
from maskstudy.errors import StudyError
from maskstudy.files import read_json, read_table, write_json
from maskstudy.schemas import HISTORY
from small_study import HMM, MODEL, TRAINING, cell, settings

TUNING = {"scales": [0.5, 1, 2], "seeds": 2, "steps": 0.5, "tolerance": 0.0}


def run(folder, out="tuning.json", training=TRAINING, **tuning):
    given = settings(cell=cell(), task=HMM, model=MODEL, training=training, tuning={**TUNING, **tuning}, device="cpu")
    paths = {"data": folder / "data", "audit": folder / "audit.json", "out": folder / out}
    tune.main([*given, *(part for name, path in paths.items() for part in (f"--{name}", str(path)))])
    return read_json(folder / out)


def test_every_scale_is_tried_with_every_seed_and_the_test_split_is_never_opened(study):
    found = run(study)
    assert {name: found[name] for name in cell()} == cell()
    assert [(row["scale"], row["seed"]) for row in found["curve"]] == [
        (scale, seed) for scale in (0.5, 1.0, 2.0) for seed in (1000, 1001)
    ]
    for row in found["curve"]:
        assert row["learning_rate"] == row["scale"] * TRAINING["learning_rate"]
        assert row["adamw_learning_rate"] == row["scale"] * TRAINING["adamw_learning_rate"]
    means = {scale: sum(row["nats"] for row in found["curve"] if row["scale"] == scale) for scale in (0.5, 1.0, 2.0)}
    assert found["chosen"] == min(means, key=means.get)
    assert found["at_edge"] == (found["chosen"] in (0.5, 2.0))
    assert found["learning_rate"] == found["chosen"] * TRAINING["learning_rate"]


def test_a_point_of_the_curve_is_the_end_of_a_run_of_train(study):
    found = run(study, steps=1.0)
    write_json(study / "as_declared.json", {**cell(), "chosen": 2.0})
    given = settings(cell=cell(), task=HMM, model=MODEL, training=TRAINING, device="cpu")
    paths = {name: study / path for name, path in (("data", "data"), ("audit", "audit.json"), ("run", "run"))}
    paths["tuning"] = study / "as_declared.json"
    train.main([*given, "--seed", "1001", *(part for name in paths for part in (f"--{name}", str(paths[name])))])
    end = read_table(study / "run/history.parquet", HISTORY).to_pylist()[-1]
    row = found["curve"][-1]
    assert (row["scale"], row["seed"]) == (2.0, 1001)
    assert (row["nats"], row["accuracy"]) == (end["nats"], end["accuracy"])
    assert row["train_flops"] == read_json(study / "run/cost.json")["train_flops"]


def test_the_same_command_gives_the_same_bytes(study):
    run(study, "one.json")
    run(study, "other.json")
    assert (study / "one.json").read_bytes() == (study / "other.json").read_bytes()


def test_a_wide_tolerance_keeps_the_declared_rates(study):
    found = run(study, tolerance=100.0)
    assert (found["chosen"], found["at_edge"]) == (1.0, False)
    assert found["learning_rate"] == TRAINING["learning_rate"]


def test_a_grid_of_one_point_trains_nothing(study, monkeypatch):
    monkeypatch.setattr(tune, "train", lambda *_, **__: pytest.fail("trained"))
    found = run(study, scales=[1])
    assert (found["curve"], found["chosen"], found["at_edge"]) == ([], 1.0, False)


def test_a_training_that_diverges_is_kept_in_the_curve_and_not_chosen(study, capsys):
    found = run(study, scales=[1, 1e30], seeds=1)
    assert found["chosen"] == 1.0
    assert [row["nats"] is None for row in found["curve"]] == [False, True]
    assert "lower the learning rates" in capsys.readouterr().out
    with pytest.raises(StudyError, match="no number at any scale"):
        run(study, "none.json", TRAINING | {"learning_rate": 1e30, "adamw_learning_rate": 1e30})
    assert not (study / "none.json").exists()


def test_the_edge_is_told_in_the_log(study, capsys):
    found = run(study, scales=[1, 2], seeds=1)
    assert found["at_edge"]
    assert f"{found['chosen']:g} times the declared rates, the edge of the grid" in capsys.readouterr().out


def test_nothing_is_tuned_that_the_audit_has_not_passed(study):
    write_json(study / "audit.json", {**cell(), "leaks": True})
    with pytest.raises(StudyError, match="the audit is not a pass of task hmm_tagging, mask causal"):
        run(study)
    assert not (study / "tuning.json").exists()


def test_the_settings_are_named_where_they_are_missing():
    with pytest.raises(StudyError, match="tuning, device missing"):
        tune.main(["--settings", json.dumps({"cell": {}, "task": {}, "model": {}, "training": {}})])
