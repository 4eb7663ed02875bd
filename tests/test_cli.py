import subprocess
import sys
from importlib import import_module

import pytest

from maskstudy import cli
from maskstudy.cli import VERBS, main
from maskstudy.commands import prepare
from maskstudy.errors import StudyError


def python(*arguments):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_lists_every_verb_and_what_it_does(arguments, capsys):
    main(arguments)
    printed = capsys.readouterr().out.splitlines()
    for verb, summary in VERBS.items():
        assert f"  {verb:<15} {summary}" in printed


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from maskstudy.cli import main; main(['--help']); "
        "print([name for name in ('torch', 'polars', 'scipy', 'matplotlib', 'numpy') if name in sys.modules])"
    )
    assert python("-c", code).stdout.splitlines()[-1] == "[]"


def test_an_unknown_verb_is_one_line_that_says_what_is_allowed():
    with pytest.raises(SystemExit) as stopped:
        main(["trian", "--seed", "0"])
    assert stopped.value.code == f"maskstudy: verb 'trian' is not known; allowed: {', '.join(VERBS)}"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_a_module_with_a_main_and_its_own_help(verb, capsys):
    module = import_module(f"maskstudy.commands.{verb}")
    assert module.__doc__.startswith(f"`maskstudy {verb}")
    with pytest.raises(SystemExit) as stopped:
        module.main(["--help"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: maskstudy {verb} ")


def test_arguments_reach_the_verb(monkeypatch):
    given = []
    monkeypatch.setattr(prepare, "main", given.append)
    main(["prepare", "--raw", "x"])
    monkeypatch.setattr(sys, "argv", ["maskstudy", "prepare", "--out", "y"])
    main()
    assert given == [["--raw", "x"], ["--out", "y"]]


def test_what_a_user_can_mend_is_one_line_and_a_status_of_one():
    ended = python("-m", "maskstudy", "prepare", "--settings", "{", "--raw", "x", "--out", "y")
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr.count("\n") == 1
    assert ended.stderr.startswith("maskstudy prepare: --settings: not JSON")


def test_what_only_a_developer_can_mend_keeps_its_traceback(monkeypatch):
    def fails(_arguments):
        raise KeyError("a bug")

    monkeypatch.setattr(prepare, "main", fails)
    with pytest.raises(KeyError, match="a bug"):
        main(["prepare"])


def test_the_error_names_the_verb(monkeypatch):
    def refuses(_arguments):
        raise StudyError("data/raw: empty")

    monkeypatch.setattr(prepare, "main", refuses)
    with pytest.raises(SystemExit) as stopped:
        cli.main(["prepare"])
    assert stopped.value.code == "maskstudy prepare: data/raw: empty"
