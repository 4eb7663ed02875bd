import matplotlib as mpl
import numpy as np
import pyarrow.parquet as pq
import pytest

from maskstudy.figures import learning_curves, style


def panels(figure):
    return {axes.get_title(loc="left"): axes for axes in figure.axes if axes.get_title(loc="left")}


def test_the_data_are_the_validation_rows_of_every_run(results):
    data = learning_curves.data(results)
    for cell in results.settings.cells:
        for seed in cell.seeds:
            path = results.folder / "runs" / cell.task / cell.mask / f"seed-{seed}" / "history.parquet"
            history = pq.read_table(path, partitioning=None).to_pandas()
            rows = data[(data["task"] == cell.task) & (data["mask"] == cell.mask) & (data["seed"] == seed)]
            expected = history[history["split"] == "validation"]
            for name in ("step", "tokens_seen", "nats", "accuracy"):
                assert rows[name].tolist() == expected[name].tolist()


def test_ceilings_stand_beside_the_curves_that_have_one(results):
    data = learning_curves.data(results)
    known = data.groupby("task")["ceiling_nats"].apply(lambda values: values.notna().all())
    assert known.to_dict() == {"hmm_tagging": True, "masked_byte": False}
    metrics = results.metrics.set_index(["task", "mask", "metric", "seed"])
    row = data[(data["task"] == "hmm_tagging") & (data["mask"] == "lookahead-2")].iloc[0]
    assert row["ceiling_nats"] == metrics.loc[("hmm_tagging", "lookahead-2", "nats", 0), "ceiling"]
    assert row["baseline_accuracy"] == metrics.loc[("hmm_tagging", "lookahead-2", "accuracy", 0), "baseline"]


def test_every_seed_is_thin_and_the_mean_bold(results):
    data = learning_curves.data(results)
    axes = panels(learning_curves.draw(data))["masked_byte"]
    thin = [line for line in axes.lines if line.get_linewidth() == 0.5 and line.get_alpha() == 0.35]
    bold = [line for line in axes.lines if line.get_linewidth() == 1.4]
    assert len(thin) == 2 * results.settings.seeds["masked_byte"]
    assert [line.get_color() for line in bold] == [style.MASK_COLOURS["causal"], style.MASK_COLOURS["full"]]
    full = data[(data["task"] == "masked_byte") & (data["mask"] == "full")].pivot(
        index="tokens_seen", columns="seed", values="nats"
    )
    np.testing.assert_allclose(bold[1].get_ydata(), full.to_numpy().mean(axis=1))


def test_dashes_mark_the_best_possible_under_every_mask(results):
    axes = panels(learning_curves.draw(learning_curves.data(results)))["hmm_tagging"]
    dashed = {line.get_color(): line.get_ydata()[0] for line in axes.lines if line.is_dashed()}
    ceilings = results.metrics[results.metrics["metric"] == "nats"].groupby("mask")["ceiling"].max()
    assert dashed == {style.MASK_COLOURS[mask]: ceilings[mask] for mask in ("causal", "full", *LOOKAHEADS)}


LOOKAHEADS = ("lookahead-1", "lookahead-2", "lookahead-4")


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
    data = learning_curves.data(results)
    data["tokens_seen"] += data["seed"]
    figure = learning_curves.draw(data)
    bold = [line for axes in figure.axes for line in axes.lines if line.get_linewidth() == 1.4]
    assert bold
    for line in bold:
        assert 1 < len(line.get_xdata()) <= data["step"].nunique()
        assert (np.diff(line.get_xdata()) > 0).all()
