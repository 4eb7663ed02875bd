import doctest
import itertools

import numpy as np
import pytest

from maskstudy.audit import find_leak
from maskstudy.baselines import backoff_log_probabilities
from maskstudy.data.splits import check_disjoint, without_repeats
from maskstudy.errors import StudyError
from maskstudy.scoring import score
from maskstudy.tasks import markov_masked
from maskstudy.tasks.markov_masked import BASELINE_REACH, MarkovMasked
from maskstudy.tasks.task import NOT_SCORED, NOWHERE, Task
from small_study import examples

SMALL = {"train_examples": 400, "validation_examples": 20, "test_examples": 200}
AHEAD = {"causal": 0, "lookahead-1": 1, "lookahead-3": 3, "full": 99}


def small(**changes):
    return MarkovMasked(**({"symbols": 4, "length": 9, "hidden": 0.3, "concentration": 0.5} | SMALL | changes))


def restored(split):
    return np.where(split.scored, split.targets, split.tokens)


def test_the_worked_example():
    result = doctest.testmod(markov_masked)
    assert result.attempted
    assert not result.failed


def test_it_is_a_task():
    task: Task = MarkovMasked()
    assert (task.vocabulary, task.answers, task.dataset, task.generative) == (5, 4, None, False)


# --- examples ---------------------------------------------------------------------------------------------------------


def test_train_is_whole_and_the_others_are_hidden_once_and_for_all():
    splits, again = small().splits(None), small().splits(None)
    assert not splits["train"].scored.any()
    assert splits["train"].tokens.max() < 4
    for name in ("validation", "test"):
        split = splits[name]
        assert (split.scored.sum(1) == 3).all()  # .3 of 9
        np.testing.assert_array_equal(split.tokens == 4, split.scored)
        assert (split.target_positions == NOWHERE).all()
        np.testing.assert_array_equal(split.tokens, again[name].tokens)
        assert len(np.unique(split.scored, axis=0)) > 10  # other positions in each sequence
    assert not np.array_equal(splits["validation"].scored, splits["test"].scored[:20])


def test_splits_are_of_the_sizes_asked_for_and_share_no_sequence_whatever_is_hidden():
    splits = small(length=5).splits(None)  # 1024 sequences: without care many would stand in two splits
    assert {name: len(split) for name, split in splits.items()} == {"train": 400, "validation": 20, "test": 200}
    whole = {name: {row.tobytes() for row in restored(split)} for name, split in splits.items()}
    assert not whole["train"] & whole["test"]
    assert not whole["validation"] & whole["test"]
    check_disjoint(splits)
    assert not any(without_repeats(splits)[1].values())


def test_a_batch_hides_anew_and_only_the_generator_decides_where():
    task = small()
    train = task.splits(None)["train"]
    index = np.array([3, 3, 1])
    batch = task.batch(train, index, np.random.default_rng(0))
    np.testing.assert_array_equal(restored(batch), train.tokens[index])
    assert not np.array_equal(batch.scored[0], batch.scored[1])  # one sequence twice in a batch: hidden anew
    np.testing.assert_array_equal(batch.scored, task.batch(train, index, np.random.default_rng(0)).scored)
    assert not np.array_equal(batch.scored, task.batch(train, index, np.random.default_rng(1)).scored)


def test_the_chain_is_that_of_its_seed():
    assert np.array_equal(small().chain().transition, small(test_examples=3).chain().transition)
    assert not np.array_equal(small().chain().transition, small(chain_seed=1).chain().transition)


# --- ceilings ---------------------------------------------------------------------------------------------------------


def every_sequence(task):
    """All sequences there are, and the probability of each, from the definition of a chain."""
    chain = task.chain()
    sequences = np.array(list(itertools.product(range(task.symbols), repeat=task.length)))
    probabilities = chain.initial[sequences[:, 0]].copy()
    for step in range(1, task.length):
        probabilities *= chain.transition[sequences[:, step - 1], sequences[:, step]]
    return sequences, probabilities


@pytest.mark.parametrize("mask", AHEAD)
@pytest.mark.parametrize("concentration", [0.5, 0.1])  # the second has transitions that (almost) never happen
def test_the_ceiling_is_the_posterior_given_the_shown_states_that_are_seen(mask, concentration):
    """By enumeration: P(hidden state | shown states that the mask shows), summed over all sequences that agree."""
    one = {"train_examples": 1, "validation_examples": 1, "test_examples": 40}
    task = small(symbols=3, length=6, hidden=0.5, concentration=concentration, chain_seed=3, **one)
    sequences, probabilities = every_sequence(task)
    test = task.splits(None)["test"]
    assert (test.scored[:, :-1] & test.scored[:, 1:]).any()  # runs of hidden states
    found = iter(np.exp(task.ceiling(mask, test)))
    for row, position in np.argwhere(test.scored):
        seen = (test.tokens[row] != 3) & (np.arange(6) <= position + AHEAD[mask])
        agrees = (sequences[:, seen] == test.tokens[row, seen]).all(1)
        posterior = [probabilities[agrees & (sequences[:, position] == state)].sum() for state in range(3)]
        np.testing.assert_allclose(next(found), posterior / np.sum(posterior), atol=1e-9)
    assert next(found, None) is None


def test_between_its_nearest_shown_states_the_ceiling_is_a_product_of_matrix_powers():
    task = small(length=7)
    chain, step = task.chain(), task.chain().transition
    tokens = [[0, 2, 4, 4, 4, 1, 3]]  # three hidden: two to five
    test = examples(tokens, targets=np.where(np.array(tokens) == 4, 0, NOT_SCORED))
    causal, full = (np.exp(task.ceiling(mask, test)) for mask in ("causal", "full"))
    for place, (left, right) in enumerate([(1, 3), (2, 2), (3, 1)]):
        before = np.linalg.matrix_power(step, left)[2]
        after = np.linalg.matrix_power(step, right)[:, 1]
        np.testing.assert_allclose(causal[place], before, atol=1e-12)
        np.testing.assert_allclose(full[place], before * after / (before @ after), atol=1e-12)
    alone = examples([[4, 4]], targets=[[0, 0]])
    np.testing.assert_allclose(np.exp(task.ceiling("full", alone)), [chain.initial] * 2, atol=1e-12)


def test_other_hidden_states_and_what_the_mask_hides_have_no_influence():
    task = small()
    test = task.splits(None)["test"]
    places = np.arange(9)
    first = np.where(test.scored, places, 9).min(1)  # the first hidden position of each
    changed = np.where((places > first[:, None]) & ~test.scored, (test.tokens + 1) % 4, test.tokens)
    other = examples(changed, targets=test.targets)
    starts = np.cumsum(test.scored.sum(1)) - test.scored.sum(1)  # rows of the first hidden positions
    np.testing.assert_array_equal(task.ceiling("causal", test)[starts], task.ceiling("causal", other)[starts])
    assert not np.array_equal(task.ceiling("full", test)[starts], task.ceiling("full", other)[starts])


def test_more_access_never_has_the_lower_ceiling_and_causal_and_full_lie_apart_by_default():
    task = MarkovMasked(train_examples=1)
    test = task.splits(None)["test"]
    metrics = [score(task.ceiling(mask, test), test).metrics() for mask in AHEAD]
    assert (np.diff([each["nats"] for each in metrics]) < 0).all()
    assert metrics[-1]["accuracy"] - metrics[0]["accuracy"] >= 0.05
    assert metrics[0]["nats"] - metrics[-1]["nats"] >= 0.05


@pytest.mark.parametrize("mask", AHEAD)
def test_the_observer_is_as_surprised_as_it_believes(mask):
    task = small(test_examples=4000, length=12)
    test = task.splits(None)["test"]
    logs = task.ceiling(mask, test)
    expected = -(np.exp(logs) * np.where(np.isfinite(logs), logs, 0)).sum(1)
    surplus = (-logs[np.arange(len(logs)), test.targets[test.scored]] - expected).reshape(4000, -1).mean(1)
    assert abs(surplus.mean()) < 4 * surplus.std() / np.sqrt(4000)


# --- baseline ---------------------------------------------------------------------------------------------------------


def test_the_baseline_counts_whole_sequences_and_is_cut_off_by_hidden_states():
    task = small()
    splits = task.splits(None)
    counted = examples(splits["train"].tokens, targets=splits["train"].tokens)
    left = tuple(-distance for distance in range(1, BASELINE_REACH + 1))
    sides = tuple(side * distance for distance in range(1, BASELINE_REACH + 1) for side in (-1, 1))
    for mask, offsets in (("causal", left), ("full", sides)):
        expected = backoff_log_probabilities(counted, splits["test"], offsets, 4, hidden=4)
        np.testing.assert_array_equal(task.baseline(mask, splits["train"], splits["test"]), expected)
    tokens = np.array([[1, 4, 4, 2]])
    behind = examples(tokens, targets=[[NOT_SCORED, 0, 0, NOT_SCORED]])
    changed = examples([[3, 4, 4, 2]], targets=behind.targets)
    one, other = (task.baseline("causal", splits["train"], each) for each in (behind, changed))
    assert not np.array_equal(one[0], other[0])
    np.testing.assert_array_equal(one[1], other[1])


@pytest.mark.parametrize("mask", ["causal", "full"])
def test_no_baseline_beats_the_ceiling_of_its_access(mask):
    task = small(train_examples=5000, test_examples=3000, length=12)
    splits = task.splits(None)
    baseline = score(task.baseline(mask, splits["train"], splits["test"]), splits["test"]).nats
    ceiling = score(task.ceiling(mask, splits["test"]), splits["test"]).nats
    gap = baseline - ceiling
    assert gap.mean() > 0
    assert gap.mean() / 4 < 0.1  # and it is no straw man


def test_no_answer_can_leak():
    test = small().splits(None)["test"]
    assert find_leak("full", 2, test) is None


# --- parameters -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"symbols": 1}, "symbols: 1"),
        ({"symbols": 2**15 - 1}, "symbols: 32767"),  # no number would be left for a hidden state
        ({"length": 1}, "length: 1"),
        ({"hidden": 0}, "hidden: 0"),
        ({"hidden": 1.5}, "hidden: 1.5"),
        ({"concentration": 0}, "concentration: 0"),
        ({"chain_seed": -1}, "chain_seed: -1"),
        ({"train_examples": 0}, "train_examples: 0"),
        ({"test_examples": True}, "test_examples: True"),
    ],
)
def test_parameters_out_of_range_are_one_line(parameters, named):
    with pytest.raises(StudyError, match="allowed") as raised:
        MarkovMasked(**parameters)
    assert f"markov_masked: {named};" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_mask_that_shows_no_window_is_refused():
    with pytest.raises(StudyError, match="mask 'prefix'"):
        small().check_cell("prefix", {})
    small().check_cell("lookahead-2", {})
