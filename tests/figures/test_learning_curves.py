import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from maskstudy.figures import learning_curves, style


def panels(figure):
    return {axes.get_title(loc="left"): axes for axes in figure.axes if axes.get_title(loc="left")}


def test_the_data_are_the_validation_rows_of_every_run(results):
    data = learning_curves.data(results)
    for cell in results.settings.cells:
        for seed in cell.seeds:
            path = results.folder / "runs" / cell.task / cell.mask / f"seed-{seed}" / "history.parquet"
            rows = data.filter(task=cell.task, mask=cell.mask, seed=seed)
            columns = ["step", "tokens_seen", "nats", "accuracy"]
            assert_frame_equal(rows.select(columns), pl.read_parquet(path).filter(split="validation").select(columns))


def test_ceilings_stand_beside_the_curves_that_have_one(results):
    data = learning_curves.data(results)
    assert data.filter(task="hmm_tagging")["ceiling_nats"].is_not_null().all()
    assert data.filter(task="masked_byte")["ceiling_nats"].is_null().all()
    cell = {"task": "hmm_tagging", "mask": "lookahead-2", "seed": 0}
    row = data.filter(**cell).row(0, named=True)
    assert row["ceiling_nats"] == results.metrics.filter(**cell, metric="nats")["ceiling"].item()
    assert row["baseline_accuracy"] == results.metrics.filter(**cell, metric="accuracy")["baseline"].item()


def test_every_seed_is_thin_and_the_mean_bold(results):
    data = learning_curves.data(results)
    axes = panels(learning_curves.draw(data))["masked_byte"]
    thin = [line for line in axes.lines if line.get_linewidth() == 0.5 and line.get_alpha() == 0.35]
    bold = [line for line in axes.lines if line.get_linewidth() == 1.4]
    assert len(thin) == 2 * results.settings.seeds["masked_byte"]
    assert [line.get_color() for line in bold] == [style.MASK_COLOURS["causal"], style.MASK_COLOURS["full"]]
    full = data.filter(task="masked_byte", mask="full").pivot("seed", index="step", values="nats").drop("step")
    np.testing.assert_allclose(bold[1].get_ydata(), full.to_numpy().mean(axis=1))


def test_dashes_mark_the_best_possible_under_every_mask(results):
    axes = panels(learning_curves.draw(learning_curves.data(results)))["hmm_tagging"]
    dashed = {line.get_color(): line.get_ydata()[0] for line in axes.lines if line.is_dashed()}
    ceilings = results.metrics.filter(task="hmm_tagging", metric="nats").select("mask", "ceiling").unique()
    assert dashed == {style.MASK_COLOURS[mask]: ceiling for mask, ceiling in ceilings.iter_rows()}


@pytest.mark.parametrize(("study", "metrics"), [("two tasks", 2), ("many tasks", 1)])
def test_accuracy_is_shown_where_there_is_room(studies, study, metrics):
    results = studies(study)
    figure = learning_curves.draw(learning_curves.data(results))
    assert len([axes for axes in figure.axes if axes.axison]) == metrics * len(results.settings.tasks)


def test_controls_are_grey_and_named(studies):
    axes = panels(learning_curves.draw(learning_curves.data(studies("controls and own masks"))))["next_byte"]
    bold = [mpl.colors.to_hex(line.get_color()) for line in axes.lines if line.get_linewidth() == 1.4]
    assert bold == [style.MASK_COLOURS["causal"].lower(), style.CONTROL.lower()]
    assert "full (control)" in [text.get_text() for text in axes.texts]


def test_the_mean_is_taken_by_step_where_padding_makes_tokens_differ_between_seeds(results):
    data = learning_curves.data(results).with_columns(pl.col("tokens_seen") + pl.col("seed"))
    figure = learning_curves.draw(data)
    bold = [line for axes in figure.axes for line in axes.lines if line.get_linewidth() == 1.4]
    assert bold
    for line in bold:
        assert 1 < len(line.get_xdata()) <= data["step"].n_unique()
        assert (np.diff(line.get_xdata()) > 0).all()
