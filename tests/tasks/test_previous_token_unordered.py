import doctest
import itertools
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pytest
import torch

from maskstudy.audit import find_leak, random_model
from maskstudy.baselines import bag_log_probabilities
from maskstudy.data.splits import check_disjoint
from maskstudy.errors import StudyError
from maskstudy.masks import layer_masks
from maskstudy.scoring import score
from maskstudy.shape import ModelShape
from maskstudy.tasks import previous_token_unordered
from maskstudy.tasks.previous_token_unordered import PreviousTokenUnordered
from maskstudy.tasks.task import NOT_SCORED, NOWHERE, Task
from small_study import examples

SMALL = {"symbols": 4, "length": 6, "train_examples": 300, "validation_examples": 20, "test_examples": 200}
UNORDERED = {"positions": "none", "layers": 2}


def small(**changes):
    return PreviousTokenUnordered(**(SMALL | changes))


def asked(tokens):
    """These sequences as examples of the task."""
    tokens = np.asarray(tokens)
    return examples(tokens, targets=np.hstack([np.full((len(tokens), 1), NOT_SCORED), tokens[:, :-1]]))


def every_sequence(symbols, length):
    return asked(list(itertools.product(range(symbols), repeat=length)))


def test_the_worked_example():
    result = doctest.testmod(previous_token_unordered)
    assert result.attempted
    assert not result.failed


def test_it_is_a_task():
    task: Task = small()
    assert (task.vocabulary, task.answers, task.length, task.dataset, task.generative) == (4, 4, 6, None, False)


# --- examples ---------------------------------------------------------------------------------------------------------


def test_the_answer_is_the_token_to_the_left_and_the_first_position_has_none():
    splits = small().splits(None)
    assert {name: len(split) for name, split in splits.items()} == {"train": 300, "validation": 20, "test": 200}
    for split in splits.values():
        np.testing.assert_array_equal(split.targets[:, 1:], split.tokens[:, :-1])
        assert (split.targets[:, 0] == NOT_SCORED).all()
        assert (split.target_positions == NOWHERE).all()
        assert split.tokens.dtype == split.targets.dtype == split.target_positions.dtype == np.int16
    check_disjoint(splits)


def test_tokens_are_uniform_and_independent():
    tokens = small(train_examples=20_000, length=8).splits(None)["train"].tokens
    pairs = np.zeros((4, 4))
    np.add.at(pairs, (tokens[:, 2], tokens[:, 5]), 1)
    assert (abs(pairs / 20_000 - 1 / 16) < 5 * np.sqrt(1 / 16 / 20_000)).all()


def test_a_batch_hides_nothing():
    train = small().splits(None)["train"]
    batch = small().batch(train, np.array([3, 1, 3]), np.random.default_rng(0))
    np.testing.assert_array_equal(batch.tokens, train.tokens[[3, 1, 3]])
    np.testing.assert_array_equal(batch.targets, train.targets[[3, 1, 3]])


# --- ceilings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("symbols", "length"), [(2, 5), (3, 4), (3, 2)])
def test_the_ceiling_of_full_is_the_posterior_given_the_token_and_the_bag(symbols, length):
    """By enumeration over all sequences and scored positions, which are equally likely."""
    task = small(symbols=symbols, length=length)
    everything = every_sequence(symbols, length)
    seen = defaultdict(Counter)
    for row, position in np.argwhere(everything.scored):
        tokens = everything.tokens[row].tolist()
        seen[tokens[position], tuple(sorted(tokens))][tokens[position - 1]] += 1
    found = iter(np.exp(task.ceiling("full", everything)))
    for row, position in np.argwhere(everything.scored):
        tokens = everything.tokens[row].tolist()
        counts = seen[tokens[position], tuple(sorted(tokens))]
        expected = [counts[symbol] / counts.total() for symbol in range(symbols)]
        np.testing.assert_allclose(next(found), expected, atol=1e-12)


@pytest.mark.parametrize(("symbols", "longest"), [(2, 9), (3, 6)])
def test_two_causal_layers_of_shares_tell_the_token_to_the_left_in_every_sequence(symbols, longest):
    """What softmax attention passes on at most: the shares of what is seen, first of tokens, then of what those hold.

    Sequences of all lengths together, for a model without positions does not know how long the part before it is.
    """
    left = {}
    for length in range(2, longest + 1):
        for tokens in itertools.product(range(symbols), repeat=length):
            held = [(token, shares(tokens[: place + 1])) for place, token in enumerate(tokens)]
            assert left.setdefault((held[-1], shares(held)), tokens[-2]) == tokens[-2]


def shares(things):
    """How much of a list each thing in it is; lists with equal shares look alike to attention."""
    return frozenset((thing, Fraction(count, len(things))) for thing, count in Counter(things).items())


def test_one_causal_layer_would_not_be_enough():
    assert shares((0, 1, 2)) == shares((1, 0, 2))  # the last position sees the same, and its answer differs


def test_without_positions_full_attention_cannot_tell_orders_apart_and_causal_attention_can():
    model = random_model(ModelShape(vocabulary=4, answers=4, length=6, width=16, layers=2, heads=2, positions="none"))
    tokens = torch.tensor([[0, 1, 2, 3, 1, 0]])
    other = tokens[:, [4, 2, 0, 3, 1, 5]]  # the last token stays, those before it change places
    with torch.no_grad():
        last = {
            mask: [model(each, layer_masks(mask, 2, 6))[0, -1] for each in (tokens, other)]
            for mask in ("causal", "full")
        }
    assert torch.allclose(*last["full"], atol=1e-12)
    assert not torch.allclose(*last["causal"], atol=1e-6)


def test_causal_knows_and_full_has_the_bag():
    task = small(test_examples=2000)
    test = task.splits(None)["test"]
    assert score(task.ceiling("causal", test), test).metrics() == {"accuracy": 1.0, "nats": 0.0}
    full = score(task.ceiling("full", test), test)
    others = np.stack([(test.tokens == symbol).sum(1) for symbol in range(4)], axis=1)
    believed = []  # the likeliest other token is right as often as its share of the others says
    for tokens, counts in zip(test.tokens, others, strict=True):
        believed.append(np.mean([(counts - np.eye(4, dtype=int)[token]).max() / 5 for token in tokens[1:]]))
    surplus = full.correct / 5 - believed
    assert abs(surplus.mean()) < 4 * surplus.std() / np.sqrt(2000)


def test_the_ceilings_of_the_default_lie_apart():
    task = PreviousTokenUnordered(train_examples=1)
    test = task.splits(None)["test"]
    causal, full = (score(task.ceiling(mask, test), test).metrics() for mask in ("causal", "full"))
    assert causal["accuracy"] - full["accuracy"] >= 0.05
    assert full["nats"] - causal["nats"] >= 0.05


# --- baseline ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mask", ["causal", "full"])
def test_the_baseline_counts_the_other_tokens_that_are_seen(mask):
    task = small()
    splits = task.splits(None)
    counts = []
    for tokens in splits["test"].tokens.tolist():
        for position in range(1, 6):
            seen = tokens[:position] if mask == "causal" else tokens[:position] + tokens[position + 1 :]
            counts.append(np.bincount(seen, minlength=4))
    found = task.baseline(mask, splits["train"], splits["test"])
    np.testing.assert_array_equal(found, bag_log_probabilities(np.array(counts)))


# --- refused ----------------------------------------------------------------------------------------------------------


def test_to_be_shown_the_token_to_the_left_is_no_leak():
    assert find_leak("full", 2, small().splits(None)["test"]) is None


def test_a_model_or_mask_without_this_ceiling_is_refused():
    for mask in ("causal", "full"):
        small().check_cell(mask, UNORDERED)
    for mask, changes, said in (
        ("lookahead-1", {}, "mask 'lookahead-1'"),
        ("prefix", {}, "mask 'prefix'"),
        ("full", {"positions": "rotary"}, "positions 'rotary'"),
        ("causal", {"positions": "learned"}, "positions 'learned'"),
        ("causal", {"layers": 1}, "layers 1"),
    ):
        with pytest.raises(StudyError, match=f"{said}.*allowed"):
            small().check_cell(mask, UNORDERED | changes)


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"symbols": 1}, "symbols: 1"),
        ({"length": 1}, "length: 1"),
        ({"source_seed": -1}, "source_seed: -1"),
        ({"train_examples": 0}, "train_examples: 0"),
        ({"test_examples": True}, "test_examples: True"),
    ],
)
def test_parameters_out_of_range_are_one_line(parameters, named):
    with pytest.raises(StudyError, match="allowed") as raised:
        small(**parameters)
    assert f"previous_token_unordered: {named};" in str(raised.value)
    assert "\n" not in str(raised.value)
