import matplotlib as mpl
import polars as pl
import pytest

from maskstudy.figures import representations, style
from maskstudy.figures.results import Results, Settings


@pytest.fixture
def data(results):
    return representations.data(results)


def panels(figure):
    return [axes for axes in figure.axes if axes.axison]


def lines(axes, dashed):
    """The lines of a panel without markers, by colour."""
    bare = [line for line in axes.lines if line.get_marker() == "None"]
    return {mpl.colors.to_hex(line.get_color()): line for line in bare if line.is_dashed() == dashed}


def test_the_probes_of_every_run_and_of_random_weights_are_there(results, data):
    probed = results.representations.filter(pl.col("measure").is_in(["position", "left", "right"]))
    assert sorted(data["value"]) == sorted(probed["value"])
    assert set(data["measure"]) == {"position", "left", "right"}
    keys = ["task", "mask", "weights", "layer", "measure"]
    for _, rows in data.group_by(keys):
        assert rows["mean"][0] == pytest.approx(rows["value"].mean())


def test_trained_lines_are_solid_random_ones_dashed_and_every_seed_is_a_point(data):
    of_task = data.filter(task="masked_byte")
    for axes, measure in zip(panels(representations.draw(of_task)), ("position", "left", "right"), strict=True):
        rows = of_task.filter(measure=measure)
        for weights, found in (("trained", lines(axes, dashed=False)), ("random", lines(axes, dashed=True))):
            for mask in ("causal", "full"):
                of_mask = rows.filter(mask=mask, weights=weights)
                expected = [of_mask.filter(layer=layer)["value"].mean() for layer in range(3)]
                line = found[style.MASK_COLOURS[mask].lower()]
                assert line.get_xdata().tolist() == [0, 1, 2]
                assert line.get_ydata().tolist() == pytest.approx(expected)
        chance = lines(axes, dashed=True)[style.QUIET.lower()]
        assert chance.get_ydata().tolist() == pytest.approx([0.0 if measure == "position" else 0.1] * 3)
        points = [value for line in axes.lines if line.get_marker() == "o" for value in line.get_ydata()]
        assert sorted(points) == sorted(rows.filter(weights="trained")["value"])


def test_controls_are_grey_and_named(studies):
    data = representations.data(studies("controls and own masks"))
    assert "encoder-decoder" not in set(data["mask"])
    figure = representations.draw(data.filter(task="next_byte"))
    for axes in panels(figure):
        assert style.CONTROL.lower() in lines(axes, dashed=False)
    assert "control" in {text.get_text() for text in figure.axes[0].texts}
    without = representations.draw(data.filter(task="recall"))
    assert "control" not in {text.get_text() for text in without.axes[0].texts}


def test_only_configured_masks_are_compared(results):
    cells = [{**vars(cell), "seeds": [1, 2]} for cell in results.settings.cells if cell.mask != "full"]
    part = Results(results.folder, Settings.of({"cells": cells, "confirmatory": True}))
    table = part.representations
    assert "full" not in set(table["mask"]) | set(table["other_mask"].drop_nulls())
    assert set(table["seed"]) == {1, 2}
    assert "cka" in table["measure"]


def test_a_study_without_probes_gets_a_sentence_and_a_header(data):
    assert data.clear().write_csv().count("\n") == 1
    (axes,) = representations.draw(data.clear()).axes
    assert axes.texts[0].get_text() == "No task of this study has models whose layers could be probed."
