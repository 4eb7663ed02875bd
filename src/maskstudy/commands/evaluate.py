"""`maskstudy evaluate`: score one trained model on the test examples.

Where answers are written, the model also writes one for each word, by greedy choice.
"""

from dataclasses import replace

import torch

from maskstudy import tasks
from maskstudy.commands import options
from maskstudy.commands.trained import trained_model
from maskstudy.data.examples import read_examples
from maskstudy.decoding import decoded
from maskstudy.evaluation import log_probabilities
from maskstudy.files import read_json, write_json, write_table
from maskstudy.schemas import PREDICTIONS
from maskstudy.scoring import score
from maskstudy.shape import build_shape
from maskstudy.tasks.task import Written
from maskstudy.transcripts import transcripts, words


def main(arguments: list[str]) -> None:
    """Write `metrics.json` and `examples.parquet` (one row a test example) into `--run`.

    Raises:
        StudyError: bad settings, or the model or the test examples are missing or not those of the cell.
    """
    parser = options.parser("evaluate", __doc__, "cell", "task", "model")
    options.add_run(parser)
    given = parser.parse_args(arguments)

    torch.set_num_threads(1)
    cell, task = given.settings["cell"], tasks.build(given.settings["task"])
    model = trained_model(given.run, cell["mask"], build_shape(task, given.settings["model"]))
    test = read_examples(given.data / "test.parquet")
    scores = score(log_probabilities(model, cell["mask"], test), test)
    if isinstance(task, Written):
        of_words = words(test)
        scores = replace(
            scores, transcripts=transcripts(of_words, decoded(model, cell["mask"], of_words, test, task.end))
        )
    write_table(given.run / "examples.parquet", scores.table(), PREDICTIONS)
    write_json(
        given.run / "metrics.json",
        {
            **cell,
            "seed": given.seed,
            "metrics": scores.metrics(),
            "scored": int(scores.scored.sum()),
            **read_json(given.run / "cost.json"),
        },
    )
