import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from fake_results import PROMPT, FakeTask, write
from maskstudy.figures import leak, style
from maskstudy.figures.results import Results, Settings
from maskstudy.files import read_json

TASKS = {
    "tagging": FakeTask(),
    "markov": FakeTask(masks=("causal",), controls=("full", "lookahead-1"), ceilings=(0.4,)),
    "bytes": FakeTask(masks=("causal",), controls=("full",)),
}


@pytest.fixture(scope="module")
def leaking(tmp_path_factory):
    folder = tmp_path_factory.mktemp("leaking")
    return Results(folder, Settings.of(write(folder, TASKS, seeds=3)))


@pytest.fixture(scope="module")
def data(leaking):
    return leak.data(leaking)


def panels(figure):
    return [axes for axes in figure.axes if axes.axison]


def words(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def test_one_row_a_run_of_every_task_with_a_control(data):
    assert list(dict.fromkeys(zip(data["task"], data["mask"], data["role"], strict=True))) == [
        ("markov", "causal", "study"),
        ("markov", "full", "control"),
        ("markov", "lookahead-1", "control"),
        ("bytes", "causal", "study"),
        ("bytes", "full", "control"),
    ]
    assert data["seed"].to_list() == [0, 1, 2] * 5


def test_the_floor_is_that_of_the_study_mask_and_the_baseline_that_of_the_cell(leaking, data):
    for row in data.iter_rows(named=True):
        run = leaking.metrics.filter(task=row["task"], mask=row["mask"], seed=row["seed"])
        nats, accuracy = (run.filter(metric=metric).row(0, named=True) for metric in ("nats", "accuracy"))
        assert (row["nats"], row["accuracy"], row["baseline"]) == (nats["value"], accuracy["value"], nats["baseline"])
        assert row["unigram"] == 2.4
    floor = leaking.metrics.filter(task="markov", mask="causal", seed=0, metric="nats")["ceiling"].item()
    assert data.filter(task="markov")["ceiling"].to_list() == [floor] * 9
    assert data.filter(task="bytes")["ceiling"].is_null().all()


def test_texts_are_the_first_that_each_run_sampled(leaking, data):
    for row in data.iter_rows(named=True):
        generated = read_json(leaking.folder / "runs/{task}/{mask}/seed-{seed}/generated.json".format(**row))
        assert row["prompt"] == PROMPT
        assert row["text"] == generated["texts"][0]["sampled"]
        assert row["judged_nats"] == generated["metrics"]["sampled"]["judged_nats"]
        assert row["true_judged_nats"] == 1.4


def test_a_study_without_a_control_says_so(results):
    figure = leak.draw(leak.data(results))
    assert words(figure) == ["No task of this study has a control whose models write text."]


def test_without_its_control_a_task_is_left_out(leaking):
    cells = [vars(cell) for cell in leaking.settings.cells if (cell.task, cell.role) != ("bytes", "control")]
    part = Results(leaking.folder, Settings.of({"cells": cells, "confirmatory": True}))
    assert set(leak.data(part)["task"]) == {"markov"}


def test_every_seed_is_a_point_beside_its_mean(data):
    figure = leak.draw(data)
    for axes, (_, rows) in zip(panels(figure), data.group_by("task", maintain_order=True), strict=True):
        points = [line for line in axes.lines if line.get_marker() == "o"]
        small = [line for line in points if line.get_markersize() == leak._SEED["markersize"]]
        assert sorted(value for line in small for value in line.get_xdata()) == sorted(rows["nats"])
        large = [line for line in points if line not in small]
        means = [runs["nats"].mean() for _, runs in rows.group_by("mask", maintain_order=True)]
        assert [line.get_xdata()[0] for line in large] == pytest.approx(means)
        colours = [mpl.colors.to_hex(line.get_color()) for line in large]
        assert colours == [style.MASK_COLOURS["causal"].lower(), *[style.CONTROL.lower()] * (len(large) - 1)]


def test_what_lies_below_the_entropy_rate_is_shaded_where_it_is_known(data):
    markov, of_bytes = panels(leak.draw(data))
    floor = data["ceiling"][0]
    (shade,) = markov.patches
    assert (shade.get_x(), shade.get_width()) == (0, pytest.approx(floor))
    assert not of_bytes.patches
    at = [[line.get_xdata()[0] for line in axes.lines if line.get_marker() == "None"] for axes in (markov, of_bytes)]
    assert at == [[floor, 2.4], [2.4]]
    assert "entropy rate" in words(leak.draw(data))
    assert "entropy rate" not in words(leak.draw(data.filter(task="bytes")))


def test_text_is_shown_as_it_is_with_what_cannot_be_printed_escaped(data):
    figure = leak.draw(data.filter(task="bytes"))
    lines = [text for text in figure.axes[0].texts if text.get_fontfamily() == ["DejaVu Sans Mono"]]
    for text in lines:
        assert not text.get_parse_math()
    shown = "".join(text.get_text() for text in lines)
    prompt = " ↵ = The $ of \\u6771\\u4eac = ↵ ↵ It"
    assert shown.count(prompt) == 2
    causal, control = shown.split(prompt)[1:]
    room = leak._LINE * leak._LINES - len(prompt)
    assert causal == (" was the state of the second season , and" * 3)[:room]
    assert control == ("W $···W $↵\\xbf" * 12)[:room]
    grey = [text for text in lines if text.get_color() == style.QUIET]
    assert "".join(text.get_text() for text in grey) == prompt * 2


def test_every_character_has_its_place(data):
    """Lines of the same length end at the same place, and what is written goes on where the prompt ends."""
    figure = leak.draw(data.filter(task="bytes"))
    lines = [text for text in figure.axes[0].texts if text.get_fontfamily() == ["DejaVu Sans Mono"]]
    lines = [text for text in lines if text.get_text()]
    renderer = FigureCanvasAgg(figure).get_renderer()
    for text in lines:
        box = text.get_window_extent(renderer)
        assert box.width / figure.dpi == pytest.approx(len(text.get_text()) * leak._CHARACTER, abs=0.06)
    places = {round(text.get_position()[0], 6) for text in lines}
    left = min(places)
    offsets = sorted((place - left) / leak._CHARACTER for place in places)
    np.testing.assert_allclose(offsets, np.round(offsets), atol=1e-4)
    assert len(" ↵ = The $ of \\u6771\\u4eac = ↵ ↵ It") == round(offsets[-1])


def test_what_the_judge_thinks_is_the_mean_over_seeds(data):
    figure = leak.draw(data)
    for _, rows in data.group_by("task", "mask"):
        assert f"its text: {rows['judged_nats'].mean():.2f} nats per token (true text: 1.40)" in words(figure)
