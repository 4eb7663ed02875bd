"""`maskstudy decode`: let one trained model write answers, by greedy choice and by beam.

It is asked for up to 1024 words of the test split, spread evenly. Beside them stands whether the model says the same
token by token, as it does when it writes, and in one parallel pass, as it does when it is trained and scored.
"""

from collections.abc import Sequence

import numpy as np
import torch

from maskstudy import tasks
from maskstudy.commands import options
from maskstudy.commands.trained import trained_model
from maskstudy.data.examples import read_examples
from maskstudy.data.windows import evenly
from maskstudy.decoding import decoded, parallel_minus_stepwise
from maskstudy.errors import StudyError
from maskstudy.files import read_json, write_json
from maskstudy.shape import build_shape
from maskstudy.tasks.task import Written
from maskstudy.transcripts import transcripts, words

WORDS = 1024
SHOWN = 32
BEAM = 4  # beginnings


def main(arguments: list[str]) -> None:
    """Write `decoding.json` into `--run`.

    Raises:
        StudyError: the task has no answers to write.
    """
    parser = options.parser("decode", __doc__, "cell", "task", "model")
    options.add_run(parser)
    given = parser.parse_args(arguments)

    torch.set_num_threads(1)
    cell, task = given.settings["cell"], tasks.build(given.settings["task"])
    if not isinstance(task, Written):
        raise StudyError(f"task {cell['task']}: it has no answers that a model writes by itself")
    model = trained_model(given.run, cell["mask"], build_shape(task, given.settings["model"]))
    test = read_examples(given.data / "test.parquet")
    every = words(test)
    chosen = [every[place] for place in evenly(len(every), WORDS)]
    asked = test[np.concatenate([word.examples for word in chosen])]
    of_words = words(asked)
    written = {
        name: decoded(model, cell["mask"], of_words, asked, task.end, beam)
        for name, beam in (("greedy", 1), ("beam", BEAM))
    }
    names = (read_json(given.data / "summary.json")["names"] or {}).get("tokens", [])
    shown = range(0, len(of_words), -(-len(of_words) // SHOWN))
    write_json(
        given.run / "decoding.json",
        {
            **cell,
            "seed": given.seed,
            "words": len(of_words),
            "beam_width": BEAM,
            "metrics": {name: transcripts(of_words, texts).metrics() for name, texts in written.items()},
            "parallel_minus_stepwise": parallel_minus_stepwise(model, cell["mask"], asked),
            "texts": [
                {
                    "condition": _spelled(of_words[place].condition, names, ""),
                    "right": [_spelled(variant, names, " ") for variant in of_words[place].variants],
                    **{name: _spelled(texts[place], names, " ") for name, texts in written.items()},
                }
                for place in shown
            ],
        },
    )


def _spelled(tokens: Sequence[int], names: Sequence[str], between: str) -> str:
    """Tokens by their names, or by their numbers where they have none."""
    return between.join(names[token] for token in tokens) if names else " ".join(map(str, tokens))
