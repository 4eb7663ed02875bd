import pytest

from maskstudy import tasks
from maskstudy.audit import random_model as random_weights
from maskstudy.commands import representations
from maskstudy.data.examples import write_examples
from maskstudy.files import read_table
from maskstudy.representations import chosen, measures, streams
from maskstudy.schemas import REPRESENTATIONS
from maskstudy.shape import build_shape
from small_study import HMM, MODEL, cell, random_model, save_model, settings

SEEDS = [0, 2]
CELLS = [one | {"seeds": SEEDS} for one in (cell(), cell("full", "control"))]
TASK = tasks.build(HMM)
SHAPE = build_shape(TASK, MODEL)
TEST = TASK.splits(None)["test"]


@pytest.fixture(autouse=True)
def one_control(monkeypatch):
    monkeypatch.setattr(representations, "RANDOM", 1)


@pytest.fixture
def models():
    return {
        (one["mask"], seed): random_model(SHAPE, seed + len(one["mask"])).float() for one in CELLS for seed in SEEDS
    }


@pytest.fixture
def results(tmp_path, models):
    write_examples(tmp_path / "data/hmm_tagging/test.parquet", TEST)
    for (mask, seed), model in models.items():
        save_model(tmp_path / f"runs/hmm_tagging/{mask}/seed-{seed}", model, mask)
    return tmp_path


def run(results):
    given = settings(cells=CELLS, task=HMM, model=MODEL)
    representations.main([*given, "--results", str(results)])
    return read_table(results / "representations/hmm_tagging.parquet", REPRESENTATIONS).to_pylist()


def test_rows_are_the_measures_of_each_seed_under_its_own_masks(results, models):
    table, examples = run(results), chosen(TEST)
    for seed in SEEDS:
        masks = [one["mask"] for one in CELLS]
        expected = measures({mask: streams(models[mask, seed], mask, examples) for mask in masks}, examples)
        found = [row for row in table if (row["seed"], row["weights"]) == (seed, "trained")]
        assert [{name: row[name] for name in expected[0]} for row in found] == expected
        assert {(row["mask"], row["role"]) for row in found} == {("causal", "study"), ("full", "control")}
    assert {row["task"] for row in table} == {"hmm_tagging"}


def test_the_control_has_weights_that_were_never_trained_the_same_for_all_masks(results):
    rows = [row for row in run(results) if row["weights"] == "random"]
    assert {row["seed"] for row in rows} == {0}
    examples, model = chosen(TEST), random_weights(SHAPE, 0).float()
    expected = measures({one["mask"]: streams(model, one["mask"], examples) for one in CELLS}, examples)
    assert [row["value"] for row in rows] == [row["value"] for row in expected]
    (alike,) = [row["value"] for row in rows if row["measure"] == "cka" and row["layer"] == 0]
    assert alike == pytest.approx(1)


def test_the_same_command_twice_gives_the_same_bytes(results):
    run(results)
    before = (results / "representations/hmm_tagging.parquet").read_bytes()
    run(results)
    assert (results / "representations/hmm_tagging.parquet").read_bytes() == before
