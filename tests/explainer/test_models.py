import base64
from dataclasses import dataclass, replace

import numpy as np
import pytest

import random_models
from embedded_weights import decoded
from maskstudy import tasks
from maskstudy.errors import StudyError
from maskstudy.explainer import models


@pytest.mark.parametrize(("precision", "relative"), [("float32", 0), ("float16", 2**-11), ("float12", 2**-7 + 2**-11)])
def test_the_weights_are_those_of_the_file_to_the_precision(tmp_path, precision, relative):
    model = models.read(random_models.write(tmp_path / "m.safetensors", "next_byte"))
    found = decoded(*models.embedded(model, precision))
    assert found.keys() == model.weights.keys()
    for name, weights in model.weights.items():
        np.testing.assert_allclose(found[name], weights, rtol=relative, atol=1e-6 if relative else 0)


@pytest.mark.parametrize("value", [1.0, 1 + 2**-7, 1 + 3 * 2**-7, -(2 - 2**-9), 2.0**-20, 0.0])
def test_twelve_bits_hold_the_nearest_number_and_of_two_as_near_the_even_one(value):
    for row in ([value], [0.5, value], [value, 0.5, value]):
        data = models._as_bytes(np.array(row, dtype=np.float32), "float12")
        assert len(data) == 3 * ((len(row) + 1) // 2)
        description = {"precision": "float12", "tensors": [["w", [len(row)]]]}
        found = decoded(description, base64.b64encode(data).decode())["w"]
        numbers = np.arange(2**12, dtype=np.uint16) << 4
        held = np.sort(numbers.view(np.float16).astype(np.float32))
        held = held[np.isfinite(held)]
        for given, got in zip(row, found, strict=True):
            assert abs(got - given) == np.abs(held - given).min()
    assert models._as_bytes(np.float32([1 + 2**-7]), "float12") == models._as_bytes(np.float32([1.0]), "float12")


def test_an_encoder_decoder_says_how_it_spells(tmp_path):
    model = models.read(random_models.write(tmp_path / "m.safetensors", "pronunciation", "encoder-decoder", layers=4))
    description = models.embedded(model, "float16", random_models.NAMES).description
    names = description["names"]
    assert (description["alphabet"], names[description["start"]], names[description["end"]]) == (
        "names",
        "(separator)",
        "(end)",
    )
    with pytest.raises(StudyError, match=r"pronunciation: 0 names for 71 tokens: give summary\.json .* with --names"):
        models.embedded(model, "float16")


def test_another_mask_over_letters_and_phonemes_is_refused(tmp_path):
    path = random_models.write(tmp_path / "m.safetensors", "pronunciation", "prefix")
    with pytest.raises(StudyError, match="71 different tokens"):
        models.read(path)


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
    spoken = [Cell("pronunciation", mask) for mask in ("causal", "prefix", "encoder-decoder")]
    assert models.of_study([hmm, *spoken, masked, *text], BUILT) == [*text, spoken[2], masked]
    assert models.of_study(spoken, BUILT) == []  # the page needs a model that reads a text as it stands
    assert models.of_study([hmm, *spoken], BUILT) == [hmm, spoken[2]]


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
