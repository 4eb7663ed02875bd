import numpy as np
import pytest

from maskstudy import tasks
from maskstudy.commands import supervision
from maskstudy.data.documents import Document
from maskstudy.data.examples import write_examples
from maskstudy.errors import StudyError
from maskstudy.evaluation import log_probabilities
from maskstudy.files import read_table, write_json
from maskstudy.schemas import SUPERVISION
from maskstudy.scoring import score
from maskstudy.shape import build_shape
from maskstudy.supervision import final_only
from small_study import MODEL, cell, random_model, save_model, settings

EVERY = {"kind": "next_byte", "parameters": {"length": 9}, "dataset": "wikitext2"}
FINAL = {"kind": "final_byte", "parameters": {"length": 8}, "dataset": "wikitext2"}
CELLS = [cell(task="every"), cell(task="final"), cell("full", task="final")]
SEEDS = [0, 3]
TEXT = [Document("a", "Nobody asked the heron where it had been."), Document("b", "An old mare.")]


@pytest.fixture
def models():
    shape = build_shape(tasks.build(EVERY), MODEL)
    return {seed: random_model(shape, seed=seed).float() for seed in SEEDS}


@pytest.fixture
def results(tmp_path, models):
    """Test windows, references and runs; the models of `final` are not needed, for `evaluate` scored them."""
    for name, task in (("every", EVERY), ("final", FINAL)):
        write_examples(tmp_path / "data" / name / "test.parquet", tasks.build(task).windows(TEXT))
    for number, one in enumerate(CELLS):
        path = tmp_path / "references" / one["task"] / f"{one['mask']}.json"
        write_json(path, {"baseline": {"accuracy": number / 10, "nats": number}})
        for seed in SEEDS:
            folder = tmp_path / "runs" / one["task"] / one["mask"] / f"seed-{seed}"
            run = {**one, "seed": seed, "metrics": {"accuracy": 0.25, "nats": 4.0 + seed}, "scored": 1}
            given = {"parameters": 7, "steps": 5, "tokens_seen": 60, "targets_seen": 50 + number, "train_flops": 1e6}
            write_json(folder / "metrics.json", run | given)
            if one["task"] == "every":
                save_model(folder, models[seed], one["mask"], EVERY)
    return tmp_path


def run(results, cells=CELLS):
    asked = [cell | {"seeds": SEEDS} for cell in cells]
    given = settings(tasks={"every": EVERY, "final": FINAL}, models={"every": MODEL, "final": MODEL}, cells=asked)
    supervision.main([*given, "--results", str(results)])
    return read_table(results / "supervision.parquet", SUPERVISION).to_pylist()


def test_one_row_a_run_and_metric_with_what_it_was_given(results):
    table = run(results)
    assert [(row["task"], row["mask"], row["seed"], row["metric"]) for row in table] == [
        (one["task"], one["mask"], seed, metric) for one in CELLS for seed in SEEDS for metric in ("accuracy", "nats")
    ]
    assert [row["targets_seen"] for row in table[::4]] == [50, 51, 52]
    assert {row["scored"] for row in table} == {len(tasks.build(FINAL).windows(TEXT))}


def test_models_of_every_byte_are_scored_on_the_final_ones_alone(results, models):
    test = final_only(tasks.build(EVERY).windows(TEXT))
    for row in run(results):
        if row["task"] == "every":
            expected = score(log_probabilities(models[row["seed"]], "causal", test), test).metrics()
            assert row["value"] == pytest.approx(expected[row["metric"]])
            assert row["value"] not in (0.25, 4.0 + row["seed"])


def test_models_of_the_final_byte_keep_the_score_that_they_have(results):
    found = {(row["mask"], row["seed"]): row["value"] for row in run(results) if row["metric"] == "nats"}
    assert found["full", 3] == 7.0
    assert found["full", 0] == 4.0


def test_the_baseline_is_that_of_the_final_positions_for_all(results):
    table = run(results)
    assert {row["baseline"] for row in table if row["metric"] == "nats"} == {1.0}  # of final, causal
    assert {row["baseline"] for row in table if row["metric"] == "accuracy"} == {0.1}


def test_other_windows_are_refused(results):
    write_examples(results / "data/final/test.parquet", tasks.build(FINAL).windows(TEXT[::-1]))
    with pytest.raises(StudyError, match="the final positions of final and every differ"):
        run(results)
    assert not (results / "supervision.parquet").exists()


def test_the_same_command_twice_gives_the_same_bytes(results):
    run(results)
    before = (results / "supervision.parquet").read_bytes()
    run(results)
    assert (results / "supervision.parquet").read_bytes() == before
    assert np.isfinite([row["value"] for row in run(results)]).all()
