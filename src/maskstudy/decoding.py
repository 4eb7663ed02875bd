"""Answers that a trained model writes by itself, word by word, given the condition alone."""

import numpy as np
import torch
from numpy.typing import NDArray

from maskstudy.evaluation import Model, model_input
from maskstudy.generation import beam_search, continuations, likeliest, stepwise_log_probabilities
from maskstudy.tasks.task import Examples
from maskstudy.transcripts import Word

BATCH = 256  # texts at a time, of about the same length


def decoded(
    model: Model, mask: str, of_words: list[Word], examples: Examples, end: int, beam: int = 1
) -> list[list[int]]:
    """What the model writes for each word, without the end.

    What does not end is cut off, at the same length for all words: where the longest of them leaves no more room.

    Args:
        model: put into evaluation mode.
        mask: usually the one that it was trained with.
        of_words: `transcripts.words` of the examples.
        examples: their first scored position is where writing begins.
        end: the token that ends an answer.
        beam: beginnings that the search keeps; 1 is greedy choice.
    """
    written: list[list[int]] = [[] for _ in of_words]
    first = np.array([word.examples[0] for word in of_words])
    steps = examples.tokens.shape[1] - int(examples.scored.argmax(1).max()) - 1
    order = np.argsort(examples.condition_lengths[first], kind="stable")  # so that little is spent on padding
    for start in range(0, len(order), BATCH):
        chosen = order[start : start + BATCH]
        rows = examples[first[chosen]]
        prompts, real = _prompts(rows)
        conditions = rows.condition_lengths
        if beam == 1:
            texts = continuations(
                model, mask, prompts, steps, likeliest, real=real, condition_lengths=conditions, end=end
            )
        else:
            texts = beam_search(model, mask, prompts, steps, beam, end, real=real, condition_lengths=conditions).tokens
        for word, text in zip(chosen, texts.tolist(), strict=True):
            written[word] = text[: text.index(end)] if end in text else text
    return written


@torch.inference_mode()
def parallel_minus_stepwise(model: Model, mask: str, examples: Examples) -> dict[str, float]:
    """The largest difference between what the model says in one parallel pass and what it says token by token.

    The model computes in its own precision; the logarithms, of which those of unlikely answers are large, in double.

    Args:
        model: put into evaluation mode.
        mask: usually the one that it was trained with.
        examples: everything from the first scored position on is scored.

    Returns:
        Over all answers at all scored positions: of `probability`, and of its logarithm in `nats`, which for an answer
        that is very unlikely shows the rounding of the model's own precision.
    """
    largest = {"probability": 0.0, "nats": 0.0}
    order = np.argsort(examples.lengths, kind="stable")
    for start in range(0, len(order), BATCH):
        rows = examples[order[start : start + BATCH]]
        prompts, real = _prompts(rows)
        asked = rows.scored.sum(1)
        places = np.arange(asked.max())
        following = np.where(places < asked[:, None], _at(rows.targets, rows, places), 0).astype(np.int16)
        said = stepwise_log_probabilities(
            model, mask, prompts, following, real=real, condition_lengths=rows.condition_lengths
        )
        parallel = model(*model_input(mask, model.shape.layers, rows)).double().log_softmax(-1).numpy()
        stepwise = said[places < asked[:, None]]
        for name, difference in (("probability", np.exp(stepwise) - np.exp(parallel)), ("nats", stepwise - parallel)):
            largest[name] = max(largest[name], float(np.abs(difference).max()))
    return largest


def _prompts(rows: Examples) -> tuple[NDArray[np.int16], NDArray[np.bool_]]:
    """All tokens up to the first scored position, padded on the right, and which of them are real."""
    ends = rows.scored.argmax(1) + 1
    return rows.tokens[:, : ends.max()], np.arange(ends.max()) < ends[:, None]


def _at(values: NDArray[np.int16], rows: Examples, places: NDArray[np.int64]) -> NDArray[np.int16]:
    """`[rows, places]`, counted from the first scored position; anything beyond the end of a row."""
    columns = np.minimum(rows.scored.argmax(1)[:, None] + places, values.shape[1] - 1)
    return np.take_along_axis(values, columns, axis=1)
