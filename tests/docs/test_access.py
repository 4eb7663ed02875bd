"""The examples of docs/access.md are run as they stand there."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from maskstudy import patterns, proofs, testing

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "access.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"moves by [0-9.e+-]+ of")  # the last digits depend on the machine


@pytest.fixture
def folder(tmp_path):
    """A folder with the files that the page shows."""
    for language, text in BLOCKS:
        if language == "python" and (named := re.match(r"# (\w+\.py)\n", text)):
            (tmp_path / named[1]).write_text(text, encoding="utf-8")
    assert {path.name for path in tmp_path.iterdir()} == {"my_model.py", "test_my_model.py"}
    return tmp_path


def run(folder, *command):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


CONSOLE = [text for language, text in BLOCKS if language == "console"]


@pytest.mark.parametrize(("number", "status"), [(0, 1), (1, 0)])
def test_the_commands_print_what_the_page_shows(number, status, folder):
    first, shown = CONSOLE[number].split("\n", 1)
    assert first.startswith("$ maskstudy ")
    done = run(folder, *shlex.split(first)[1:])
    assert (done.returncode, done.stderr) == (status, "")
    assert NUMBER.sub("moves by … of", done.stdout) == NUMBER.sub("moves by … of", shown)
    if "--figure" in first:
        name = shlex.split(first)[-1]
        assert (folder / name).read_bytes().startswith(b"<?xml")
        assert f"images/{name}" in PAGE
        assert (ROOT / "docs" / "images" / name).read_bytes().startswith(b"<?xml")
    assert len(CONSOLE) == 2


def test_the_assertions_of_the_page_hold(folder):
    done = run(folder, "pytest", "-q", "-p", "no:cacheprovider", "test_my_model.py")
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout


def test_every_assertion_and_every_pattern_stands_on_the_page():
    for name in vars(testing):
        if name.startswith("assert_"):
            assert f"`{name}(" in PAGE
    for name in (*patterns._FIXED, "lookahead-K", "prefix-N", "window-A-B", "block-N", "causal-block-N"):
        assert f"`{name}`" in PAGE
    assert "maskstudy.proofs.FINITE_CASES" in PAGE
    assert proofs.FINITE_CASES
