import json
from pathlib import Path

import pytest

from maskstudy.commands import options
from maskstudy.errors import StudyError


def test_settings_are_an_object_of_json_and_may_hold_more_than_is_asked_for():
    given = {"cell": {"mask": "full"}, "layers": 2}
    assert options.read_settings(json.dumps(given), ("layers",)) == given


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("", "not JSON"),
        ("[1]", "cell, layers missing"),
        ("3", "cell, layers missing"),
        ('"cell, layers"', "cell, layers missing"),
        ('{"cell": {}}', "--settings: layers missing"),
    ],
)
def test_anything_else_is_one_line_that_says_what_to_pass(text, message):
    with pytest.raises(StudyError) as raised:
        options.read_settings(text, ("cell", "layers"))
    assert message in str(raised.value)
    assert str(raised.value).endswith("pass an object with cell, layers")
    assert "\n" not in str(raised.value)


def test_a_parser_takes_settings_and_paths():
    parser = options.parser("train", "what it does", "a")
    options.add_path(parser, "run", "folder of the run")
    given = parser.parse_args(["--settings", json.dumps({"a": 1}), "--run", "results/x"])
    assert given.settings == {"a": 1}
    assert given.run == Path("results/x")


def test_an_error_in_the_settings_is_not_hidden_behind_the_usage():
    with pytest.raises(StudyError, match="seeds missing"):
        options.parser("train", None, "seeds").parse_args(["--settings", "{}"])


@pytest.mark.parametrize("arguments", [[], ["--settings", "{}"], ["--run", "x"]])
def test_every_option_is_needed(arguments, capsys):
    parser = options.parser("train", "what it does")
    options.add_path(parser, "run", "folder of the run")
    with pytest.raises(SystemExit):
        parser.parse_args(arguments)
    assert "maskstudy train: error: the following arguments are required" in capsys.readouterr().err


def test_help_says_what_the_verb_does_as_it_is_written_and_what_the_settings_hold(capsys):
    with pytest.raises(SystemExit):
        options.parser("train", "one line\n\n    and another", "cell", "task").parse_args(["--help"])
    printed = capsys.readouterr().out
    assert "one line\n\n    and another" in printed
    assert "an object with cell, task" in " ".join(printed.split())
