"""axe-core finds nothing, and each matrix can be read without seeing it."""

import pytest

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="pip install -e '.[test]'")

VIEWS = [
    "",
    "step=8&fill=2&blind=1&mask=own&numbers=1&side=left&moment=20&sighted=1&count=12&depth=3&text=été 😀",
]


@pytest.mark.parametrize("view", VIEWS, ids=["beginning", "everything"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_no_violation(visit, view, dark, width):
    with visit(view, width=width, dark=dark, still=True) as seen:
        # Without this, what is out of sight would not be looked at.
        seen.page.add_style_tag(content="section { content-visibility: visible !important }")
        seen.settle()
        found = axe.Axe().run(seen.page)
        report = [
            f"{one['id']}: {node['html'][:160]} {node['failureSummary'][:300]}"
            for one in found.response["violations"]
            for node in one["nodes"][:3]
        ]
        assert report == []


def test_every_matrix_has_a_name_and_a_text_that_says_what_it_shows(seen):
    seen.go("step=7&text=abcdef")
    figures = seen.page.eval_on_selector_all("figure.matrix", "all => all.map(one => one.id)")
    assert len(figures) == 7
    for figure in figures:
        table = seen.page.locator(f"#{figure} table")
        name = seen.page.text_content(f"#{table.get_attribute('aria-labelledby')}")
        text = seen.page.text_content(f"#{table.get_attribute('aria-describedby')}")
        assert len(name) > 10
        rows = table.locator("tbody tr").count()  # six but for what the decoder writes, which may be shorter
        assert rows >= (1 if figure.startswith("decoder") else 6)
        for row in range(1, rows + 1):
            assert str(row) in text
        labels = seen.page.eval_on_selector_all(
            f"#{figure} td", "all => all.map(one => one.getAttribute('aria-label'))"
        )
        assert len(set(labels)) == len(labels) >= rows
    text = seen.page.text_content("#steps-matrix-summary")
    assert text.startswith("Attention weights A. Query 1 ‘a’ may see 1 ‘a’ 1.00. Query 2 ‘b’ may see 1 ‘a’ ")


def test_every_drawing_has_a_text(seen):
    seen.go()
    texts = "all => all.map(one => one.getAttribute('aria-hidden') === 'true' || one.getAttribute('aria-label'))"
    assert all(text is True or len(text) > 8 for text in seen.page.eval_on_selector_all("svg", texts))
