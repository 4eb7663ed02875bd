"""What both recall tasks share; what each promises of its own stands in tests/tasks/."""

import itertools

import numpy as np
import pytest

from maskstudy.audit import find_leak, scored_access_digest
from maskstudy.baselines import bag_log_probabilities
from maskstudy.data.splits import check_disjoint
from maskstudy.errors import StudyError
from maskstudy.scoring import score
from maskstudy.tasks.recall_after import RecallAfter
from maskstudy.tasks.recall_before import RecallBefore
from maskstudy.tasks.task import NOT_SCORED, NOWHERE, Task
from small_study import examples

SMALL = {"keys": 5, "values": 4, "pairs": 3, "train_examples": 300, "validation_examples": 20, "test_examples": 100}
BOTH = pytest.mark.parametrize("kind", [RecallAfter, RecallBefore])
AHEAD = {"causal": 0, "lookahead-1": 1, "lookahead-4": 4, "lookahead-5": 5, "full": 99}


def lookup(tokens, query, keys):
    """The values of a key, read pair by pair as a person would; `tokens` without the query."""
    pairs = [tokens[place : place + 2].tolist() for place in range(0, len(tokens), 2)]
    return [value - keys for key, value in pairs if key == query]


@BOTH
def test_it_is_a_task(kind):
    task: Task = kind(**SMALL)
    assert (task.vocabulary, task.answers, task.length, task.dataset, task.generative) == (9, 4, 7, None, False)


@BOTH
def test_every_example_is_pairs_with_keys_of_their_own_and_one_query_that_has_one_answer(kind):
    task = kind(**SMALL)
    for split in task.splits(None).values():
        query = split.tokens[:, task.query_position]
        pairs = np.delete(split.tokens, task.query_position, axis=1)
        assert ((pairs[:, ::2] >= 0) & (pairs[:, ::2] < 5)).all()
        assert ((pairs[:, 1::2] >= 5) & (pairs[:, 1::2] < 9)).all()
        assert all(len(set(row)) == 3 for row in pairs[:, ::2].tolist())
        answers = split.targets[:, task.query_position]
        assert [lookup(row, key, 5) for row, key in zip(pairs, query, strict=True)] == answers[:, None].tolist()
        assert (split.scored.sum(1) == 1).all()
        assert (split.target_positions == NOWHERE).all()
        assert split.tokens.dtype == split.targets.dtype == split.target_positions.dtype == np.int16


@BOTH
def test_keys_values_and_the_place_of_the_answer_are_uniform_and_values_independent_of_keys(kind):
    task = kind(**SMALL | {"train_examples": 30_000, "validation_examples": 1, "test_examples": 1})
    train = task.splits(None)["train"]
    pairs = np.delete(train.tokens, task.query_position, axis=1)
    query = train.tokens[:, task.query_position]
    asked = (pairs[:, ::2] == query[:, None]).mean(0)
    joint = np.zeros((5, 4))
    np.add.at(joint, (query, train.targets[:, task.query_position]), 1)
    assert (abs(asked - 1 / 3) < 5 * np.sqrt(2 / 9 / 30_000)).all()
    assert (abs(joint / 30_000 - 1 / 20) < 5 * np.sqrt(1 / 20 / 30_000)).all()


@BOTH
def test_splits_are_of_the_sizes_asked_for_and_share_no_example(kind):
    splits = kind(**SMALL | {"keys": 4, "values": 3, "pairs": 2}).splits(None)  # of 216
    assert {name: len(split) for name, split in splits.items()} == {"train": 300, "validation": 20, "test": 100}
    check_disjoint(splits)


@BOTH
def test_a_batch_hides_nothing(kind):
    task = kind(**SMALL)
    train = task.splits(None)["train"]
    batch = task.batch(train, np.array([3, 1, 3]), np.random.default_rng(0))
    np.testing.assert_array_equal(batch.tokens, train.tokens[[3, 1, 3]])
    np.testing.assert_array_equal(batch.targets, train.targets[[3, 1, 3]])


# --- ceilings ---------------------------------------------------------------------------------------------------------


def every_example(task):
    """All examples there are, each as likely as any other."""
    rows, answers = [], []
    for keys in itertools.permutations(range(task.keys), task.pairs):
        for values in itertools.product(range(task.values), repeat=task.pairs):
            pairs = [token for key, value in zip(keys, values, strict=True) for token in (key, task.keys + value)]
            for asked in range(task.pairs):
                rows.append([keys[asked], *pairs] if task.query_first else [*pairs, keys[asked]])
                answers.append(values[asked])
    targets = np.full((len(rows), task.length), NOT_SCORED)
    targets[:, task.query_position] = answers
    return examples(rows, targets=targets)


@BOTH
@pytest.mark.parametrize("mask", AHEAD)
def test_the_ceiling_is_the_posterior_given_all_that_the_query_sees(kind, mask):
    """By enumeration: P(answer | the tokens that the mask shows the query), over all examples that agree with them."""
    task = kind(**SMALL | {"keys": 3, "values": 3, "pairs": 2})
    everything = every_example(task)
    answers = everything.targets[:, task.query_position]
    seen = np.arange(task.length) <= task.query_position + AHEAD[mask]
    found = np.exp(task.ceiling(mask, everything))
    for row, tokens in enumerate(everything.tokens):
        agrees = (everything.tokens[:, seen] == tokens[seen]).all(1)
        np.testing.assert_allclose(found[row], np.bincount(answers[agrees], minlength=3) / agrees.sum(), atol=1e-12)


def test_equal_ceilings_after_and_chance_before():
    after, before = RecallAfter(**SMALL), RecallBefore(**SMALL)
    test = after.splits(None)["test"]
    for mask in AHEAD:
        assert score(after.ceiling(mask, test), test).metrics() == {"accuracy": 1.0, "nats": 0.0}
    test = before.splits(None)["test"]
    assert score(before.ceiling("full", test), test).metrics() == {"accuracy": 1.0, "nats": 0.0}
    assert score(before.ceiling("causal", test), test).metrics()["nats"] == pytest.approx(np.log(4))


def test_the_query_sees_the_same_under_causal_and_full_only_if_it_stands_after_the_pairs():
    for kind, equal in ((RecallAfter, True), (RecallBefore, False)):
        test = kind(**SMALL).splits(None)["test"]
        digests = {scored_access_digest(mask, 2, test) for mask in ("causal", "full")}
        assert (len(digests) == 1) == equal


# --- baseline ---------------------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("mask", AHEAD)
def test_the_baseline_counts_the_values_that_the_query_sees(kind, mask):
    task = kind(**SMALL)
    splits = task.splits(None)
    counts = np.zeros((100, 4), dtype=int)
    for row, tokens in enumerate(splits["test"].tokens):
        for token in tokens[: task.query_position + AHEAD[mask] + 1]:
            if token >= 5:
                counts[row, token - 5] += 1
    found = task.baseline(mask, splits["train"], splits["test"])
    np.testing.assert_array_equal(found, bag_log_probabilities(counts))


def test_who_sees_no_value_has_the_baseline_of_chance():
    task = RecallBefore(**SMALL)
    splits = task.splits(None)
    np.testing.assert_allclose(np.exp(task.baseline("causal", splits["train"], splits["test"])), 1 / 4)


# --- refused ----------------------------------------------------------------------------------------------------------


@BOTH
def test_to_be_shown_the_pair_is_no_leak(kind):
    assert find_leak("full", 2, kind(**SMALL).splits(None)["test"]) is None


@BOTH
@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"keys": 0}, "keys: 0"),
        ({"keys": 2**14}, "keys: 16384"),
        ({"values": 1}, "values: 1"),
        ({"pairs": 0}, "pairs: 0"),
        ({"pairs": 6}, "pairs: 6"),  # more than keys
        ({"source_seed": -1}, "source_seed: -1"),
        ({"train_examples": 0}, "train_examples: 0"),
        ({"validation_examples": 2.5}, "validation_examples: 2.5"),
    ],
)
def test_parameters_out_of_range_are_one_line(kind, parameters, named):
    with pytest.raises(StudyError, match="allowed") as raised:
        kind(**SMALL | parameters)
    assert f"{kind.name}: {named};" in str(raised.value)
    assert "\n" not in str(raised.value)


@BOTH
def test_a_mask_that_shows_no_window_is_refused(kind):
    with pytest.raises(StudyError, match="mask 'prefix'"):
        kind(**SMALL).check_cell("prefix", {})
    kind(**SMALL).check_cell("full", {})
