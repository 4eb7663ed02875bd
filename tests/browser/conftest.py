"""The page in a real Chromium, the one of the system.

By hand on a finished page: `EXPLAINER=page.html pytest tests/browser`.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import random_models
from fake_results import LOOKAHEADS, FakeTask, write
from maskstudy.explainer import models
from maskstudy.explainer.page import page as assembled
from maskstudy.explainer.study import collected
from maskstudy.figures.results import Results, Settings

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install -e '.[test]'")

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
CELLS = [
    ("next_byte", "causal", "study"),
    ("next_byte", "full", "control"),
    ("pronunciation", "encoder-decoder", "study"),
    ("masked_byte", "causal", "study"),
    ("masked_byte", "full", "study"),
    ("markov_next", "causal", "study"),
]
TASKS = {
    "hmm_tagging": FakeTask(
        masks=LOOKAHEADS,
        ceilings=(0.654, 0.721, 0.739, 0.747, 0.748),
        declared=(("accuracy", "full", "causal", 0.005), ("accuracy", "full", "lookahead-4", 0.005)),
    ),
    "accents": FakeTask(masks=LOOKAHEADS),
    "masked_byte": FakeTask(best=(0.43, 0.52), declared=(("nats", "full", "causal", 0.02),)),
    "next_byte": FakeTask(masks=("causal",), controls=("full",)),
}


@pytest.fixture(scope="session")
def address(tmp_path_factory) -> str:
    """The page that is looked at: random models of the default study's shape, results of a made-up study."""
    if given := os.environ.get("EXPLAINER"):
        return Path(given).resolve().as_uri()
    folder = tmp_path_factory.mktemp("page")
    results = Results(folder / "results", Settings.of(write(folder / "results", TASKS, seeds=4)))
    paths = [
        random_models.write(
            folder / f"{number}.safetensors", task, mask, role, seed=number, **random_models.study_shape(task)
        )
        for number, (task, mask, role) in enumerate(CELLS)
    ]
    path = folder / "explainer.html"
    chosen = [models.read(path) for path in paths]
    path.write_text(assembled(chosen, collected(results), random_models.NAMES), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="session")
def browser():
    """One Chromium for all tests."""
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip(f"no Chromium on this machine ({', '.join(NAMES)}): apt-get install chromium, or set CHROMIUM")
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield launched
        launched.close()


class Visit:
    """A page that is open, and all that it should not have done."""

    def __init__(self, page, address):
        self.page, self.address = page, address
        self.errors, self.requests = [], []
        page.on(
            "console",
            lambda message: self.errors.append(message.text) if message.type in ("error", "warning") else None,
        )
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def go(self, view=""):
        """Open the page afresh at a view, `a=1&b=2`."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}#{view}")
        self.settle()

    def settle(self):
        """Wait until also what is out of sight has been drawn, and the address says so."""
        self.page.wait_for_timeout(250)

    def cells(self, figure):
        """The texts of a matrix, row by row."""
        return self.page.eval_on_selector_all(
            f"#{figure} tbody tr",
            "rows => rows.map(row => [...row.querySelectorAll('td')].map(cell => cell.textContent))",
        )

    def ask(self, *given):
        """What a model of the page says: ids, scores, weights, logits."""
        return self.page.evaluate("given => maskstudy.ask(...given)", list(given))

    def problems(self):
        """Errors, and requests of anything but the page itself and what it made itself."""
        foreign = [url for url in self.requests if not url.startswith(("data:", "blob:", "about:", self.address))]
        return self.errors + foreign


@pytest.fixture(scope="session")
def visit(browser, address):
    """Open the page, or another one, under given circumstances: `with visit(width=390, dark=True) as seen:`."""

    @contextmanager
    def opened(view="", width=1280, dark=False, still=False, other=None) -> Iterator[Visit]:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce" if still else "no-preference",
        )
        try:
            context.set_default_timeout(60_000)
            seen = Visit(context.new_page(), other or address)
            seen.go(view)
            yield seen
            assert seen.problems() == []
        finally:
            context.close()

    return opened


@pytest.fixture(scope="module")
def seen(visit):
    """One open page for the tests of a module."""
    with visit() as opened:
        yield opened
