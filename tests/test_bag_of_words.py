import subprocess
import sys

import numpy as np
import pytest

from maskstudy import bag_of_words
from maskstudy.bag_of_words import class_log_probabilities
from maskstudy.errors import StudyError
from maskstudy.tasks.task import NOT_SCORED
from small_study import examples

WORDS = 10  # token 10 is the unknown word, 11 an edge, 12 padding


def of(rows, classes):
    """One example a row: its words, and an edge at which its class is the answer."""
    tokens = np.full((len(rows), 1 + max(map(len, rows))), 12)
    targets = np.full_like(tokens, NOT_SCORED)
    for place, (row, answer) in enumerate(zip(rows, classes, strict=True)):
        tokens[place, : len(row) + 1] = [*row, 11]
        targets[place, len(row)] = answer
    return examples(tokens, targets, lengths=[len(row) + 1 for row in rows])


def drawn(count, seed=0):
    """Classes that a word of their own makes more probable."""
    generator = np.random.default_rng(seed)
    classes = generator.integers(0, 3, count)
    rows = [
        [*generator.integers(0, 11, 4).tolist(), *([int(one)] if generator.random() < 0.6 else [])] for one in classes
    ]
    return of(rows, classes)


def test_the_weights_are_where_the_gradient_of_the_objective_vanishes():
    """Cross-entropy of a softmax over 0/1 features, plus half the penalty on the squared weights, written out."""
    train = drawn(120)
    bag = np.array([[word in row for word in range(WORDS + 1)] for row in train.tokens], dtype=float)
    mixed = np.exp(class_log_probabilities(train, train, WORDS, 3))
    probabilities = (mixed * 121 - 1 / 3) / 120  # without the one example of all classes
    surprise = probabilities - np.eye(3)[train.targets[train.scored]]  # examples, classes
    assert np.abs(surprise.sum(axis=0)).max() < 0.02  # intercepts bear no penalty
    logits = -bag @ (bag.T @ surprise) / bag_of_words.PENALTY  # of the weights at which the gradient is 0
    difference = np.log(probabilities) - logits
    difference -= difference.mean(axis=1, keepdims=True)
    assert np.abs(difference - difference.mean(axis=0)).max() < 0.1


def test_how_often_and_where_a_word_stands_makes_no_difference_and_edges_and_padding_none():
    train = of([[1, 1, 2], [2], [1], [2, 2, 3]], [0, 1, 0, 1])
    found = class_log_probabilities(train, of([[1, 2, 2], [2, 1], [1, 1, 1, 2], [1]], [0] * 4), WORDS, 2)
    np.testing.assert_allclose(found[1:3], found[[0, 0]])
    assert found[3, 0] > found[0, 0]


def test_a_class_that_is_not_in_train_has_a_small_probability_and_no_infinite_loss():
    found = class_log_probabilities(of([[1], [2], [1]], [0, 3, 0]), of([[1], [5]], [1, 3]), WORDS, 4)
    np.testing.assert_allclose(np.exp(found[:, [1, 2]]), 1 / 4 / 4)
    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1)
    assert found[0].argmax() == 0


def test_a_train_split_of_one_class_is_one_line():
    with pytest.raises(StudyError, match="one class") as raised:
        class_log_probabilities(of([[1], [2]], [1, 1]), of([[1]], [0]), WORDS, 2)
    assert "\n" not in str(raised.value)


def test_training_needs_neither_scikit_learn_nor_scipy():
    code = (
        "import sys, maskstudy.tasks.classification; "
        "print([name for name in ('sklearn', 'scipy', 'polars') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
