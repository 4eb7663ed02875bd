import doctest
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskstudy import tasks
from maskstudy.baselines import neighbours
from maskstudy.ceilings import HiddenMarkovModel
from maskstudy.data.splits import check_disjoint, without_repeats
from maskstudy.errors import StudyError
from maskstudy.scoring import score
from maskstudy.tasks import hmm_tagging
from maskstudy.tasks.hmm_tagging import BASELINE_REACH, HmmTagging
from maskstudy.tasks.task import NOWHERE, Examples, Task

SPLITS = ("train", "validation", "test")
MASKS = ("causal", "lookahead-1", "lookahead-2", "lookahead-4", "full")


def task_of(**changes):
    sizes = {"length": 12, "train_examples": 400, "validation_examples": 20, "test_examples": 60}
    return HmmTagging(**(sizes | changes))


def same(one, other):
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in vars(one))


def test_the_worked_example():
    result = doctest.testmod(hmm_tagging)
    assert result.attempted
    assert not result.failed


def test_the_worked_example_is_by_hand():
    """P(state | first symbol) ∝ P(state) · P(symbol | state), and the symbols after it change the second row most."""
    task = HmmTagging(
        2, 3, 4, transition_concentration=1, emission_concentration=1, chain_seed=10,
        train_examples=1, validation_examples=1, test_examples=1,
    )  # fmt: skip
    chain, test = task.chain(), task.splits(None)["test"]
    joint = chain.initial * chain.emission[:, test.tokens[0, 0]]
    causal, full = (np.exp(task.ceiling(mask, test)) for mask in ("causal", "full"))
    np.testing.assert_allclose(causal[0], joint / joint.sum())
    assert abs(full - causal).max(axis=1).argmax() == 1


def test_it_is_a_task():
    task: Task = HmmTagging(states=3, symbols=7, length=9)
    assert (task.vocabulary, task.answers, task.length, task.dataset) == (7, 3, 9, None)
    assert isinstance(tasks.build({"kind": "hmm_tagging", "parameters": {"states": 3}}), HmmTagging)


# --- splits -----------------------------------------------------------------------------------------------------------


def test_splits_have_their_sizes_and_score_every_position():
    task = task_of()
    splits = task.splits(None)
    assert {split: len(splits[split]) for split in SPLITS} == {"train": 400, "validation": 20, "test": 60}
    for examples in splits.values():
        assert examples.tokens.shape == examples.targets.shape == (len(examples), 12)
        assert examples.tokens.dtype == examples.targets.dtype == examples.target_positions.dtype == np.int16
        assert examples.scored.all()
        assert 0 <= examples.tokens.min() <= examples.tokens.max() < task.vocabulary
        assert 0 <= examples.targets.min() <= examples.targets.max() < task.answers
        assert (examples.lengths == 12).all()
        assert not examples.condition_lengths.any()
        assert (examples.target_positions == NOWHERE).all()  # a hidden state stands nowhere in the input


def test_splits_are_a_function_of_the_parameters():
    first, again, other = (task_of(chain_seed=seed).splits(None) for seed in (1, 1, 2))
    for split in SPLITS:
        assert same(first[split], again[split])
        assert not np.array_equal(first[split].tokens, other[split].tokens)


def test_more_train_examples_leave_test_and_validation_as_they_were():
    few, many = task_of(train_examples=10).splits(None), task_of(train_examples=300).splits(None)
    for split in ("validation", "test"):
        assert same(few[split], many[split])


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 99), st.integers(3, 6))
def test_no_sequence_stands_in_two_splits_however_short(seed, length):
    task = HmmTagging(
        states=2, symbols=4, length=length, emission_concentration=5, chain_seed=seed,
        train_examples=100, validation_examples=5, test_examples=5,
    )  # fmt: skip
    splits = task.splits(None)
    check_disjoint(splits)
    _, left_out = without_repeats(splits)
    assert left_out == dict.fromkeys(SPLITS, 0)


def test_sequences_that_cannot_be_told_apart_are_refused():
    with pytest.raises(StudyError, match="length 1 leaves too few different sequences") as raised:
        HmmTagging(symbols=2, length=1, train_examples=2, validation_examples=2, test_examples=50).splits(None)
    assert "\n" not in str(raised.value)


def test_sequences_have_the_transitions_and_emissions_of_the_chain():
    task = task_of(train_examples=20_000, length=10)
    chain, train = task.chain(), task.splits(None)["train"]
    states, symbols = train.targets, train.tokens

    def check(given, drawn, distributions):
        for row, distribution in enumerate(distributions):
            of_row = drawn[given == row]
            counts, expected = np.bincount(of_row, minlength=len(distribution)), len(of_row) * distribution
            assert (abs(counts - expected) <= 5 * np.sqrt(expected) + 2).all()

    check(states[:, :-1].ravel(), states[:, 1:].ravel(), chain.transition)
    check(states.ravel(), symbols.ravel(), chain.emission)
    check(np.zeros(len(states)), states[:, 0], chain.initial[None])


def test_a_batch_is_the_examples_at_the_index():
    task = task_of()
    train = task.splits(None)["train"]
    index = np.array([5, 0, 5])
    batch = task.batch(train, index, np.random.default_rng(0))
    assert same(batch, train[index])


# --- the chain --------------------------------------------------------------------------------------------------------


def test_the_chain_is_stationary_and_a_function_of_its_seed():
    chain = HmmTagging().chain()
    assert isinstance(chain, HiddenMarkovModel)
    np.testing.assert_allclose(chain.initial @ chain.transition, chain.initial, atol=1e-12)
    for distribution in (chain.initial, *chain.transition, *chain.emission):
        assert distribution.sum() == pytest.approx(1)
    np.testing.assert_array_equal(chain.transition, HmmTagging().chain().transition)
    assert not np.array_equal(chain.transition, HmmTagging(chain_seed=1).chain().transition)


def test_a_small_concentration_makes_rows_sharp():
    def entropy(rows):
        return -(rows * np.log(np.maximum(rows, 1e-300))).sum(1).mean()

    sharp, flat = (HmmTagging(transition_concentration=each).chain() for each in (0.05, 50))
    assert entropy(sharp.transition) < 0.5 * math.log(8) < 0.9 * math.log(8) < entropy(flat.transition)
    sharp, flat = (HmmTagging(emission_concentration=each).chain() for each in (0.05, 50))
    assert entropy(sharp.emission) < 0.5 * math.log(12) < 0.9 * math.log(12) < entropy(flat.emission)


# --- ceilings ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def default_scores():
    """Of the default chain and its whole test split: ideal observer and baseline, by mask."""
    task = HmmTagging(train_examples=8192)
    splits = task.splits(None)
    return {
        mask: (
            score(task.ceiling(mask, splits["test"]), splits["test"]),
            score(task.baseline(mask, splits["train"], splits["test"]), splits["test"]),
        )
        for mask in MASKS
    }


def test_the_ceilings_of_the_default_chain_lie_apart(default_scores):
    accuracy = [default_scores[mask][0].metrics()["accuracy"] for mask in MASKS]
    nats = [default_scores[mask][0].metrics()["nats"] for mask in MASKS]
    assert accuracy[-1] - accuracy[0] >= 0.05
    assert accuracy == sorted(accuracy)
    assert nats == sorted(nats, reverse=True)


@pytest.mark.parametrize("mask", MASKS)
def test_no_baseline_is_better_than_the_ideal_observer(default_scores, mask):
    ideal, baseline = (scores.metrics() for scores in default_scores[mask])
    assert ideal["accuracy"] > baseline["accuracy"]
    assert ideal["nats"] < baseline["nats"]
    assert baseline["accuracy"] > 0.5 > 1 / 8  # and it is no straw man


def test_ceilings_are_distributions_over_states_at_every_position():
    task = task_of()
    test = task.splits(None)["test"]
    for mask in MASKS:
        said = task.ceiling(mask, test)
        assert said.shape == (test.scored.sum(), task.answers)
        np.testing.assert_allclose(np.exp(said).sum(-1), 1)
        assert not np.isnan(said).any()


def at_position(values, position, length=12):
    return values.reshape(-1, length, values.shape[-1])[:, position]


def reseen(test, position, task):
    """The same examples with another symbol at `position`, that the chain may well emit there."""
    tokens = test.tokens.copy()
    tokens[:, position] = (tokens[:, position] + 1) % task.vocabulary
    return Examples(**{**vars(test), "tokens": tokens})


@pytest.mark.parametrize(("mask", "future"), [("causal", 0), ("lookahead-1", 1), ("lookahead-4", 4), ("full", 11)])
def test_the_ceiling_uses_what_the_mask_shows_and_nothing_else(mask, future):
    task = task_of(emission_concentration=2, transition_concentration=2)
    test = task.splits(None)["test"]
    before = task.ceiling(mask, test)
    after = task.ceiling(mask, reseen(test, 8, task))
    for position in range(12):
        same_answers = np.array_equal(at_position(before, position), at_position(after, position))
        assert same_answers == (position + future < 8)


@pytest.mark.parametrize("mask", MASKS)
def test_the_baseline_uses_visible_neighbours_and_nothing_else(mask):
    # So few symbols that every context was seen, and each symbol of it tells.
    task = task_of(states=3, symbols=3, emission_concentration=2, transition_concentration=2, train_examples=3000)
    splits = task.splits(None)
    before = task.baseline(mask, splits["train"], splits["test"])
    after = task.baseline(mask, splits["train"], reseen(splits["test"], 6, task))
    assert before.shape == (splits["test"].scored.sum(), task.answers)
    np.testing.assert_allclose(np.exp(before).sum(-1), 1)
    offsets = (0, *neighbours(mask, BASELINE_REACH))
    for position in range(12):
        same_answers = np.array_equal(at_position(before, position), at_position(after, position))
        assert same_answers == (6 - position not in offsets)


@pytest.mark.parametrize("method", ["baseline", "ceiling"])
def test_a_mask_that_shows_no_window_is_refused(method):
    task = task_of()
    splits = task.splits(None)
    given = ("prefix", splits["train"], splits["test"]) if method == "baseline" else ("prefix", splits["test"])
    with pytest.raises(StudyError, match="'prefix'"):
        getattr(task, method)(*given)


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "allowed"),
    [
        ({"states": 1}, "whole numbers from 2 to 32767"),
        ({"symbols": 40_000}, "whole numbers from 2 to 32767"),
        ({"symbols": "many"}, "whole numbers from 2"),
        ({"length": 0}, "whole numbers from 1"),
        ({"length": True}, "whole numbers from 1"),
        ({"length": 2.0}, "whole numbers from 1"),
        ({"train_examples": 0}, "whole numbers from 1"),
        ({"validation_examples": -1}, "whole numbers from 1"),
        ({"test_examples": None}, "whole numbers from 1"),
        ({"chain_seed": -1}, "whole numbers from 0"),
        ({"chain_seed": "a"}, "whole numbers from 0"),
        ({"transition_concentration": 0}, "numbers above 0"),
        ({"transition_concentration": float("nan")}, "numbers above 0"),
        ({"transition_concentration": float("inf")}, "numbers above 0"),
        ({"emission_concentration": "low"}, "numbers above 0"),
        ({"emission_concentration": True}, "numbers above 0"),
    ],
)
def test_a_parameter_out_of_range_is_one_line(changes, allowed):
    (name, value), = changes.items()  # fmt: skip
    with pytest.raises(StudyError) as raised:
        HmmTagging(**changes)
    message = str(raised.value)
    assert message.startswith(f"hmm_tagging: {name}: {value!r}; allowed: {allowed}")
    assert "\n" not in message


def test_unknown_kinds_and_parameters_are_one_line():
    with pytest.raises(StudyError, match=f"task 'hmm' is not known; allowed: {', '.join(tasks.kinds())}"):
        tasks.build({"kind": "hmm", "parameters": {}})
    with pytest.raises(StudyError, match="parameter 'dataset' is not known; allowed: states, symbols"):
        tasks.build({"kind": "hmm_tagging", "parameters": {"dataset": None}})
