import itertools

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from maskstudy.figures import style

# Machado, Oliveira & Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE
# Transactions on Visualization and Computer Graphics 15 (2009), table 1, severity 1: linear sRGB to linear sRGB.
SIGHT = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def linear(colour):
    rgb = np.array(mpl.colors.to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def oklab(rgb):
    """Ottosson (2020), "A perceptual color space for image processing"; distances of 0.02 are just noticeable."""
    to_cones = [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
    to_lab = [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
    return np.array(to_lab) @ np.cbrt(np.array(to_cones) @ np.clip(rgb, 0, 1))


@pytest.mark.parametrize("sight", SIGHT)
def test_masks_can_be_told_apart_by_everyone(sight):
    seen = {mask: oklab(np.array(SIGHT[sight]) @ linear(colour)) for mask, colour in style.MASK_COLOURS.items()}
    for one, other in itertools.combinations(seen, 2):
        assert np.linalg.norm(seen[one] - seen[other]) > 0.1, (one, other)


@given(st.sampled_from([*style.MASK_COLOURS.values(), *style.OTHER_COLOURS, "#ffffff", "#ffff00"]))
def test_a_colour_is_made_dark_enough_to_read(colour):
    luminance = linear(style.darker(colour)) @ [0.2126, 0.7152, 0.0722]
    assert 1.05 / (luminance + 0.05) > 3.8
    if linear(colour) @ [0.2126, 0.7152, 0.0722] < 0.2:
        assert style.darker(colour) == colour.lower()


def test_a_mask_keeps_its_colour_whatever_stands_beside_it():
    everything = style.colours([*style.MASK_COLOURS, "window-3", "sink-2"])
    for mask in everything:
        assert style.colours([mask]) == {mask: everything[mask]}


@given(st.sets(st.from_regex(r"[a-z]{1,6}-\d", fullmatch=True), max_size=len(style.OTHER_COLOURS)))
def test_own_masks_have_colours_of_their_own(masks):
    chosen = style.colours([*masks, "causal", "full"])
    assert len(set(chosen.values())) == len(chosen)


def test_more_own_masks_than_colours_still_have_one():
    assert len(style.colours([f"mask-{number}" for number in range(20)])) == 20


def test_masks_stand_in_the_order_of_the_future_that_they_admit():
    mixed = ["window-3", "full", "lookahead-10", "prefix", "causal", "lookahead-2", "full"]
    assert style.ordered(mixed) == ["causal", "lookahead-2", "lookahead-10", "full", "prefix", "window-3"]


@pytest.mark.parametrize(
    ("mask", "reach"),
    [("causal", 0), ("lookahead-3", 3), ("full", float("inf")), ("prefix", None), ("lookahead-x", None)],
)
def test_lookahead_of_a_mask(mask, reach):
    assert style.lookahead(mask) == reach


places = st.lists(st.floats(-10, 10), min_size=1, max_size=8)


@given(places, st.floats(0, 2))
def test_labels_are_spread_as_little_as_can_be(positions, gap):
    order = np.argsort(positions, kind="stable")
    rank = np.arange(len(positions))
    best = isotonic_regression(np.array(positions)[order] - gap * rank).x + gap * rank
    np.testing.assert_allclose(np.array(style.spread(positions, gap))[order], best, atol=1e-9)


@given(places, st.floats(0.01, 2))
def test_spread_labels_stay_within_their_ends_and_apart(positions, gap):
    low, high = -5.0, -5.0 + gap * len(positions)
    spread = np.sort(style.spread(positions, gap, low, high))
    assert spread[0] >= low - 1e-9
    assert spread[-1] <= high + 1e-9
    assert (np.diff(spread) >= gap - 1e-9).all()


@given(st.from_regex(r"[a-z]{1,8}([-_][a-z]{1,8}){0,5}", fullmatch=True), st.integers(9, 20))
def test_a_long_name_breaks_at_its_joints(name, most):
    lines = style.in_lines(name, most).split("\n")
    assert "".join(lines) == name
    assert all(len(line) <= most for line in lines)
    assert all(len(line) + len(after) > most or line[-1] in "-_" for line, after in itertools.pairwise(lines))


def test_text_is_measured_as_it_is_drawn():
    assert style.text_width("i") < style.text_width("m")
    assert style.text_width("mm\ni") == style.text_width("mm")
    assert style.text_width("m", size=14) == pytest.approx(2 * style.text_width("m", size=7), rel=0.05)
    assert style.text_width("") == 0


def lines():
    with style.context():
        figure, axes = style.sheet(2, 1)
        axes.plot([0, 1], [0, 1], clip_on=True)
        axes.text(0.5, 0.5, "word")
    return figure


def test_equal_figures_are_saved_as_equal_bytes_without_date_or_maker(tmp_path):
    figure = lines()
    style.save(figure, tmp_path / "a")
    style.save(figure, tmp_path / "b")
    with mpl.rc_context({"svg.hashsalt": "other", "svg.fonttype": "none", "savefig.dpi": 50, "lines.linewidth": 9}):
        style.save(lines(), tmp_path / "c")
    for kind in ("svg", "png"):
        a, b, c = ((tmp_path / f"{name}.{kind}").read_bytes() for name in "abc")
        assert a == b == c
        assert b"Matplotlib" not in a.replace(b"Created with", b"") or kind == "svg"
    svg = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "dc:date" not in svg
    assert "dc:creator" not in svg
    assert "<text" not in svg  # words are paths: no font is looked up by the reader
    assert b"tEXt" not in (tmp_path / "a.png").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(f"{n}.{k}" for n in "abc" for k in ("svg", "png"))


def test_the_style_does_not_leak_out():
    before = dict(mpl.rcParams)
    lines()
    assert dict(mpl.rcParams) == before


def test_an_empty_figure_says_why():
    figure = style.nothing_to_draw("There is nothing.")
    assert [text.get_text() for axes in figure.axes for text in axes.texts] == ["There is nothing."]
