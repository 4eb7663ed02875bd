import subprocess
import sys

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from fake_results import TASKS, FakeTask, arguments, write
from maskstudy import figures
from maskstudy.commands import figure
from maskstudy.errors import StudyError
from maskstudy.figures.results import Results, Settings

KINDS = ("svg", "png", "csv")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A results folder and its settings."""
    folder = tmp_path_factory.mktemp("results")
    return folder, write(folder, {**TASKS, "next": FakeTask(masks=("causal",), controls=("full",))}, seeds=3)


@pytest.mark.parametrize("name", figures.names())
def test_a_figure_comes_as_svg_png_and_csv_and_the_same_again(study, name):
    folder, settings = study
    files = [folder / "figures" / f"{name}.{kind}" for kind in KINDS]
    figure.main([name, *arguments(settings, folder)])
    first = [file.read_bytes() for file in files]
    assert first[0].startswith(b"<?xml")
    assert first[1].startswith(b"\x89PNG")
    for file in files:
        file.unlink()
    figure.main([name, *arguments(settings, folder)])
    assert [file.read_bytes() for file in files] == first


@pytest.mark.parametrize("name", figures.names())
def test_the_csv_holds_what_is_drawn(study, name):
    folder, settings = study
    figure.main([name, *arguments(settings, folder)])
    data = figures.named(name).data(Results(folder, Settings.of(settings)))
    assert not data.is_empty()
    assert_frame_equal(pl.read_csv(folder / "figures" / f"{name}.csv", schema=data.schema), data, check_exact=True)


def test_a_quick_profile_says_so_in_the_figure_itself(tmp_path, monkeypatch):
    notes = []
    monkeypatch.setattr(figure.style, "add_note", lambda _, text: notes.append(text))
    settings = write(tmp_path, {"masked_byte": FakeTask()}, seeds=2, confirmatory=False)
    figure.main(["seeds", *arguments(settings, tmp_path)])
    assert notes == ["quick profile: 2 seeds a cell, exploratory only"]
    figure.main(["seeds", *arguments({**settings, "confirmatory": True}, tmp_path)])
    assert len(notes) == 1


def test_an_unknown_figure_is_refused(study):
    folder, settings = study
    with pytest.raises(StudyError, match="figure 'nothing': unknown; use one of access_grids, comparisons"):
        figure.main(["nothing", *arguments(settings, folder)])


def test_a_missing_table_is_named_and_nothing_is_written(tmp_path):
    settings = {"cells": [{"task": "t", "mask": "causal", "role": "study", "seeds": [0]}], "confirmatory": True}
    with pytest.raises(StudyError, match=r"metrics\.parquet: no such file"):
        figure.main(["seeds", *arguments(settings, tmp_path)])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("verb", ["figure", "paper"])
def test_figures_and_paper_never_import_torch(verb):
    script = (
        f"import sys, maskstudy.commands.{verb}\n"
        "from maskstudy import figures\n"
        "for name in figures.names(): figures.named(name)\n"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
