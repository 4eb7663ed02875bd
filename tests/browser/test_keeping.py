"""A view is kept as a link, a matrix as a picture."""

from xml.etree import ElementTree

import pytest

FIGURES = [
    "steps-matrix",
    "one-layer",
    "after-layers",
    "encoder-self",
    "decoder-self",
    "decoder-cross",
    "padding-matrix",
]
SHOWN = """() => {
    const texts = [...document.querySelectorAll("main p, main td, main th, main output, main h3, .card")];
    const controls = [...document.querySelectorAll("input, select")];
    const value = one => one.type === "checkbox" || one.type === "radio" ? String(one.checked) : one.value;
    return [...texts.map(one => one.textContent), ...controls.map(value)].join("|");
}"""


def test_the_address_brings_the_same_view_back(visit):
    with visit() as seen:
        page = seen.page
        page.fill("#text", "Grüße & more=1#x")
        page.select_option("#mask", "own")
        page.click("#one-layer tbody tr:nth-child(3) td:nth-child(7)")
        page.click("#steps-player .end")
        page.click(".head >> nth=5")
        page.fill("#word", "knight")
        page.click("#decoder-cross-heads .head >> nth=2")
        page.click("#writing-player .back")
        page.locator("#temperature").fill("7")
        page.check("#blind")
        page.check("#sighted")
        page.click("#inference-player .end")
        page.click("#depth-player .step")
        page.check("#side-left")
        page.uncheck("#causality")
        page.select_option("#theme", "dark")
        page.hover("#steps-matrix tbody tr:nth-child(2) td:nth-child(3)")
        seen.settle()
        view, before = page.evaluate("location.hash")[1:], page.evaluate(SHOWN)
        seen.go(view)
        assert page.evaluate(SHOWN) == before
        assert page.evaluate("location.hash")[1:] == view


def test_the_beginning_needs_no_address(visit):
    with visit() as seen:
        seen.page.click("#steps-player .step")
        seen.page.click("#steps-player .back")
        seen.settle()
        assert seen.page.evaluate("location.hash") in ("", "#")


def test_going_back_in_the_history_of_the_browser_goes_back(visit):
    with visit("step=1") as seen:
        seen.page.evaluate("location.hash = 'step=4'")
        seen.settle()
        assert seen.page.input_value("#steps-player input") == "4"
        seen.page.go_back()
        seen.settle()
        assert seen.page.input_value("#steps-player input") == "1"


def saved(page, button, path):
    with page.expect_download() as waiting:
        page.click(button)
    waiting.value.save_as(path)
    return waiting.value.suggested_filename, path.read_bytes()


@pytest.mark.parametrize("figure", ["links", "product"])
def test_a_drawing_is_saved_as_svg_and_png(seen, figure, tmp_path):
    seen.go("text=a<b>%26%22x&count=6")
    name, svg = saved(seen.page, f"#{figure} .save button:text-is('SVG')", tmp_path / "svg")
    root = ElementTree.fromstring(svg)
    assert name == f"{figure}.svg"
    on_page = seen.page.eval_on_selector_all(f"#{figure} svg text", "all => all.map(one => one.textContent)")
    assert [one.text or "" for one in root.iter("{http://www.w3.org/2000/svg}text")] == on_page
    assert b"var(" not in svg
    name, png = saved(seen.page, f"#{figure} .save button:text-is('PNG')", tmp_path / "png")
    assert name == f"{figure}.png"
    assert png.startswith(b"\x89PNG\r\n")


@pytest.mark.parametrize("figure", [*FIGURES, "network"])
def test_a_figure_is_saved_as_svg_and_png(seen, figure, tmp_path):
    seen.go("step=7&text=a<b>%26%22x&count=6")
    host = f"#{figure} .save" if figure != "network" else "#network + .save"
    name, svg = saved(seen.page, f"{host} button:text-is('SVG')", tmp_path / "svg")
    root = ElementTree.fromstring(svg)
    assert name == f"{figure}.svg"
    texts = [one.text for one in root.iter("{http://www.w3.org/2000/svg}text")]
    if figure == "network":
        assert texts == list('a<b>&"')
    else:
        cells = seen.cells(figure)
        assert len(list(root.iter("{http://www.w3.org/2000/svg}rect"))) == 1 + sum(map(len, cells))
        assert texts[0] == seen.page.text_content(f"#{figure} figcaption")
        body = iter(texts[1 + 2 * len(cells[0]) :])  # after the title and the headings of columns, two texts each
        for number, row in enumerate(cells, start=1):
            assert [next(body), next(body) != ""] == [str(number), True]
            numbers = [text for text in row if text]
            assert [next(body) for _ in numbers] == numbers
        assert next(body, None) is None
    assert b"var(" not in svg
    name, png = saved(seen.page, f"{host} button:text-is('PNG')", tmp_path / "png")
    assert name == f"{figure}.png"
    assert png.startswith(b"\x89PNG\r\n")
    width, height = int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")
    # A PNG has three pixels for each unit of the SVG.
    assert (width, height) == tuple(int(3 * float(root.get(side))) for side in ("width", "height"))
