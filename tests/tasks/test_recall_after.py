import doctest

import numpy as np

from maskstudy.tasks import recall_after
from maskstudy.tasks.recall_after import RecallAfter


def test_the_worked_example():
    result = doctest.testmod(recall_after)
    assert result.attempted
    assert not result.failed


def test_the_query_is_the_last_token_and_the_answer_is_read_there():
    task = RecallAfter(keys=4, values=2, pairs=3, train_examples=9, validation_examples=1, test_examples=1)
    train = task.splits(None)["train"]
    np.testing.assert_array_equal(train.scored, np.tile(np.arange(7) == 6, (9, 1)))
    assert (train.tokens[:, 6] < 4).all()
