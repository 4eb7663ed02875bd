import doctest

import numpy as np
import pytest

from maskstudy.tasks import build, kinds, task
from maskstudy.tasks.task import NOT_SCORED, NOWHERE, next_tokens


def test_the_worked_examples():
    result = doctest.testmod(task)
    assert result.attempted
    assert not result.failed


def test_next_tokens_by_hand():
    tokens = np.array([[4, 5, 6, 7], [8, 9, 3, 3], [1, 0, 0, 0]], dtype=np.int16)
    targets, positions = next_tokens(tokens, np.array([4, 2, 1], dtype=np.int32))
    no, nowhere = NOT_SCORED, NOWHERE
    assert targets.tolist() == [[5, 6, 7, no], [9, no, no, no], [no] * 4]
    assert positions.tolist() == [[1, 2, 3, nowhere], [1, nowhere, nowhere, nowhere], [nowhere] * 4]
    assert targets.dtype == positions.dtype == np.int16
    assert tokens[0].tolist() == [4, 5, 6, 7]


@pytest.mark.parametrize("kind", kinds())
def test_a_generative_task_answers_with_its_own_tokens(kind):
    made = build({"kind": kind, "parameters": {}})
    assert isinstance(made.generative, bool)
    if made.generative:
        assert made.answers <= made.vocabulary
