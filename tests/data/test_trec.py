import csv
import io

import pytest

from maskstudy.data.trec import TEST_QUESTIONS, TYPES, questions
from maskstudy.data.words import likeness
from maskstudy.errors import StudyError


def table(train, test, columns=("", "label-coarse", "label-fine", "text")):
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow(columns)
    for number, (label, text) in enumerate([*train, *test]):
        writer.writerow([number, label, 0, text])
    return written.getvalue()


TEST = [(number % 6, f"Test, question {number} ?") for number in range(TEST_QUESTIONS)]
TRAIN = [(number % 6, f"Train question {number} ?") for number in range(100)]


def test_the_last_questions_are_the_test_and_a_tenth_of_the_others_validation():
    splits = questions(table(TRAIN, TEST))
    assert {split: len(each) for split, each in splits.items()} == {"train": 90, "validation": 10, "test": 500}
    assert [(TYPES.index(one.label), one.text) for one in splits["test"]] == TEST


def test_a_train_question_that_is_a_test_question_but_for_its_signs_is_left_out():
    splits = questions(table([*TRAIN, (3, "test question 7"), (3, "test question 777")], TEST))
    kept = {one.group for split in ("train", "validation") for one in splits[split]}
    assert "test question 7" not in kept
    assert "test question 777" in kept
    assert likeness(TEST[7][1]) in {one.group for one in splits["test"]}


@pytest.mark.parametrize(
    "text",
    ["a,b\n1,2\n", table([(6, "What?")], TEST), table([("human", "What?")], TEST)],
)
def test_another_table_is_one_line(text):
    with pytest.raises(StudyError, match="trec: the table is not") as raised:
        questions(text)
    assert "\n" not in str(raised.value)
