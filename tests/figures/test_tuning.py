import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from fake_results import SCALES
from maskstudy.figures import style, tuning
from maskstudy.figures.results import Results
from maskstudy.files import read_table, write_table
from maskstudy.schemas import TUNING


def test_one_row_a_cell_and_scale_less_the_best_of_the_cell(results):
    data = tuning.data(results)
    assert len(data) == len(results.settings.cells) * len(SCALES)
    for (_, mask), cell in data.group_by("task", "mask"):
        best = cell.sort("above_best").row(0, named=True)
        assert best["above_best"] == 0
        assert best["chosen"]
        assert best["scale"] == (2.0 if mask == "full" else 1.0)
        assert cell["chosen"].sum() == 1


def test_filled_points_are_those_that_were_chosen(results):
    data = tuning.data(results)
    figure = tuning.draw(data)
    panel = next(axes for axes in figure.axes if axes.get_title(loc="left") == "masked_byte")
    points = [line for line in panel.lines if line.get_marker() == "o"]
    filled = {line.get_xdata()[0] for line in points if line.get_markerfacecolor() != "white"}
    assert len(points) == 2 * len(SCALES)
    assert filled == {1.0, 2.0}
    assert {line.get_color() for line in points} == {style.MASK_COLOURS[mask] for mask in ("causal", "full")}


def test_the_best_is_that_of_the_cell_itself(results, tmp_path):
    table = pl.read_parquet(results.folder / "tuning.parquet")
    worse = table.with_columns(pl.col("nats") + (pl.col("mask") == "full"))
    write_table(tmp_path / "tuning.parquet", worse.to_arrow().cast(TUNING), TUNING)
    data, changed = (tuning.data(Results(folder, results.settings)) for folder in (results.folder, tmp_path))
    assert changed["above_best"].to_list() == pytest.approx(data["above_best"].to_list())


def test_where_a_training_diverged_there_is_no_point_and_the_others_stay(results, tmp_path):
    rows = read_table(results.folder / "tuning.parquet", TUNING).to_pylist()
    for row in rows:
        if (row["mask"], row["scale"]) == ("causal", 2.0):
            row["nats"] = None
    write_table(tmp_path / "tuning.parquet", pa.Table.from_pylist(rows, TUNING), TUNING)
    data = tuning.data(Results(tmp_path, results.settings))
    gone = (pl.col("mask") == "causal") & (pl.col("scale") == 2.0)
    assert data.filter(gone)["above_best"].is_null().all()
    assert data.filter(~gone)["above_best"].is_not_null().all()
    assert np.isfinite(tuning.draw(data).axes[1].get_ylim()).all()


def test_a_grid_of_one_point_draws_that_nothing_was_tuned(results, tmp_path):
    empty = read_table(results.folder / "tuning.parquet", TUNING).slice(0, 0)
    write_table(tmp_path / "tuning.parquet", empty, TUNING)
    data = tuning.data(Results(tmp_path, results.settings))
    assert data.is_empty()
    texts = [text.get_text() for axes in tuning.draw(data).axes for text in axes.texts]
    assert texts == ["The grid of this study has one learning rate: nothing was tuned."]


@pytest.mark.parametrize("study", ["many tasks", "controls and own masks"])
def test_it_draws_every_kind_of_study(studies, study):
    data = tuning.data(studies(study))
    figure = tuning.draw(data)
    assert len([axes for axes in figure.axes if axes.get_title(loc="left")]) == data["task"].n_unique()
