import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest

import random_models
from maskstudy import explainer
from maskstudy.errors import StudyError
from maskstudy.explainer import models, page


class Elements(HTMLParser):
    """Every element with its attributes, and the text inside scripts."""

    def __init__(self, text):
        super().__init__()
        self.found, self.scripts, self.inside = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        self.inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):  # noqa: ARG002 (the name of the method's own)
        self.inside = ""

    def handle_data(self, data):
        if self.inside == "script":
            self.scripts[-1] += data


@pytest.fixture(scope="module")
def chosen(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    pairs = [("next_byte", "causal", "study"), ("next_byte", "full", "control"), ("masked_byte", "full", "study")]
    paths = [random_models.write(folder / f"{kind}-{mask}", kind, mask, role) for kind, mask, role in pairs]
    return [models.read(path) for path in paths]


def data_of(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def test_the_page_is_the_same_again(chosen):
    assert page.page(chosen) == page.page(chosen)


def test_nothing_is_loaded_from_anywhere(chosen):
    elements = Elements(page.page(chosen))
    for tag, attributes in elements.found:
        assert "src" not in attributes
        if tag == "link":
            assert attributes["href"] == "data:,"
        if tag == "a":
            assert attributes["href"].startswith("#")
    assert "@import" not in page.page(chosen)
    assert "url(" not in page.page(chosen)


def test_the_policy_lets_this_script_run_and_no_other(chosen):
    text = page.page(chosen)
    elements = Elements(text)
    (policy,) = [
        given["content"] for tag, given in elements.found if given.get("http-equiv") == "Content-Security-Policy"
    ]
    script = elements.scripts[-1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")


def test_every_module_is_in_the_page_and_every_source_is_named(chosen):
    names = {path.stem for path in (explainer.FOLDER / "modules").rglob("*.mjs")}
    script = Elements(page.page(chosen)).scripts[-1]
    assert {name for name in names if f"const ${name} = " not in script} == set()
    assert len({*explainer.SOURCES}) == len(names) + 2


def test_data_cannot_end_its_element(chosen):
    text = page.page(chosen, {"name": "</script><script>alert(1)</script>"})
    assert data_of(text)["study"]["name"] == "</script><script>alert(1)</script>"
    assert Elements(text).found.count(("script", {})) == 1


def test_all_weights_stand_there_in_single_precision_where_they_fit(chosen):
    data = data_of(page.page(chosen))
    assert [model["precision"] for model in data["models"]] == ["float32"] * 3
    assert data["left_out"] == []


def test_what_does_not_fit_is_rounded_then_left_out_and_named(chosen, monkeypatch):
    whole = len(page.page(chosen).encode())
    monkeypatch.setattr(page, "LIMIT", whole - 1)
    halves = page.page(chosen)
    assert [model["precision"] for model in data_of(halves)["models"]] == ["float16"] * 3
    monkeypatch.setattr(page, "LIMIT", len(halves.encode()) - 1)
    twelve = page.page(chosen)
    assert [model["precision"] for model in data_of(twelve)["models"]] == ["float12"] * 3
    monkeypatch.setattr(page, "LIMIT", len(twelve.encode()) - 1)
    fewer = page.page(chosen)
    assert [(model["task"], model["mask"]) for model in data_of(fewer)["models"]] == [
        ("next_byte", "causal"),
        ("next_byte", "full"),
    ]
    assert data_of(fewer)["left_out"] == ["masked_byte/full"]
    monkeypatch.setattr(page, "LIMIT", 1000)
    with pytest.raises(StudyError, match="next_byte/causal alone makes the page larger than 1,000 bytes"):
        page.page(chosen)


def test_a_page_needs_a_model():
    with pytest.raises(StudyError, match="at least one model that reads bytes or letters"):
        page.page([])


def test_the_models_of_the_default_study_and_its_results_stay_below_two_megabytes(tmp_path):
    cells = [
        ("next_byte", "causal"),
        ("next_byte", "full"),
        ("pronunciation", "encoder-decoder"),
        ("masked_byte", "causal"),
        ("masked_byte", "full"),
        ("markov_next", "causal"),
    ]
    made = [
        models.read(random_models.write(tmp_path / f"{kind}-{mask}", kind, mask, **random_models.study_shape(kind)))
        for kind, mask in cells
    ]
    text = page.page(made, {"results": "x" * 60_000}, random_models.NAMES)
    assert len(text.encode()) <= 2_000_000
    assert data_of(text)["left_out"] == []


def test_every_control_has_a_name():
    text = (explainer.FOLDER / "template.html").read_text(encoding="utf-8")
    labelled = "".join(re.findall(r"<label.*?</label>", text, re.DOTALL))
    assert [control for control in re.findall(r"<(?:input|select)[^>]*>", text) if control not in labelled] == []
