import doctest
import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

from maskstudy.audit import Leak, find_leak
from maskstudy.baselines import backoff_log_probabilities
from maskstudy.data.splits import check_disjoint
from maskstudy.errors import StudyError
from maskstudy.scoring import score
from maskstudy.shape import build_shape
from maskstudy.tasks import markov_next
from maskstudy.tasks.markov_next import BASELINE_REACH, MarkovNext
from maskstudy.tasks.task import NOT_SCORED, NOWHERE, Examples, Task, next_tokens
from maskstudy.training import train
from maskstudy.training_settings import TrainingSettings

SMALL = {"train_examples": 400, "validation_examples": 20, "test_examples": 100}
MODEL = {"width": 16, "layers": 2, "heads": 2, "positions": "rotary", "dropout": 0.0}


def small(**changes):
    return MarkovNext(**({"symbols": 4, "length": 9, "concentration": 0.5} | SMALL | changes))


def examples(tokens):
    tokens = np.asarray(tokens, dtype=np.int16)
    lengths = np.full(len(tokens), tokens.shape[1], dtype=np.int32)
    targets, target_positions = next_tokens(tokens, lengths)
    return Examples(tokens, targets, lengths, np.zeros_like(lengths), target_positions)


def every_sequence(task):
    """All sequences there are, and the probability of each, from the definition of a chain."""
    chain = task.chain()
    sequences = np.array(list(itertools.product(range(task.symbols), repeat=task.length)))
    probabilities = chain.initial[sequences[:, 0]].copy()
    for step in range(1, task.length):
        probabilities *= chain.transition[sequences[:, step - 1], sequences[:, step]]
    return examples(sequences), probabilities


def entropy_rate(task):
    """−Σ π P log P (Cover & Thomas 2006, theorem 4.2.4)."""
    chain = task.chain()
    return -float((chain.initial[:, None] * chain.transition * np.log(chain.transition)).sum())


def test_the_worked_example():
    result = doctest.testmod(markov_next)
    assert result.attempted
    assert not result.failed


def test_it_is_a_task():
    task: Task = MarkovNext()
    assert (task.vocabulary, task.answers, task.length, task.dataset, task.generative) == (12, 12, 65, None, True)


# --- examples ---------------------------------------------------------------------------------------------------------


def test_the_answer_is_the_next_token_and_the_last_position_has_none():
    for split in small().splits(None).values():
        np.testing.assert_array_equal(split.targets[:, :-1], split.tokens[:, 1:])
        assert (split.targets[:, -1] == NOT_SCORED).all()
        np.testing.assert_array_equal(split.target_positions[:, :-1], np.tile(np.arange(1, 9), (len(split), 1)))
        assert (split.target_positions[:, -1] == NOWHERE).all()
        assert split.targets.dtype == split.target_positions.dtype == split.tokens.dtype == np.int16


def test_splits_are_of_the_sizes_asked_for_and_share_no_sequence():
    splits = small().splits(None)
    assert {name: len(split) for name, split in splits.items()} == {"train": 400, "validation": 20, "test": 100}
    check_disjoint(splits)


def test_sequences_follow_the_chain():
    task = small(train_examples=20_000, length=12, symbols=3)
    chain, tokens = task.chain(), task.splits(None)["train"].tokens
    counts = np.zeros((3, 3))
    np.add.at(counts, (tokens[:, :-1].ravel(), tokens[:, 1:].ravel()), 1)
    np.testing.assert_allclose(counts / counts.sum(1, keepdims=True), chain.transition, atol=0.01)
    np.testing.assert_allclose(np.bincount(tokens[:, 0], minlength=3) / len(tokens), chain.initial, atol=0.02)


def test_the_chain_is_that_of_its_seed():
    assert np.array_equal(small().chain().transition, small(test_examples=3).chain().transition)
    assert not np.array_equal(small().chain().transition, small(chain_seed=1).chain().transition)


def test_a_batch_hides_nothing():
    split = small().splits(None)["train"]
    batch = small().batch(split, np.array([3, 1, 3]), np.random.default_rng(0))
    np.testing.assert_array_equal(batch.tokens, split.tokens[[3, 1, 3]])
    np.testing.assert_array_equal(batch.targets, split.targets[[3, 1, 3]])


# --- ceilings ---------------------------------------------------------------------------------------------------------


def test_the_ceiling_is_the_posterior_given_all_that_is_seen():
    """By enumeration: P(answer | the tokens that the mask shows), summed over all sequences that agree with them."""
    task = small(symbols=3, length=4)
    everything, probabilities = every_sequence(task)
    for mask, ahead in (("causal", 0), ("lookahead-1", 1), ("full", 4)):
        found = np.exp(task.ceiling(mask, everything)).reshape(-1, 3, 3)  # sequences, positions, symbols
        for row, position in itertools.product(range(0, len(everything), 7), range(3)):
            seen = slice(0, position + ahead + 1)
            agrees = (everything.tokens[:, seen] == everything.tokens[row, seen]).all(1)
            posterior = [
                probabilities[agrees & (everything.tokens[:, position + 1] == symbol)].sum() for symbol in range(3)
            ]
            np.testing.assert_allclose(found[row, position], posterior / np.sum(posterior), atol=1e-12)


def test_the_floor_is_the_entropy_rate():
    task = small(symbols=3, length=5)
    everything, probabilities = every_sequence(task)
    nats = score(task.ceiling("causal", everything), everything).nats
    assert probabilities.sum() == pytest.approx(1)
    assert (probabilities * nats).sum() / 4 == pytest.approx(entropy_rate(task), rel=1e-12)


def test_the_floor_of_the_default_chain_on_its_test_data():
    task = MarkovNext(train_examples=1)
    test = task.splits(None)["test"]
    nats = score(task.ceiling("causal", test), test).nats / 64
    assert abs(nats.mean() - entropy_rate(task)) < 4 * nats.std() / np.sqrt(len(nats))


@pytest.mark.parametrize("mask", ["lookahead-1", "lookahead-4", "full"])
def test_who_sees_the_answer_knows_it(mask):
    task = small()
    test = task.splits(None)["test"]
    assert score(task.ceiling(mask, test), test).metrics() == {"accuracy": 1.0, "nats": 0.0}


def test_a_ceiling_is_of_the_scored_positions_alone():
    task = small()
    test = task.splits(None)["test"]
    later = np.where(np.arange(9) < 5, np.int16(NOT_SCORED), test.targets)
    part = task.ceiling("causal", replace(test, targets=later))
    np.testing.assert_array_equal(part, task.ceiling("causal", test).reshape(100, 8, 4)[:, 5:].reshape(-1, 4))


@pytest.mark.parametrize("what", ["ceiling", "baseline"])
def test_a_mask_that_shows_no_window_is_refused(what):
    task = small()
    splits = task.splits(None)
    given = ("prefix", splits["test"]) if what == "ceiling" else ("prefix", splits["train"], splits["test"])
    with pytest.raises(StudyError, match="prefix"):
        getattr(task, what)(*given)


# --- baseline ---------------------------------------------------------------------------------------------------------


def test_the_baseline_counts_the_states_before_the_answer_and_the_answer_where_it_is_seen():
    task = small()
    splits = task.splits(None)
    before = tuple(-distance for distance in range(BASELINE_REACH))
    for mask, offsets in (("causal", before), ("lookahead-2", (1, *before)), ("full", (1, *before))):
        expected = backoff_log_probabilities(splits["train"], splits["test"], offsets, 4)
        np.testing.assert_array_equal(task.baseline(mask, splits["train"], splits["test"]), expected)


def test_the_baseline_comes_near_the_ceiling_of_its_access():
    task = small(train_examples=20_000, symbols=3, length=12)
    splits = task.splits(None)
    for mask in ("causal", "full"):
        baseline = score(task.baseline(mask, splits["train"], splits["test"]), splits["test"]).metrics()
        ceiling = score(task.ceiling(mask, splits["test"]), splits["test"]).metrics()
        assert -0.005 < baseline["nats"] - ceiling["nats"] < 0.01


def test_the_causal_baseline_does_not_look_at_the_answer():
    task = small()
    splits = task.splits(None)
    test = splits["test"]
    changed = examples((test.tokens + (np.arange(9) >= 5)) % 4)  # everything from position 5 on
    for mask, blind in (("causal", True), ("full", False)):
        one, other = (task.baseline(mask, splits["train"], split).reshape(100, 8, 4) for split in (test, changed))
        assert np.array_equal(one[:, :5], other[:, :5]) == blind
        assert not np.array_equal(one[:, 5:], other[:, 5:])


# --- leaks and learning -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_the_answer_leaks_wherever_the_next_token_is_seen(layers):
    test = small().splits(None)["test"]
    assert find_leak("causal", layers, test) is None
    assert find_leak("full", layers, test) == Leak(0, 1, (*[1] * layers, 0))
    assert find_leak("lookahead-1", layers, test) == Leak(0, 1, (1, *[0] * layers))


def test_on_independent_tokens_only_who_sees_the_answer_falls_below_ln_v():
    task = small(concentration=1e9, train_examples=4000, test_examples=500)  # every row of the chain is uniform
    splits = task.splits(None)
    settings = TrainingSettings(steps=120, batch=32, learning_rate=0.02, adamw_learning_rate=0.01, warmup=10, points=1)
    torch.set_num_threads(1)
    losses = {}
    for mask in ("causal", "full"):
        _, history, _ = train(
            task, mask, splits["train"], splits["test"], build_shape(task, MODEL), settings, 0, report=lambda _: None
        )
        losses[mask] = history[-1].nats
    assert entropy_rate(task) == pytest.approx(np.log(4))
    assert np.log(4) - 1e-3 < losses["causal"] < np.log(4) + 0.05
    assert losses["full"] < 0.3


# --- parameters -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"symbols": 1}, "symbols: 1"),
        ({"symbols": 2**15}, "symbols: 32768"),
        ({"length": 1}, "length: 1"),
        ({"length": 9.0}, "length: 9.0"),
        ({"concentration": 0}, "concentration: 0"),
        ({"concentration": float("inf")}, "concentration: inf"),
        ({"chain_seed": -1}, "chain_seed: -1"),
        ({"train_examples": 0}, "train_examples: 0"),
        ({"validation_examples": None}, "validation_examples: None"),
        ({"test_examples": True}, "test_examples: True"),
    ],
)
def test_parameters_out_of_range_are_one_line(parameters, named):
    with pytest.raises(StudyError, match="allowed") as raised:
        MarkovNext(**parameters)
    assert f"markov_next: {named};" in str(raised.value)
    assert "\n" not in str(raised.value)
