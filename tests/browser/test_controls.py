"""Each control works: on a projector and on a phone, in light and dark, without motion, and by keyboard alone."""

import pytest

expect = pytest.importorskip("playwright.sync_api", reason="pip install -e '.[test]'").expect

SITUATIONS = [
    {"width": 1280},
    {"width": 390},
    {"width": 1280, "dark": True, "still": True},
    {"width": 390, "dark": True},
]


@pytest.mark.parametrize("situation", SITUATIONS, ids=str)
def test_every_control_does_something_and_nothing_breaks(visit, situation):
    with visit("moment=3&step=3&mask=lookahead", **situation) as seen:
        page = seen.page
        for control in page.query_selector_all("select"):
            for value in control.evaluate("one => [...one.options].map(option => option.value)"):
                control.select_option(value)
                seen.settle()
        page.select_option("#model", page.eval_on_selector("#model option", "one => one.value"))
        page.select_option("#theme", "auto")
        page.select_option("#mask", "lookahead")
        seen.settle()
        for control in page.query_selector_all("input[type=range]"):
            low, high = control.evaluate("one => [one.min, one.max]")
            for value in (high, low):
                control.evaluate(
                    "(one, value) => { one.value = value; one.dispatchEvent(new Event('input', { bubbles: true })); }",
                    value,
                )
        for control in page.query_selector_all("input[type=checkbox], input[type=radio]"):
            if control.is_visible():
                control.click()
        for control in page.query_selector_all("input[type=text]"):
            if control.is_visible():
                control.fill("zu früh")
        for name in ("first", "step", "back", "end", "play"):
            for control in page.query_selector_all(f".player .{name}"):
                control.evaluate("one => one.click()")  # at the end of its way a button is there and does nothing
        for control in page.query_selector_all(".player .play"):
            control.click()
        for control in page.query_selector_all(
            ".stage, .head, .chip[aria-pressed], #own-copy, #own-clear, .choice, summary"
        ):
            if control.is_visible():
                control.dispatch_event("click")  # wherever the page has just moved it to
        page.click("#question-next")
        seen.settle()
        assert page.evaluate("document.documentElement.scrollWidth") <= situation["width"]
        assert page.evaluate("location.hash").count("=") > 8


def test_play_goes_on_by_itself_until_the_end_and_pause_stops_it(visit):
    with visit("text=ab&count=2") as seen:
        page = seen.page
        page.click("#steps-player .play")
        assert page.text_content("#steps-player .play") == "❚❚ Pause"
        expect(page.locator("#steps-player input")).not_to_have_value("0", timeout=20_000)
        page.click("#steps-player .play")
        stopped = page.input_value("#steps-player input")
        page.wait_for_timeout(1400)
        assert page.input_value("#steps-player input") == stopped
        page.click("#steps-player .play")
        expect(page.locator("#steps-player .play")).to_have_text("▶ Play", timeout=30_000)
        assert page.input_value("#steps-player input") == page.get_attribute("#steps-player input", "max") == "4"


def test_pointing_at_a_row_lights_up_whom_it_sees(visit):
    with visit("step=7") as seen:
        seen.page.hover("#steps-matrix tbody tr:nth-child(2) td:nth-child(3)")
        lit = seen.page.eval_on_selector_all(
            "#steps-matrix thead th[data-lit]", "all => all.map(one => one.dataset.lit)"
        )
        assert lit == ["yes"] * 2 + ["no"] * 4
        assert seen.page.text_content("#row-title") == "Position 2 ‘a’"


@pytest.mark.parametrize(("figure", "others"), [("encoder-self", []), ("decoder-self", ["decoder-cross"])])
def test_pointing_at_a_row_of_encoder_or_decoder_lights_it_up(visit, figure, others):
    lit = "all => all.map(one => one.sectionRowIndex)"
    with visit("word=sourcery") as seen:
        row = min(2, len(seen.cells(figure))) - 1
        seen.page.hover(f"#{figure} tbody tr:nth-child({row + 1}) td:nth-child(2)")
        for name in (figure, *others):
            assert seen.page.eval_on_selector_all(f"#{name} tbody tr[data-lit]", lit) == [row]
        expected = [
            "no" if cell == "" or (figure == "decoder-self" and i > row) else "yes"
            for i, cell in enumerate(seen.cells(figure)[row])
        ]
        heads = seen.page.eval_on_selector_all(
            f"#{figure} thead th[data-lit]", "all => all.map(one => one.dataset.lit)"
        )
        assert heads == expected


def test_colours_glide_between_steps_but_not_between_texts(visit):
    glides = "getComputedStyle(document.querySelector('#steps-matrix td')).transitionDuration"
    with visit("text=abcdef") as seen:
        seen.page.click("#steps-player .step")
        assert seen.page.evaluate(glides) == "0.25s, 0.25s"
        seen.page.fill("#text", "ghijkl")
        assert seen.page.evaluate(glides) == "0s"
        seen.page.click("#steps-player .step")
        assert seen.page.evaluate(glides) == "0.25s, 0.25s"


@pytest.mark.parametrize("width", [390, 1280, 1920])
@pytest.mark.parametrize("step", [0, 1, 14])
def test_numbers_stay_in_their_cells_and_the_page_in_its_screen(visit, width, step):
    view = f"count=12&text=attention mask&word=encyclopedia&pads=4&step={step}"
    with visit(view, width=width) as seen:
        seen.page.add_style_tag(content="section { content-visibility: visible !important }")
        seen.settle()
        seen.page.add_style_tag(content="* { transition: none !important }")
        outside = seen.page.evaluate(
            """() => [...document.querySelectorAll("figure.matrix td, figure.matrix th .sign")].filter(cell => {
                const words = document.createRange();
                words.selectNodeContents(cell);
                const [inner, outer] = [words.getBoundingClientRect(), cell.closest("td, th").getBoundingClientRect()];
                return inner.width > outer.width + 2; // the space between two cells
            }).map(cell => `${cell.closest("figure").id} ${cell.textContent}`)"""
        )
        assert outside == []
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width


def test_pointing_at_a_query_shows_its_links_and_strikes_out_what_is_masked(visit):
    with visit() as seen:
        seen.page.hover("#links [role=button] >> nth=1")
        assert seen.page.get_attribute("#links [role=button] >> nth=1", "aria-pressed") == "true"
        struck = seen.page.eval_on_selector_all(
            "#links text[text-decoration]", "all => all.map(one => one.textContent.trim().split(/ +/)[1])"
        )
        assert struck == list("usal")
        assert seen.page.text_content("#row-title") == "Position 2 ‘a’"


def test_pointing_at_a_score_shows_the_two_vectors(visit):
    with visit() as seen:
        seen.page.hover("#steps-matrix tbody tr:nth-child(3) td:nth-child(5)")
        assert seen.page.text_content("#product-title") == "The score of query 3 ‘u’ and key 4 ‘s’"


@pytest.mark.parametrize("width", [1280, 390])
def test_links_heads_and_writing_by_keyboard_alone(visit, width):
    with visit("word=ab", width=width) as seen:
        page = seen.page
        page.focus("#links [role=button][tabindex='0']")
        for key in ("Home", "ArrowDown", "ArrowDown", "ArrowUp"):
            page.keyboard.press(key)
        label = page.evaluate("document.activeElement.getAttribute('aria-label')")
        assert label.startswith("Position 2 ‘a’ looks at 1 ‘c’ ")
        assert label.endswith("; masked: 3 ‘u’, 4 ‘s’, 5 ‘a’ and 6 ‘l’.")
        page.focus("#heads [tabindex='0']")
        for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft", "Enter"):
            page.keyboard.press(key)
        seen.settle()
        assert page.text_content("#links-title") == "Who looks at whom · layer 2, head 2"
        page.focus("#decoder-cross-heads [tabindex='0']")
        for key in ("ArrowRight", "Enter"):  # a small encoder–decoder has one layer of each
            page.keyboard.press(key)
        seen.settle()
        assert "layer 1, head 2" in page.text_content("#decoder-cross-title")
        page.focus("#writing-player .first")
        page.keyboard.press("Enter")
        seen.settle()
        assert page.text_content("#writing-player .now").startswith("Step 1: the sign ⊢")
        page.focus("#writing-player .step")
        page.keyboard.press("Enter")
        seen.settle()
        assert page.text_content("#writing-player .now").startswith("Step 2: ‘")
        page.focus("#temperature")
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        seen.settle()
        assert page.text_content("#temperature-value") == "0.3"
        page.focus("#product summary")
        page.keyboard.press("Enter")
        seen.settle()
        assert page.locator("#product tbody tr").count() == 16


def focused(page):
    return page.evaluate(
        "(one => one.id || one.getAttribute('class') || one.tagName + ' ' + one.textContent)(document.activeElement)"
    )


def test_everything_is_reached_by_tab_and_what_is_focused_is_seen(visit):
    with visit("mask=prefix") as seen:
        page = seen.page
        reached = []
        for _ in range(150):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement === document.body"):
                break
            reached.append(focused(page))
            assert page.evaluate(
                "(({ width, height }) => width > 0 && height > 0)(document.activeElement.getBoundingClientRect())"
            ), reached[-1]
        wanted = ["text", "count", "model", "mask", "fill", "blind", "prefix", "position", "word", "numbers", "pads"]
        wanted += ["causality", "padmask", "sighted", "question-next", "stage", "head", "own-copy", "play", "choice"]
        wanted += ["temperature", "draw-again"]
        assert [name for name in wanted if name not in reached] == []
        assert sum(name.startswith("TD") for name in reached) == 7  # one stop a matrix


def test_the_three_steps_by_keyboard_alone(visit):
    with visit() as seen:
        page = seen.page
        page.focus("#text")
        page.keyboard.press("Control+A")
        page.keyboard.type("hello")
        page.focus("#steps-player .step")
        for _ in range(6):
            page.keyboard.press("Enter")
        assert page.text_content("#steps-player .now").startswith("3 · Softmax, row 5 of 5")
        for _ in range(3):
            page.keyboard.press("Enter")  # at the end nothing happens, and the focus stays
        assert focused(page) == "step"
        page.focus("#steps-matrix td[tabindex='0']")
        for key in ("ArrowDown", "ArrowDown", "ArrowRight", "End", "ArrowRight", "ArrowUp"):
            page.keyboard.press(key)
        assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith(
            "query 2 ‘e’, key 5 ‘o’: forbidden"
        )
        assert page.text_content("#row-title") == "Position 2 ‘e’"


def test_a_mask_is_drawn_by_keyboard_alone(visit):
    with visit("count=4&text=abcd") as seen:
        page = seen.page
        page.focus("#one-layer td[tabindex='0']")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Space")
        seen.settle()
        assert page.evaluate("document.activeElement.textContent") == "✓"
        assert page.input_value("#mask") == "own"
        page.keyboard.press("Enter")
        seen.settle()
        assert page.evaluate("document.activeElement.textContent") == "–"


def test_links_inside_the_page_keep_the_view(visit):
    with visit("text=kept") as seen:
        seen.page.click("nav.contents a >> nth=3")
        seen.settle()
        assert "text=kept" in seen.page.evaluate("location.hash")
        assert seen.page.evaluate("document.activeElement.id") == "lesson-4"


def test_with_reduced_motion_nothing_glides(visit):
    with visit(still=True) as seen:
        glides = "getComputedStyle(document.querySelector('#steps-matrix td')).transitionDuration"
        assert seen.page.evaluate(glides) == "0s"


@pytest.mark.parametrize("dark", [False, True])
def test_the_theme_follows_the_system_unless_it_is_chosen(visit, dark):
    background = "getComputedStyle(document.body).backgroundColor"
    with visit(dark=dark) as seen:
        expected = {True: "rgb(22, 24, 29)", False: "rgb(255, 255, 255)"}
        assert seen.page.evaluate(background) == expected[dark]
        seen.page.select_option("#theme", "light" if dark else "dark")
        assert seen.page.evaluate(background) == expected[not dark]
