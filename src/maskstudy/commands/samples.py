"""`maskstudy samples`: some questions of the test data in words, and what the models of every mask answered to them.

Reads `data/` and `runs/` of a results folder; writes `examples.parquet` beside them. Controls, which see their answers,
are left out.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from polars import DataFrame

from maskstudy import schemas, tasks
from maskstudy.commands import options
from maskstudy.data.examples import read_examples
from maskstudy.errors import StudyError
from maskstudy.files import read_json, read_table, write_rows
from maskstudy.samples import Answers, choose
from maskstudy.spelling import Asked, Speller
from maskstudy.tasks.task import Examples, Written
from maskstudy.transcripts import Word, words


def main(arguments: list[str]) -> None:
    """Write `examples.parquet`: one row a question that is shown and mask.

    Raises:
        StudyError: bad settings, or a file is missing or belongs to other data.
    """
    parser = options.parser("samples", __doc__, "cells", "tasks")
    options.add_path(parser, "results", "the results folder, read and written")
    given = parser.parse_args(arguments)
    settings, results = given.settings, given.results

    rows: list[dict[str, Any]] = []
    for name, of_task in settings["tasks"].items():
        cells = [cell for cell in settings["cells"] if (cell["task"], cell["role"]) == (name, "study")]
        folder = results / "runs" / name
        runs = {
            cell["mask"]: [folder / cell["mask"] / f"seed-{seed}" / "examples.parquet" for seed in cell["seeds"]]
            for cell in cells
        }
        task = tasks.build(of_task)
        speller = Speller(task, read_json(results / "data" / name / "summary.json")["names"])
        test = read_examples(results / "data" / name / "test.parquet")
        questions = _Whole(test, speller) if isinstance(task, Written) else _Positions(test, speller)
        rows += [{"task": name, "dataset": task.dataset, **row} for row in _rows(questions, runs)]
    write_rows(results / "examples.parquet", rows, schemas.SAMPLES)


class _Positions:
    """Every scored position of a split is a question."""

    def __init__(self, test: Examples, speller: Speller) -> None:
        """Number the scored positions, in row-major order."""
        self.test, self.speller = test, speller
        self.examples, self.positions = np.nonzero(test.scored)
        self.targets = test.targets[test.scored]

    def asked(self, question: int) -> Asked:
        """The question in words."""
        return self.speller.asked(self.test, int(self.examples[question]), int(self.positions[question]))

    def place(self, question: int) -> tuple[int, int | None]:
        """Number of the example, and position in it."""
        return int(self.examples[question]), int(self.positions[question])

    def spelled(self, answer: int) -> str:
        """An answer in words."""
        return self.speller.answer(answer)

    def answers(self, paths: Sequence[Path]) -> Answers[int]:
        """What the runs answered."""
        given, nats = [], []
        for path in paths:
            frame = _predictions(path, len(self.test))
            predictions = frame["predictions"].explode(empty_as_null=False).to_numpy()
            if len(predictions) != len(self.targets):
                raise StudyError(f"{path}: {len(predictions)} answers to {len(self.targets)} questions; {_AGAIN}")
            given.append(predictions)
            nats.append(_nats(frame[self.examples]))
        right = np.array(given) == self.targets
        return Answers(right, [of_seed.tolist() for of_seed in given], np.mean(nats, axis=0))


class _Whole:
    """Every condition of a split is a question, and the answer is written."""

    def __init__(self, test: Examples, speller: Speller) -> None:
        """Number the conditions, in the order of the split."""
        self.test, self.speller = test, speller
        self.words: list[Word] = words(test)
        self.examples = np.array([word.examples[0] for word in self.words])

    def asked(self, question: int) -> Asked:
        """The question in words."""
        return self.speller.asked_whole(self.words[question])

    def place(self, question: int) -> tuple[int, int | None]:
        """Number of the first example of the condition; no position."""
        return int(self.examples[question]), None

    def spelled(self, answer: tuple[int, ...]) -> str:
        """An answer in words."""
        return self.speller.written(answer)

    def answers(self, paths: Sequence[Path]) -> Answers[tuple[int, ...]]:
        """What the runs wrote."""
        right, given, nats = [], [], []
        for path in paths:
            frame = _predictions(path, len(self.test))[self.examples]
            if not frame["words"].eq_missing(1).all():
                raise StudyError(f"{path}: not one answer a condition; {_AGAIN}")
            right.append((frame["wrong_words"] == 0).to_numpy())
            given.append([tuple(answer) for answer in frame["written"].to_list()])
            nats.append(_nats(frame))
        return Answers(np.array(right), given, np.mean(nats, axis=0))


_AGAIN = "delete the file and make it again"


def _rows(questions: _Positions | _Whole, runs: Mapping[str, Sequence[Path]]) -> list[dict[str, Any]]:
    """The rows of one task, without its name."""
    answers: dict[str, Any] = {mask: questions.answers(paths) for mask, paths in runs.items()}
    if not answers:
        return []
    count = next(iter(answers.values())).right.shape[1]
    rows = []
    for chosen in choose({mask: of_cell.right for mask, of_cell in answers.items()}):
        example, position = questions.place(chosen.question)
        asked = vars(questions.asked(chosen.question))
        for mask, of_cell in answers.items():
            answer, agreeing = of_cell.commonest(chosen.question)
            rows.append(
                {
                    "chosen": chosen.why,
                    "mask_a": chosen.mask_a,
                    "mask_b": chosen.mask_b,
                    "ahead": chosen.ahead,
                    "questions": count,
                    "example": example,
                    "position": position,
                    **asked,
                    "mask": mask,
                    "seeds": len(of_cell.right),
                    "right": int(of_cell.right[:, chosen.question].sum()),
                    "answer": questions.spelled(answer),
                    "agreeing": agreeing,
                    "nats": float(of_cell.nats[chosen.question]),
                }
            )
    return rows


def _predictions(path: Path, examples: int) -> DataFrame:
    """The rows of a run, one a test example."""
    frame = DataFrame(read_table(path, schemas.PREDICTIONS))
    if len(frame) != examples:
        raise StudyError(f"{path}: {len(frame)} rows for {examples} test examples; {_AGAIN}")
    return frame


def _nats(frame: DataFrame) -> NDArray[np.float64]:
    """Nats of each example, per scored position."""
    return (frame["nats"] / frame["scored"].clip(1)).to_numpy()
