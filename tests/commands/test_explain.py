import subprocess
import sys

import pytest

import random_models
from fake_results import FakeTask, arguments, write
from maskstudy.commands import explain
from maskstudy.errors import StudyError


@pytest.fixture
def weights(tmp_path):
    return str(random_models.write(tmp_path / "model.safetensors", "next_byte"))


def test_a_model_of_ones_own_becomes_a_page_without_results(tmp_path, weights):
    explain.main(["--weights", weights, "--out", str(tmp_path / "page.html")])
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert '"study": null' in text


def test_results_stand_in_the_page_of_a_study(tmp_path, weights):
    settings = write(tmp_path / "results", {"next_byte": FakeTask(masks=("causal",), controls=("full",))}, seeds=2)
    page = tmp_path / "results" / "explainer.html"
    explain.main(["--weights", weights, "--out", str(page), *arguments(settings, tmp_path / "results")])
    assert "judged_nats" in page.read_text(encoding="utf-8")


def test_results_without_settings_are_refused(tmp_path, weights):
    with pytest.raises(StudyError, match="--results and --settings go together"):
        explain.main(["--weights", weights, "--out", str(tmp_path / "page.html"), "--results", str(tmp_path)])


def test_a_mistake_is_one_line_and_writes_nothing(tmp_path):
    (tmp_path / "other.safetensors").write_bytes(b"\x00" * 16)
    command = ["explain", "--weights", "other.safetensors", "--out", "page.html"]
    done = subprocess.run(
        [sys.executable, "-m", "maskstudy", *command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("maskstudy explain: other.safetensors: not a file of weights")
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["other.safetensors"]
