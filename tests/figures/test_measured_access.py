"""The picture of `maskstudy access`; its labels are checked as those of the figures of the study are."""

import itertools
import re

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import QuadMesh
from matplotlib.text import Text

from maskstudy import figures
from maskstudy.errors import StudyError
from maskstudy.figures import measured_access, style
from maskstudy.patterns import pattern, verdict


def report(matrix, effects=None, ways=("perturbation", "gradient"), tolerance=1e-13):
    """What `Access.as_dict` gives, as far as the figure reads it; effects in two modes, the second ten times weaker."""
    effects = np.where(matrix, 0.5, 0.0) if effects is None else effects
    return {
        "matrix": matrix.astype(int).tolist(),
        "verdict": verdict(matrix).name,
        "sentence": verdict(matrix).sentence,
        "tolerance": tolerance,
        "measurements": [
            {"way": way, "mode": mode, "effects": [[None if x != x else x / weaker for x in row] for row in effects]}
            for way in ways
            for mode, weaker in (("evaluation", 1), ("training", 10))
        ],
    }


def texts(figure):
    """Every visible text and its box in pixels."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.canvas.draw()
    found = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    return [(text.get_text(), text.get_window_extent(renderer)) for text in found]


def meshes(figure):
    return [mesh.get_array() for axes in figure.axes for mesh in axes.findobj(QuadMesh)]


def outlier():
    matrix = pattern("prefix-4", 12)
    matrix[2, 9], matrix[7, 1] = True, False
    return matrix


CASES = {
    "causal": (pattern("causal", 12), None),
    "as expected": (pattern("causal", 12), pattern("causal", 12)),
    "offences": (outlier(), pattern("prefix-4", 12)),
    "one position": (pattern("full", 1), pattern("none", 1)),
    "nothing": (pattern("none", 5), pattern("causal", 5)),
    "many": (pattern("lookahead-3", 128), pattern("causal", 128)),
}


@pytest.mark.parametrize("case", CASES)
def test_no_two_labels_overlap(case):
    matrix, expected = CASES[case]
    figure = measured_access.draw(report(matrix), expected)
    boxes = [(text, box) for text, box in texts(figure) if not re.fullmatch(r"\$.*\$", text)]
    for (one, first), (other, second) in itertools.combinations(boxes, 2):
        across = min(first.x1, second.x1) - max(first.x0, second.x0)
        down = min(first.y1, second.y1) - max(first.y0, second.y0)
        assert min(across, down) < 1.0, f"{one!r} and {other!r}"


def test_the_first_grid_is_the_matrix_and_the_others_the_effects_of_the_stronger_mode():
    matrix = pattern("causal", 6)
    effects = np.where(matrix, 10.0 ** -np.arange(6), 0.0)
    effects[5, 0] = np.nan
    first, *others = meshes(measured_access.draw(report(matrix, effects)))[:5]
    np.testing.assert_array_equal(first, matrix)
    assert len(others) == 4  # what has no effect, and the effects, by either way
    for unseen, seen in (others[:2], others[2:]):
        np.testing.assert_array_equal(np.ma.getmaskarray(unseen), effects != 0)
        np.testing.assert_array_equal(np.ma.getmaskarray(seen), ~(effects > 0))
        np.testing.assert_allclose(seen.compressed(), effects[effects > 0])


def test_what_was_not_measured_is_white_and_said_to_be():
    matrix, effects = pattern("causal", 6), np.where(pattern("causal", 6), 0.5, 0.0)
    assert "grey: no effect" in dict(texts(measured_access.draw(report(matrix, effects))))
    effects[5, 0] = np.nan
    assert "grey: no effect; white: not measured" in dict(texts(measured_access.draw(report(matrix, effects))))


def test_offences_are_marked_where_they_are():
    matrix, expected = CASES["offences"]
    figure = measured_access.draw(report(matrix), expected)
    said = dict(texts(figure))
    assert {"seen, but must not be", "not seen, but must be"} <= set(said)
    marks = {line.get_marker(): (line.get_xdata(), line.get_ydata()) for line in figure.axes[1].lines}
    assert [values.tolist() for values in marks["x"]] == [[9], [2]]
    assert [values.tolist() for values in marks["o"]] == [[1], [7]]
    assert "as expected" in dict(texts(measured_access.draw(report(matrix), matrix)))
    assert "as expected" not in dict(texts(measured_access.draw(report(matrix))))


def test_one_way_alone_has_one_grid_of_effects():
    figure = measured_access.draw(report(pattern("causal", 5), ways=("perturbation",)))
    said = [text for text, _ in texts(figure)]
    assert "effect by perturbation" in said
    assert "effect by gradient" not in said
    assert "causal" in said
    assert "each query sees itself and every key before it" in said


def test_effects_out_of_all_proportion_do_not_break_the_scale():
    effects = np.where(pattern("causal", 5), 0.5, 0.0)
    effects[3, 1] = np.finfo(np.float64).max
    _, _, seen, *_ = meshes(measured_access.draw(report(pattern("causal", 5), effects)))
    assert seen.max() == 1e6


def test_equal_reports_are_equal_bytes_in_one_file(tmp_path):
    for name in ("a.svg", "b.svg", "c.PNG", "d.png"):
        style.save_as(measured_access.draw(report(outlier()), pattern("prefix-4", 12)), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "c.PNG").read_bytes() == (tmp_path / "d.png").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.svg", "b.svg", "c.PNG", "d.png"]
    with pytest.raises(StudyError, match=r"e\.pdf: figures are written as svg or png"):
        style.save_as(measured_access.draw(report(outlier())), tmp_path / "e.pdf")


def test_it_is_no_figure_of_the_study():
    assert "measured_access" not in figures.names()
