"""A page of one model of the reader's own, of whatever shape, without any results."""

import json

import numpy as np
import pytest
import torch

import random_models
from maskstudy.commands import explain
from maskstudy.masks import layer_masks
from maskstudy.shape import build_shape
from maskstudy.tasks import build

SHAPES = [
    ("hmm_tagging", {"positions": "learned", "layers": 3, "heads": 1}),
    ("hmm_tagging", {"positions": "none", "layers": 1, "heads": 4}),
    ("next_byte", {"positions": "rotary", "layers": 2, "heads": 2, "width": 8}),
    ("masked_byte", {"positions": "learned", "layers": 1, "heads": 2}),
]


@pytest.mark.parametrize(("kind", "changes"), SHAPES, ids=str)
def test_it_runs_and_says_what_it_lacks(visit, tmp_path, kind, changes):
    path = random_models.write(tmp_path / "model.safetensors", kind, "full", **changes)
    explain.main(["--weights", str(path), "--out", str(tmp_path / "page.html")])
    shape = build_shape(
        build({"kind": kind, "parameters": random_models.TASKS[kind]}), random_models.SMALL_SHAPE | changes
    )
    model = random_models.model(shape)
    with visit(other=(tmp_path / "page.html").as_uri()) as seen:
        text = "ABCDEABC" if kind == "hmm_tagging" else "abc é"
        asked = seen.ask(f"{kind}/full", text, 8, "full")
        ids = torch.tensor([asked["ids"]])
        with torch.inference_mode():
            logits = model(ids, layer_masks("full", shape.layers, ids.shape[1]))[0]
        np.testing.assert_allclose(asked["logits"], logits, atol=1e-4)
        assert seen.page.locator(".head").count() == shape.layers * shape.heads
        assert seen.page.locator("#inference-missing").is_visible() == (kind != "next_byte")
        assert seen.page.locator("#results-missing").is_visible()
        assert seen.page.locator("#hiding-strip").is_visible() == (kind == "masked_byte")
        for view in ("step=9&mask=own&moment=4", "count=12&fill=3&blind=1&side=left&pads=4&mask=prefix&sighted=1"):
            seen.go(view)


def test_the_text_of_a_model_of_letters_is_its_own(visit, tmp_path):
    path = random_models.write(tmp_path / "model.safetensors", "hmm_tagging")
    explain.main(["--weights", str(path), "--out", str(tmp_path / "page.html")])
    with visit(other=(tmp_path / "page.html").as_uri()) as seen:
        seen.page.fill("#text", "edcba")
        seen.settle()
        signs = "all => all.map(one => one.textContent).join('')"
        assert seen.page.eval_on_selector_all("#steps-matrix thead .sign", signs) == "EDCBA"
        assert "letters=edcba" in seen.page.evaluate("location.hash")


def test_without_an_encoder_decoder_its_numbers_are_said_to_be_random(visit, tmp_path):
    path = random_models.write(tmp_path / "model.safetensors", "next_byte")
    explain.main(["--weights", str(path), "--out", str(tmp_path / "page.html")])
    with visit("text=source text&target=zwölf&count=8", other=(tmp_path / "page.html").as_uri()) as seen:
        assert "untrained, random heads" in seen.page.text_content("#translation-model")
        for name in ("encoder-self", "decoder-self", "decoder-cross"):
            assert seen.page.text_content(f"#{name}-title").endswith(" · random")
            for row in seen.cells(name):
                assert sum(float(cell.replace("−", "-")) for cell in row) == pytest.approx(1, abs=0.06)
        assert len(seen.cells("decoder-cross")) == 6  # ö is two bytes
        assert not seen.page.locator("#writing").is_visible()
        seen.page.fill("#target", "<b>")
        seen.page.uncheck("#numbers")
        seen.settle()
        assert seen.cells("decoder-self") == [["✓", "–", "–"], ["✓", "✓", "–"], ["✓", "✓", "✓"]]


def test_an_encoder_decoder_of_the_reader_s_own_needs_the_names_of_its_tokens(visit, tmp_path):
    writer = random_models.write(tmp_path / "writer.safetensors", "next_byte")
    across = random_models.write(tmp_path / "across.safetensors", "pronunciation", "encoder-decoder", layers=3)
    names = tmp_path / "summary.json"
    names.write_text(json.dumps({"names": {"tokens": random_models.NAMES}}), encoding="utf-8")
    given = ["--weights", str(across), str(writer), "--names", str(names), "--out", str(tmp_path / "page.html")]
    explain.main(given)
    with visit("word=hut", other=(tmp_path / "page.html").as_uri()) as seen:
        assert "the letters of a word" in seen.page.text_content("#translation-model")
        assert seen.page.locator("#encoder-self-heads .head").count() == 4  # two of three layers, two heads
        assert seen.page.locator("#decoder-cross-heads .head").count() == 2
