"""`maskstudy reference`: what a cell is compared with: its baseline, and its ideal observer where one is known.

Where the answers are the next tokens, also what knowing their frequencies alone is worth, `unigram`.
"""

from maskstudy import tasks
from maskstudy.baselines import backoff_log_probabilities
from maskstudy.commands import options
from maskstudy.data.examples import read_examples
from maskstudy.errors import StudyError
from maskstudy.files import write_json, write_table
from maskstudy.schemas import PREDICTIONS
from maskstudy.scoring import Scores, score, score_written
from maskstudy.tasks.task import Examples, Task, Written
from maskstudy.transcripts import transcripts, words


def main(arguments: list[str]) -> None:
    """Write `<out>.json` with the metrics, and `<out>.parquet` with the observer's (else the baseline's) scores."""
    parser = options.parser("reference", __doc__, "cell", "task")
    options.add_path(parser, "data", "folder of the prepared examples")
    options.add_path(parser, "out", "where the two files go, without their endings")
    given = parser.parse_args(arguments)

    mask = given.settings["cell"]["mask"]
    task = tasks.build(given.settings["task"])
    train, test = (read_examples(given.data / f"{name}.parquet") for name in ("train", "test"))
    baseline = _baseline(task, mask, train, test)
    ideal = task.ceiling(mask, test)
    observer = None if ideal is None else score(ideal, test)
    best_known = baseline if observer is None else observer
    unigram = score(backoff_log_probabilities(train, test, (), task.answers), test) if task.generative else None
    write_table(given.out.with_name(f"{given.out.name}.parquet"), best_known.table(), PREDICTIONS)
    write_json(
        given.out.with_name(f"{given.out.name}.json"),
        {
            "task": given.settings["cell"]["task"],
            "mask": mask,
            "baseline": baseline.metrics(),
            "ceiling": None if observer is None else observer.metrics(),
            "unigram": None if unigram is None else unigram.metrics(),
        },
    )


def _baseline(task: Task, mask: str, train: Examples, test: Examples) -> Scores:
    """What the simple method says of each scored position, or, where it writes whole answers, of each word.

    Raises:
        StudyError: the task has neither.
    """
    said = task.baseline(mask, train, test)
    if said is not None:
        return score(said, test)
    if not isinstance(task, Written):
        raise StudyError("baseline: the task gives no log-probabilities, and no answers that are written; give it one")
    return score_written(transcripts(words(test), task.written_baseline(train, test)))
