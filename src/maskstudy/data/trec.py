"""TREC questions and what kind of answer they ask for (Li & Roth 2002, "Learning Question Classifiers").

The last 500 questions of the table are the test questions of that paper, the ones before them its training questions.
"""

import csv
import io

from maskstudy.data.documents import Labelled
from maskstudy.data.groups import split_by_group
from maskstudy.data.words import likeness
from maskstudy.errors import StudyError

TYPES = ("description", "entity", "abbreviation", "human", "number", "location")  # the table has their numbers
TEST_QUESTIONS = 500


def questions(table: str) -> dict[str, list[Labelled]]:
    """Questions with their coarse type by split.

    Test is the paper's own. Training questions that differ from a test question in accents, case or punctuation alone
    are left out; a tenth of the others, by group, is validation.

    Args:
        table: CSV with the columns `label-coarse` and `text`.

    Raises:
        StudyError: the table has no such columns, or another label.
    """
    try:
        rows = [
            Labelled(likeness(row["text"]), row["text"], TYPES[int(row["label-coarse"])])
            for row in csv.DictReader(io.StringIO(table))
        ]
    except (KeyError, ValueError, IndexError) as error:
        raise StudyError(f"trec: the table is not the one that is expected ({error!r})") from None
    test = rows[-TEST_QUESTIONS:]
    asked = {question.group for question in test}
    train = [question for question in rows[:-TEST_QUESTIONS] if question.group not in asked]
    return {**split_by_group(train, "trec", {"train": 0.9, "validation": 0.1}), "test": test}
