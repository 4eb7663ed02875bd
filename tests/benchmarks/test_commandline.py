"""Each benchmark at its smallest size gives tables, and JSON that can be compared. Times are not looked at."""

import json
from contextlib import contextmanager

import pytest
from benchmarks.effort import Effort
from benchmarks.tables import Table
from benchmarks.timing import Spread

from benchmarks import commandline, step
from fake_results import write

QUICK = ("step", "masks", "decoding", "startup", "parts")


@contextmanager
def started_here(makers):
    """What `taking_turns` gives, without the processes."""
    started = {}
    for name, maker in makers.items():
        try:
            started[name] = maker()
        except ModuleNotFoundError as error:
            started[name] = error
    yield started


@pytest.fixture
def inside(monkeypatch):
    """Benchmarks and their variants in this process, which has imported torch already."""
    monkeypatch.setattr(commandline, "alone", lambda function, *arguments: function(*arguments))
    monkeypatch.setattr(step, "taking_turns", started_here)


def numbers(path):
    content = json.loads(path.read_text(encoding="utf-8"))
    return {
        (name, table["title"], row, column): value["median"]
        for name, tables in content["benchmarks"].items()
        for table in tables
        for row, columns in table["rows"].items()
        for column, value in columns.items()
    }


@pytest.mark.usefixtures("inside")
@pytest.mark.parametrize("name", QUICK)
def test_a_benchmark_prints_a_table_and_writes_it_as_json(name, tmp_path, capsys):
    path = tmp_path / "new.json"
    commandline.main(["--only", name, "--smallest", "--rounds", "1", "--json", str(path)])
    printed = capsys.readouterr().out
    assert "processor: " in printed
    found = numbers(path)
    assert {key[0] for key in found} == {name}
    for _, title, row, column in found:
        assert f"### {title}" in printed
        assert f"| {row} |" in printed
        assert column in printed
    assert all(value > 0 for value in found.values())


@pytest.mark.usefixtures("inside")
def test_figures_are_timed_on_a_copy_of_the_results(tmp_path, capsys):
    settings = write(tmp_path / "results", seeds=3)
    config = {
        "tasks": {"hmm_tagging": {"masks": ["causal", "full"]}},
        "seeds": 3,
        "confirmatory": True,
        "statistics": settings["statistics"],
        "figures": ["seeds"],
        "datasets": {},
    }
    (tmp_path / "results/config.yaml").write_text(json.dumps(config), encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    commandline.main(["--only", "figures", "--smallest", "--results", str(tmp_path / "results")])
    printed = capsys.readouterr().out
    assert "| figure seeds |" in printed
    assert "| paper |" in printed
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.usefixtures("inside")
def test_without_results_there_is_a_line_that_says_how_to_make_them(tmp_path, capsys):
    commandline.main(["--only", "figures", "--results", str(tmp_path)])
    assert "no finished results; run `snakemake` first" in capsys.readouterr().out


@pytest.fixture
def one_number(monkeypatch):
    """A benchmark that gives the number it is told."""
    said = {}

    def measured(*_):
        return "one number", [Table("t", {"row": {"ms": Spread(said["ms"], said["ms"], said["ms"])}})]

    monkeypatch.setattr(commandline, "alone", measured)
    return said


def test_two_runs_are_compared(one_number, tmp_path, capsys):
    path = tmp_path / "old.json"
    one_number["ms"] = 2.0
    commandline.main(["--only", "parts", "--json", str(path)])
    one_number["ms"] = 5.0
    commandline.main(["--only", "parts", "--compare", str(path)])
    assert "| row | ms | 2.00 | 5.00 | 2.50 * |" in capsys.readouterr().out
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, "machine": {**content["machine"], "cores": "512"}}), encoding="utf-8")
    commandline.main(["--only", "parts", "--compare", str(path)])
    assert "**cores differs**: 512 then" in capsys.readouterr().out


def test_mistakes_are_one_line(tmp_path, capsys):
    with pytest.raises(SystemExit):
        commandline.main(["--only", "steps"])
    assert "steps: no such benchmark; there are step, masks" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="give a file that --json wrote"):
        commandline.main(["--compare", str(tmp_path / "none.json")])


def test_the_usual_number_of_rounds_can_be_overruled():
    assert Effort().rounds_or(30) == 30
    assert Effort(smallest=True).rounds_or(30) == 1
    assert Effort(rounds=3, smallest=True).rounds_or(30) == 3
