import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from maskstudy.commands import access as command
from maskstudy.commands.access import build
from maskstudy.errors import StudyError
from maskstudy.patterns import pattern
from own_models import LENGTH, Mixing, VectorMixing

FACTORIES = """
import torch
from own_models import LENGTH, Mixing, VectorMixing
from maskstudy.patterns import pattern

def causal():
    torch.manual_seed(0)
    return Mixing(torch.from_numpy(pattern("causal", LENGTH)).float())

class Full(VectorMixing):
    def __init__(self):
        super().__init__(torch.ones(LENGTH, LENGTH))

def function():
    return lambda vectors: vectors.cumsum(1)

standing = causal()
number = 3

def failing():
    raise ValueError("no such\\n  weights")

def wrong():
    return torch.nn.Flatten(0)

class Zero(Full):
    def __init__(self):
        super().__init__()
        torch.nn.init.zeros_(self.answer.weight)

class Group:
    factory = staticmethod(causal)
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder with a module of factories, which is the current one; what is imported from it is forgotten."""
    (tmp_path / "factories.py").write_text(FACTORIES, encoding="utf-8")
    (tmp_path / "broken.py").write_text("import nothing_of_this_name\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "factories", raising=False)
    yield tmp_path
    sys.modules.pop("factories", None)


def run(*arguments):
    command.main([*arguments, "--length", str(LENGTH)])


# --- the grid ---------------------------------------------------------------------------------------------------------


def test_the_grid_the_verdict_and_what_was_measured(capsys):
    run("factories:causal")
    said = capsys.readouterr().out
    assert said.startswith(
        "8 positions, tokens out of 11; by perturbation and gradient; evaluation and training; 3 draws\n\n"
    )
    assert "query 0 ■ · · · · · · ·\n      1 ■ ■ · · · · · ·\n" in said
    assert said.endswith("\ncausal: each query sees itself and every key before it\n")
    assert said.isascii() is False
    assert "\x1b" not in said


def test_as_expected_ends_well(capsys):
    run("factories:causal", "--expect", "causal")
    assert capsys.readouterr().out.endswith("\nexpected causal: agrees\n")


def test_not_as_expected_ends_with_one_and_the_first_pair(capsys):
    with pytest.raises(SystemExit) as caught:
        run("factories:causal", "--expect", "strictly-causal")
    assert caught.value.code == 1
    said = capsys.readouterr().out
    assert "query 0 ✗ · · · · · · ·" in said
    assert "\nexpected strictly-causal: query 0 sees key 0, which it must not: the answer at 0 moves by " in said


def test_remarks_are_notes(capsys):
    run("factories:function", "--width", "2", "--draws", "1")
    assert "; as given; 1 draw\n" in capsys.readouterr().out
    run("factories:Zero")
    said = capsys.readouterr().out
    assert "\nnone: nothing influences anything, not even itself\nnote: answer.weight: all weights are 0" in said


@pytest.mark.parametrize(
    ("factory", "verdict"), [("Full", "full"), ("standing", "causal"), ("Group.factory", "causal")]
)
def test_classes_instances_and_nested_names_are_factories_too(factory, verdict, capsys):
    run(f"factories:{factory}")
    assert f"\n{verdict}: " in capsys.readouterr().out


# --- JSON -------------------------------------------------------------------------------------------------------------


def test_json_is_all_that_is_printed(capsys):
    run("factories:causal", "--json", "--expect", "causal")
    said = json.loads(capsys.readouterr().out)
    assert said["verdict"] == "causal"
    assert said["matrix"] == pattern("causal", LENGTH).astype(int).tolist()
    assert (said["expected"], said["as_expected"], said["offence"]) == ("causal", True, None)
    with pytest.raises(SystemExit) as caught:
        run("factories:causal", "--json", "--expect", "diagonal")
    assert caught.value.code == 1
    said = json.loads(capsys.readouterr().out)
    assert said["as_expected"] is False
    assert (said["offence"]["query"], said["offence"]["key"], said["offence"]["seen"]) == (1, 0, True)
    run("factories:causal", "--json")
    said = json.loads(capsys.readouterr().out)
    assert (said["expected"], said["as_expected"], said["offence"]) == (None, None, None)


# --- options ----------------------------------------------------------------------------------------------------------


def test_options_reach_the_measurement(monkeypatch, capsys):
    from maskstudy import access

    asked, real = {}, access.measure_access

    def measure(model, **options):
        asked.update(options)
        return real(model, **options)

    monkeypatch.setattr(access, "measure_access", measure)
    changed = ["--vocabulary", "5", "--draws", "2", "--seed", "7", "--redraw-weights", "--precision", "own"]
    run("factories:causal", *changed)
    expected = {"length": 8, "vocabulary": 5, "width": None, "draws": 2, "redraw_weights": True, "seed": 7}
    assert asked == {**expected, "precision": None}
    asked.clear()
    run("factories:causal")
    expected = {"length": 8, "vocabulary": None, "width": None, "draws": 3, "redraw_weights": False, "seed": 0}
    assert asked == expected
    capsys.readouterr()


@pytest.mark.parametrize("name", ["a.svg", "b.png", "c.SVG", "folder/d.svg"])
def test_the_figure_is_written_also_where_the_access_is_not_as_expected(name, here, capsys):
    with pytest.raises(SystemExit):
        run("factories:causal", "--expect", "full", "--figure", name)
    written = (here / name).read_bytes()
    assert written.startswith(b"<?xml" if name.lower().endswith("svg") else b"\x89PNG")
    assert "full" in capsys.readouterr().out


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["factories"], "factories: give the factory as PACKAGE.MODULE:FACTORY"),
        ([":causal"], "give the factory as"),
        (["factories:"], "give the factory as"),
        (["nowhere:causal"], "nowhere:causal: nowhere cannot be imported: ModuleNotFoundError"),
        (["broken:causal"], "broken cannot be imported: ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        (["factories:acausal"], "factories:acausal: there is no acausal in factories"),
        (["factories:number"], "factories:number: int is no factory"),
        (["factories:failing"], "factories:failing: the factory fails: ValueError: no such weights"),
        (["factories:wrong"], r"answers of shape \(8,\) to inputs of shape \(1, 8\)"),
        (["factories:causal", "--expect", "casual"], "pattern 'casual' is not known; use one of none, diagonal"),
        (["factories:causal", "--figure", "a.pdf"], "--figure a.pdf: give a file that ends in .svg or .png"),
        (["factories:causal", "--draws", "0"], "draws 0; at least one"),
        (["factories:causal", "--vocabulary", "1"], "a vocabulary of 1"),
    ],
)
def test_what_cannot_be_measured_is_one_clear_line(arguments, message, capsys):
    with pytest.raises(StudyError, match=message) as caught:
        run(*arguments)
    assert "\n" not in str(caught.value)
    assert capsys.readouterr().out == ""


def test_a_length_of_nothing_is_refused():
    for length in ("0", "-3"):
        with pytest.raises(StudyError, match=f"--length {length}: at least one position is needed"):
            command.main(["factories:causal", "--length", length])


def test_the_current_folder_is_looked_in_once():
    assert isinstance(build("factories:causal"), Mixing)
    build("factories:Full")
    assert isinstance(build("factories:Full"), VectorMixing)
    assert sys.path.count(str(Path.cwd())) + sys.path.count("") == 1


# --- from the shell ---------------------------------------------------------------------------------------------------


def shell(*arguments):
    source = Path(command.__file__).parents[2]
    tests = Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source), str(tests)]), "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [sys.executable, "-m", "maskstudy", "access", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment,
        check=False,
    )


def test_exits_with_zero_or_one_and_errors_are_one_line():
    fine = shell("factories:causal", "--length", "8", "--expect", "causal")
    assert (fine.returncode, fine.stderr) == (0, "")
    other = shell("factories:causal", "--length", "8", "--expect", "full")
    assert (other.returncode, other.stderr) == (1, "")
    broken = shell("factories:acausal")
    assert (broken.returncode, broken.stdout) == (1, "")
    assert broken.stderr == "maskstudy access: factories:acausal: there is no acausal in factories\n"


def test_help_and_mistyped_names_do_not_wait_for_torch():
    program = (
        "import sys; from maskstudy.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "assert not {'torch', 'matplotlib', 'polars'} & set(sys.modules)"
    )
    source = str(Path(command.__file__).parents[2])
    for arguments in (["access", "--help"], ["access", "a:b", "--expect", "casual"], ["access", "nowhere:b"]):
        environment = {**os.environ, "PYTHONPATH": source}
        subprocess.run([sys.executable, "-c", program, *arguments], check=True, capture_output=True, env=environment)
