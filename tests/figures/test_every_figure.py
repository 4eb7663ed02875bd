"""What holds for every figure, whatever the study."""

import itertools
from pathlib import Path

import pytest
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from polars.testing import assert_frame_equal

from maskstudy import figures
from maskstudy.errors import StudyError
from maskstudy.figures import style

CAPTIONS = Path(__file__).parents[2] / "workflow" / "report"
STUDIES = ["two tasks", "two seeds, one task", "one mask", "controls and own masks", "written answers", "many tasks"]
SLACK = 1.0  # pixels of 100 an inch


def shown_texts(figure):
    """Every text that can be seen, with its box in pixels."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.canvas.draw()
    unseen = set()
    for axis in figure.findobj(Axis):
        low, high = sorted(axis.get_view_interval())
        visible = axis.axes.axison and axis.get_visible()
        for tick in itertools.chain(axis.get_major_ticks(), axis.get_minor_ticks()):
            if not visible or not low <= tick.get_loc() <= high:
                unseen |= {tick.label1, tick.label2}
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text not in unseen]
    return [(text.get_text(), text.get_window_extent(renderer)) for text in texts if text.get_text().strip()]


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize("name", figures.names())
def test_no_two_labels_overlap_and_none_is_cut_off(studies, study, name):
    module = figures.named(name)
    figure = module.draw(module.data(studies(study)))
    texts = shown_texts(figure)
    width, height = figure.get_size_inches() * figure.dpi
    for text, box in texts:
        assert box.x0 > -SLACK, text
        assert box.x1 < width + SLACK, text
        assert box.y0 > -SLACK, text
        assert box.y1 < height + SLACK, text
    for (one, first), (other, second) in itertools.combinations(texts, 2):
        across = min(first.x1, second.x1) - max(first.x0, second.x0)
        down = min(first.y1, second.y1) - max(first.y0, second.y0)
        assert min(across, down) < SLACK, f"{one!r} and {other!r}"


@pytest.mark.parametrize("name", figures.names())
def test_a_figure_is_drawn_from_its_data_alone_and_leaves_them_as_they_are(results, name):
    module = figures.named(name)
    data = module.data(results)
    before = data.clone()
    first, second = module.draw(data), module.draw(before)
    assert_frame_equal(data, before)
    assert [text for text, _ in shown_texts(first)] == [text for text, _ in shown_texts(second)]


def test_the_registry_is_the_folder():
    assert {"access_grids", "learning_curves", "dose_response", "seeds", "comparisons"} <= set(figures.names())
    assert not {"style", "results"} & set(figures.names())
    with pytest.raises(StudyError, match="unknown; use one of access_grids"):
        figures.named("style")


@pytest.mark.parametrize("name", figures.names())
def test_the_caption_of_snakemakes_report_is_that_of_the_paper(name):
    module = figures.named(name)
    assert (CAPTIONS / f"{name}.rst").read_text(encoding="utf-8").split() == module.CAPTION.split()
    assert module.SUMMARY


def test_an_exploratory_figure_says_so(results):
    module = figures.named("seeds")
    figure = module.draw(module.data(results))
    assert not any("exploratory only" in text for text, _ in shown_texts(figure))
    style.add_note(figure, "quick profile: 4 seeds, exploratory only")
    (note,) = [box for text, box in shown_texts(figure) if "exploratory only" in text]
    assert all(note.y1 <= box.y0 for text, box in shown_texts(figure) if "exploratory only" not in text)
