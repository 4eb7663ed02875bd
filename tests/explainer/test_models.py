import base64
from dataclasses import dataclass, replace

import numpy as np
import pytest

import random_models
from maskstudy import tasks
from maskstudy.errors import StudyError
from maskstudy.explainer import models


def decoded(embedded):
    """The weights by name, from base64."""
    kind = np.dtype(embedded.description["precision"]).newbyteorder("<")
    row = np.frombuffer(base64.b64decode(embedded.weights), kind).astype(np.float32)
    found, start = {}, 0
    for name, shape in embedded.description["tensors"]:
        size = int(np.prod(shape))
        found[name] = row[start : start + size].reshape(shape)
        start += size
    assert start == len(row)
    return found


@pytest.mark.parametrize(("precision", "relative"), [("float32", 0), ("float16", 2**-11)])
def test_the_weights_are_those_of_the_file_to_the_precision(tmp_path, precision, relative):
    model = models.read(random_models.write(tmp_path / "m.safetensors", "next_byte"))
    found = decoded(models.embedded(model, precision))
    assert found.keys() == model.weights.keys()
    for name, weights in model.weights.items():
        np.testing.assert_allclose(found[name], weights, rtol=relative, atol=1e-7 if relative else 0)


def test_the_description_says_all_that_the_page_must_know(tmp_path):
    model = models.read(random_models.write(tmp_path / "m.safetensors", "masked_byte", "full"))
    description = models.embedded(model, "float16").description
    assert (description["task"], description["mask"], description["role"]) == ("masked_byte", "full", "study")
    assert (description["alphabet"], description["symbols"], description["hidden"]) == ("bytes", 256, 256)
    assert (description["generative"], description["activation"], description["norm"]) == (
        False,
        "squared_relu",
        "layer_norm",
    )
    assert description["shape"]["heads"] == 2


def test_letters_are_read_by_models_of_synthetic_sources(tmp_path):
    model = models.read(random_models.write(tmp_path / "m.safetensors", "markov_next"))
    description = models.embedded(model, "float32").description
    assert (description["alphabet"], description["symbols"], description["hidden"]) == ("letters", 12, None)
    assert description["generative"]


def test_a_block_that_the_page_cannot_compute_is_refused(tmp_path, monkeypatch):
    path = random_models.write(tmp_path / "m.safetensors", "next_byte")
    found = models.checkpoints.read(path)
    monkeypatch.setattr(
        models.checkpoints, "read", lambda _: replace(found, block={**found.block, "activation": "swish"})
    )
    with pytest.raises(
        StudyError, match=r"m\.safetensors: activation 'swish': the page knows squared_relu, relu alone"
    ):
        models.read(path)


def test_tokens_that_cannot_be_typed_are_refused(tmp_path, monkeypatch):
    monkeypatch.setitem(random_models.TASKS, "markov_next", {**random_models.TASKS["markov_next"], "symbols": 27})
    path = random_models.write(tmp_path / "m.safetensors", "markov_next")
    with pytest.raises(StudyError, match="27 different tokens"):
        models.read(path)


@dataclass(frozen=True)
class Cell:
    task: str
    mask: str
    role: str = "study"


BUILT = {kind: tasks.build({"kind": kind, "parameters": given}) for kind, given in random_models.TASKS.items()}


def test_the_page_shows_writers_and_their_controls_then_hidden_bytes_then_one_synthetic_writer():
    hmm, masked = Cell("hmm_tagging", "causal"), Cell("masked_byte", "full")
    markov = [Cell("markov_next", "causal"), Cell("markov_next", "full", "control")]
    text = [Cell("next_byte", "causal"), Cell("next_byte", "full", "control")]
    assert models.of_study([hmm, masked, *markov, *text], BUILT) == [*text, masked, markov[0]]


def test_tasks_of_words_have_no_model_in_the_page():
    words = tasks.build({"kind": "accents", "parameters": {}})
    assert (words.dataset, words.answers) == (
        "text",
        256,
    )  # it reads text too, and has as many answers as there are bytes
    assert models.of_study([Cell("accents", "full")], {"accents": words}) == []


def test_one_task_of_a_kind_is_enough():
    cells = [Cell("next_byte", "causal"), Cell("again", "causal"), Cell("masked_byte", "full")]
    assert models.of_study(cells, {**BUILT, "again": BUILT["next_byte"]}) == [cells[0], cells[2]]


def test_a_study_without_text_shows_what_can_be_typed():
    cells = [Cell("hmm_tagging", "causal"), Cell("hmm_tagging", "full")]
    assert models.of_study(cells, BUILT) == cells
