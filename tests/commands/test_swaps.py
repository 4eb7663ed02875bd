import pytest

from maskstudy import tasks
from maskstudy.audit import find_leak, scored_access_digest
from maskstudy.commands import swaps
from maskstudy.data.examples import write_examples
from maskstudy.errors import StudyError
from maskstudy.evaluation import log_probabilities
from maskstudy.files import read_table, write_json
from maskstudy.schemas import SWAPS
from maskstudy.scoring import score
from maskstudy.shape import build_shape
from small_study import HMM, MODEL, cell, random_model, save_model, settings

MASKS = ["causal", "prefix", "full"]  # without a condition, prefix is causal
SEEDS = [0, 3]
CELLS = [cell(mask) | {"seeds": SEEDS} for mask in MASKS]
TASK = tasks.build(HMM)
TEST = TASK.splits(None)["test"]


@pytest.fixture
def models():
    shape = build_shape(TASK, MODEL)
    return {(mask, seed): random_model(shape, seed + 10 * len(mask)).float() for mask in MASKS for seed in SEEDS}


@pytest.fixture
def results(tmp_path, models):
    """Test examples, audits, and runs with their scores under their own masks."""
    write_examples(tmp_path / "data/hmm_tagging/test.parquet", TEST)
    for one in CELLS:
        seen = scored_access_digest(one["mask"], MODEL["layers"], TEST)
        leaks = find_leak(one["mask"], MODEL["layers"], TEST) is not None
        write_json(
            tmp_path / f"audit/hmm_tagging/{one['mask']}.json",
            {**cell(one["mask"]), "scored_access": seen, "leaks": leaks},
        )
    for (mask, seed), model in models.items():
        folder = tmp_path / f"runs/hmm_tagging/{mask}/seed-{seed}"
        own = score(log_probabilities(model, mask, TEST), TEST).metrics()
        write_json(folder / "metrics.json", {**cell(mask), "seed": seed, "metrics": own})
        save_model(folder, model, mask)
    return tmp_path


def run(results, cells=CELLS):
    swaps.main([*settings(cells=cells, task=HMM, model=MODEL), "--results", str(results)])
    return read_table(results / "swaps/hmm_tagging.parquet", SWAPS).to_pylist()


def test_every_run_is_scored_under_every_other_mask(results, models):
    table = run(results)
    assert [(row["trained_mask"], row["seed"], row["tested_mask"], row["metric"]) for row in table] == [
        (trained, seed, tested, metric)
        for trained in MASKS
        for seed in SEEDS
        for tested in MASKS
        if tested != trained
        for metric in ("accuracy", "nats")
    ]
    for row in table:
        model = models[row["trained_mask"], row["seed"]]
        for name, mask in (("value", row["tested_mask"]), ("own_value", row["trained_mask"])):
            expected = score(log_probabilities(model, mask, TEST), TEST).metrics()[row["metric"]]
            assert row[name] == pytest.approx(expected, rel=1e-6)


def test_a_mask_that_admits_the_same_costs_nothing_and_another_something(results):
    for row in run(results):
        same = {row["trained_mask"], row["tested_mask"]} == {"causal", "prefix"}
        assert row["equal_access"] == same
        assert (row["value"] == pytest.approx(row["own_value"], rel=1e-6)) == same
        assert not row["leaks"]


def test_a_missing_run_is_named(results):
    (results / "runs/hmm_tagging/full/seed-3/metrics.json").unlink()
    with pytest.raises(StudyError, match=r"full/seed-3/metrics\.json: no such file"):
        run(results)
    assert not (results / "swaps").exists()


def test_the_same_command_twice_gives_the_same_bytes(results):
    run(results)
    before = (results / "swaps/hmm_tagging.parquet").read_bytes()
    run(results)
    assert (results / "swaps/hmm_tagging.parquet").read_bytes() == before
