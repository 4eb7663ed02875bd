import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskstudy import files
from maskstudy.schemas import PREDICTIONS
from maskstudy.scoring import score
from maskstudy.tasks.task import NOT_SCORED
from small_study import examples


def drawn(seed, count, length, answers):
    """Examples, some of them without any scored position, and log-probabilities of their answers."""
    generator = np.random.default_rng(seed)
    targets = generator.integers(0, answers, (count, length))
    targets[generator.random((count, length)) < 0.4] = NOT_SCORED
    targets[0, 0] = 0
    log_probabilities = np.log(generator.dirichlet(np.ones(answers), int((targets != NOT_SCORED).sum())))
    return examples(np.zeros((count, length)), targets=targets), log_probabilities


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**31), st.integers(1, 5), st.integers(1, 5), st.integers(1, 4))
def test_scores_are_a_loop_over_examples_and_positions(seed, count, length, answers):
    split, log_probabilities = drawn(seed, count, length, answers)
    scores, row, predictions = score(log_probabilities, split), 0, []
    for example in range(count):
        scored = correct = 0
        nats = 0.0
        for target in split.targets[example].tolist():
            if target == NOT_SCORED:
                continue
            said = log_probabilities[row].tolist()
            predictions.append(said.index(max(said)))
            scored, correct, nats = scored + 1, correct + (predictions[-1] == target), nats - said[target]
            row += 1
        assert scores.scored[example] == scored
        assert scores.correct[example] == correct
        assert scores.nats[example] == pytest.approx(nats)
    assert scores.predictions.tolist() == predictions
    metrics = scores.metrics()
    assert metrics["accuracy"] == pytest.approx(scores.correct.sum() / row)
    assert metrics["nats"] == pytest.approx(scores.nats.sum() / row)


def test_metrics_by_hand():
    split = examples([[0, 0], [0, 0]], targets=[[1, NOT_SCORED], [0, 1]])
    scores = score(np.log([[0.25, 0.75], [0.25, 0.75], [0.5, 0.5]]), split)
    assert scores.scored.tolist() == [1, 2]
    assert scores.correct.tolist() == [1, 0]
    assert scores.metrics() == pytest.approx({"accuracy": 1 / 3, "nats": -math.log(0.75 * 0.25 * 0.5) / 3})


def test_positions_weigh_the_same_however_they_are_spread_over_examples():
    split = examples(np.zeros((2, 3)), targets=[[0, 0, 0], [0, NOT_SCORED, NOT_SCORED]])
    scores = score(np.log([[0.9, 0.1]] * 3 + [[0.1, 0.9]]), split)
    assert scores.metrics()["accuracy"] == 0.75
    assert scores.metrics()["nats"] == pytest.approx(-(3 * np.log(0.9) + np.log(0.1)) / 4)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**31), st.integers(1, 4))
def test_the_table_gives_every_example_its_own_predictions(seed, count):
    split, log_probabilities = drawn(seed, count, 4, 3)
    scores = score(log_probabilities, split)
    table = scores.table()
    assert table.schema == PREDICTIONS
    rows = table.to_pylist()
    assert [row["example"] for row in rows] == list(range(count))
    assert [row["nats"] for row in rows] == scores.nats.tolist()
    assert [len(row["predictions"]) for row in rows] == [row["scored"] for row in rows] == scores.scored.tolist()
    assert [said for row in rows for said in row["predictions"]] == scores.predictions.tolist()


def test_the_table_can_be_written_and_read(tmp_path):
    split, log_probabilities = drawn(0, 3, 4, 3)
    table = score(log_probabilities, split).table()
    files.write_table(tmp_path / "scores.parquet", table, PREDICTIONS)
    assert files.read_table(tmp_path / "scores.parquet", PREDICTIONS).equals(table)


def test_single_precision_goes_in_and_sums_are_double():
    split = examples(np.zeros((1, 1000)), targets=np.zeros((1, 1000)))
    said = np.full((1000, 2), math.log(0.1), dtype=np.float32)
    scores = score(said, split)
    assert scores.nats.dtype == np.float64
    assert scores.nats[0] == pytest.approx(-1000 * float(said[0, 0]), rel=1e-12)
