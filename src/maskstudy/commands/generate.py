"""`maskstudy generate`: let one trained model write on from test examples, and judge what it writes.

The judge is who knows the source best under the causal mask: the ideal observer where there is one, else the n-gram
baseline. `judged_nats` says how surprising a text is to the judge, per token. Text that surprises it much more than
true text does is garbage, whatever loss the model has reached. For that loss beside it, the model is also scored on the
true continuations, while it is given every token of them (`teacher_forced`).
"""

import numpy as np
import torch
from numpy.typing import NDArray

from maskstudy import tasks
from maskstudy.commands import options
from maskstudy.commands.trained import trained_model
from maskstudy.data.examples import read_examples
from maskstudy.data.windows import evenly
from maskstudy.errors import StudyError
from maskstudy.evaluation import log_probabilities
from maskstudy.files import write_json
from maskstudy.generation import continuations, drawn, likeliest, scored_continuations
from maskstudy.randomness import stream
from maskstudy.scoring import score
from maskstudy.shape import build_shape
from maskstudy.spelling import spelled
from maskstudy.tasks.task import Examples, Task

TEXTS = 32  # prompts, spread evenly over the test examples of full length
PROMPT_SHARE = 0.25  # of an example; the rest is the true continuation


def main(arguments: list[str]) -> None:
    """Write `generated.json` into `--run`: prompts, continuations by kind of choice, and their scores.

    Raises:
        StudyError: the answers of the task are not the next tokens, or no test example has the full length.
    """
    parser = options.parser("generate", __doc__, "cell", "task", "model")
    options.add_run(parser)
    given = parser.parse_args(arguments)

    torch.set_num_threads(1)
    cell, task = given.settings["cell"], tasks.build(given.settings["task"])
    if not task.generative:
        raise StudyError(f"task {cell['task']}: its answers are not the next tokens, so no model of it can write on")
    model = trained_model(given.run, cell["mask"], build_shape(task, given.settings["model"]))
    train, test = (read_examples(given.data / f"{name}.parquet") for name in ("train", "test"))
    chosen = _spread(test, cell["task"], task.length)
    prompts, true = np.split(test.tokens[chosen], [max(1, int(PROMPT_SHARE * task.length))], axis=1)

    choices = {"greedy": likeliest, "sampled": drawn(stream(given.seed, "generation"))}
    written = {
        name: continuations(model, cell["mask"], prompts, true.shape[1], choose) for name, choose in choices.items()
    }
    true_text = scored_continuations(prompts, true)
    metrics = {"teacher_forced": score(log_probabilities(model, cell["mask"], true_text), true_text).metrics()}
    for name, judged in _judged_nats(task, train, prompts, {"true": true} | written).items():
        accuracy = {"accuracy": float((written[name] == true).mean())} if name in written else {}
        metrics[name] = accuracy | {"judged_nats": judged}
    texts = {"prompt": prompts, "true": true} | written
    write_json(
        given.run / "generated.json",
        {
            **cell,
            "seed": given.seed,
            "judge": "baseline" if task.ceiling("causal", true_text) is None else "ceiling",
            "prompt_tokens": prompts.shape[1],
            "generated_tokens": true.shape[1],
            "metrics": metrics,
            "texts": [
                {"example": int(row)} | {name: spelled(tokens[place], task) for name, tokens in texts.items()}
                for place, row in enumerate(chosen)
            ],
        },
    )


def _spread(test: Examples, task: str, length: int) -> NDArray[np.int64]:
    """The rows of the test examples to write on from."""
    full = np.flatnonzero(test.lengths == length)
    if not len(full):
        raise StudyError(f"task {task}: no test example has the full length of {length}; shorten `length`")
    return full[evenly(len(full), TEXTS)]


def _judged_nats(
    task: Task, train: Examples, prompts: NDArray[np.int16], following: dict[str, NDArray[np.int16]]
) -> dict[str, float]:
    """How surprising the scored tokens are on average to the ideal observer under the causal mask, or the baseline.

    All texts are asked about at once, for the baseline counts the train split anew each time. A step that the observer
    knows to be impossible counts as the smallest probability that a float can hold, so that the mean stays a number.
    """
    texts = scored_continuations(np.tile(prompts, (len(following), 1)), np.concatenate(list(following.values())))
    observed = task.ceiling("causal", texts)
    if observed is None:
        observed = task.baseline("causal", train, texts)
    if observed is None:
        raise StudyError("generate: the task has no ceiling and no baseline, so nobody can judge its texts")
    scores = score(np.maximum(observed, np.log(np.finfo(np.float64).tiny)), texts)
    nats, scored = (np.split(each, len(following)) for each in (scores.nats, scores.scored))
    return {name: float(nats[place].sum() / scored[place].sum()) for place, name in enumerate(following)}
