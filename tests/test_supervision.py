import numpy as np
import pytest

from maskstudy.errors import StudyError
from maskstudy.schemas import SUPERVISION
from maskstudy.supervision import alike, check_same_questions, final_only, rows
from maskstudy.tasks.task import NOT_SCORED, NOWHERE
from small_study import examples, next_token


def settings(kind, dataset="wikitext2", **parameters):
    return {"kind": kind, "parameters": parameters, "dataset": dataset}


EVERY = settings("next_byte", length=17, test_windows=8)
FINAL = settings("final_byte", length=16, test_windows=8)


# --- which tasks ask for the same -------------------------------------------------------------------------------------


def test_tasks_that_read_the_same_test_windows_are_alike():
    few = settings("next_byte", length=17, test_windows=8, train_windows=3)  # trained on less, asked the same
    other = {"kind": "hmm_tagging", "parameters": {}, "dataset": None}
    found = alike({"every": EVERY, "other": other, "final": FINAL, "few": few})
    assert found == ["every", "final", "few"]


@pytest.mark.parametrize(
    "different",
    [
        settings("next_byte", length=16, test_windows=8),  # a byte less, where the answer is not set apart
        settings("next_byte", length=17, test_windows=9),
        settings("next_byte", length=17),
        settings("next_byte", "another", length=17, test_windows=8),
        settings("masked_byte", length=17, test_windows=8),
        settings("final_byte", length=16, test_windows=8),
    ],
)
def test_without_a_next_byte_of_the_same_windows_there_is_nothing_to_put_side_by_side(different):
    assert alike({"final": FINAL, "different": different}) == []
    assert alike({"every": EVERY}) == []
    assert alike({}) == []


def test_the_defaults_of_both_tasks_are_alike():
    assert alike({"next_byte": settings("next_byte"), "final_byte": settings("final_byte")})


# --- the same questions -----------------------------------------------------------------------------------------------


def test_the_last_scored_position_of_each_example_stays_and_no_other():
    split = next_token([[1, 2, 3, 4], [5, 6, 0, 0], [7, 8, 9, 0]], [4, 2, 3])
    final = final_only(split)
    no = NOT_SCORED
    assert final.targets.tolist() == [[no, no, 4, no], [6, no, no, no], [no, 9, no, no]]
    assert final.target_positions.tolist() == [[NOWHERE, NOWHERE, 3, NOWHERE], [1, *[NOWHERE] * 3], [-1, 2, -1, -1]]
    np.testing.assert_array_equal(final.tokens, split.tokens)
    assert final.targets.dtype == np.int16
    np.testing.assert_array_equal(final_only(final).targets, final.targets)


def test_an_example_without_an_answer_gets_none():
    assert not final_only(examples([[1, 2]])).scored.any()


def test_questions_are_the_same_if_bytes_before_and_answer_are():
    every = final_only(next_token([[1, 2, 3, 4], [5, 6, 7, 0]], [4, 3]))
    no = NOT_SCORED
    final = examples([[1, 2, 3], [5, 6, 0]], targets=[[no, no, 4], [no, 7, no]], lengths=[3, 2])
    check_same_questions({"every": every, "final": final})
    for changed in (
        examples([[1, 2, 3], [5, 6, 0]], targets=[[no, no, 4], [no, 8, no]]),
        examples([[9, 2, 3], [5, 6, 0]], targets=[[no, no, 4], [no, 7, no]]),
        examples([[1, 2, 9], [5, 6, 0]], targets=[[no, no, 4], [no, 7, no]]),
        examples([[1, 2, 3], [5, 6, 0]], targets=[[no, no, 4], [7, no, no]]),
        final[::-1],
        final[:1],
    ):
        with pytest.raises(StudyError, match="final positions of final and every differ") as raised:
            check_same_questions({"every": every, "final": changed})
        assert "\n" not in str(raised.value)


# --- rows -------------------------------------------------------------------------------------------------------------


def test_a_row_has_every_column_and_what_the_run_was_given():
    run = {"task": "a", "mask": "full", "role": "study", "seed": 3, "metrics": {"nats": 9.0}, "scored": 99}
    run |= {"parameters": 7, "steps": 5, "tokens_seen": 60, "targets_seen": 50, "train_flops": 2**53 + 1}
    found = rows(run, {"nats": 2.0, "accuracy": 0.5}, {"accuracy": 0.4, "nats": 2.5}, 8)
    assert [(row["metric"], row["value"], row["baseline"]) for row in found] == [
        ("accuracy", 0.5, 0.4),
        ("nats", 2.0, 2.5),
    ]
    for row in found:
        assert set(row) == set(SUPERVISION.names)
        assert (row["scored"], row["targets_seen"], row["seed"]) == (8, 50, 3)
        assert isinstance(row["train_flops"], float)
