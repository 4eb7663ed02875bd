import polars as pl
import pytest

from fake_results import FakeTask, arguments, write
from maskstudy import figures
from maskstudy.commands import figure, paper
from maskstudy.errors import StudyError
from maskstudy.files import sha256


def draw(settings, folder):
    for name in figures.names():
        figure.main([name, *arguments(settings, folder)])


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A results folder with its figures, and its settings."""
    folder = tmp_path_factory.mktemp("results")
    settings = write(folder, seeds=6)
    draw(settings, folder)
    return folder, settings


def test_the_paper_and_its_tables_are_the_same_again(study):
    folder, settings = study
    paper.main(arguments(settings, folder))
    written = [folder / "paper.pdf", *sorted((folder / "tables").iterdir())]
    tables = ["audit", "comparisons", "cost", "metrics", "representations", "swaps", "tuning"]
    assert [path.name for path in written[1:]] == [f"{name}.csv" for name in tables]
    assert written[0].read_bytes().startswith(b"%PDF")
    first = {path: sha256(path.read_bytes()) for path in written}
    for path in written:
        path.unlink()
    paper.main(arguments(settings, folder))
    assert {path: sha256(path.read_bytes()) for path in written} == first


def test_the_tables_hold_every_cell_and_every_comparison(study):
    folder, settings = study
    paper.main(arguments(settings, folder))
    metrics, comparisons, cost, audit = (
        pl.read_csv(folder / "tables" / f"{name}.csv") for name in ("metrics", "comparisons", "cost", "audit")
    )
    cells = {(cell["task"], cell["mask"]) for cell in settings["cells"]}
    for table in (metrics, cost, audit):
        assert set(zip(table["task"], table["mask"], strict=True)) == cells
    assert len(metrics) == 2 * len(cells)
    assert len(comparisons) == 2 * (10 + 1)


def test_the_paper_follows_its_settings(study):
    folder, settings = study
    paper.main(arguments(settings, folder))
    before = (folder / "paper.pdf").read_bytes()
    paper.main(arguments({**settings, "questions": {"masked_byte": "Which byte is hidden?"}}, folder))
    assert (folder / "paper.pdf").read_bytes() != before


def test_a_missing_figure_is_named_and_nothing_is_written(tmp_path):
    settings = write(tmp_path, {"masked_byte": FakeTask()}, seeds=2)
    with pytest.raises(StudyError, match=r"access_grids\.csv: no such file; draw the figure first"):
        paper.main(arguments(settings, tmp_path))
    assert not (tmp_path / "paper.pdf").exists()
    assert not (tmp_path / "tables").exists()


def test_the_paper_shows_the_figures_of_the_config_that_apply(tmp_path, monkeypatch):
    settings = write(tmp_path, {"masked_byte": FakeTask()}, seeds=2, confirmatory=False)
    draw(settings, tmp_path)
    shown = []
    collect = paper.collect
    monkeypatch.setattr(paper, "collect", lambda *given: shown.append(given[2]) or collect(*given))
    paper.main(arguments({**settings, "figures": ["seeds", "dose_response", "access_grids"]}, tmp_path))
    paper.main(arguments(settings, tmp_path))
    applying = ["access_grids", "comparisons", "learning_curves", "mask_swap", "representations", "samples", "seeds"]
    assert shown == [["seeds", "access_grids"], [*applying, "tuning"]]
