import json
import math

import pytest

from fake_results import LOOKAHEADS, FakeTask, write
from maskstudy.explainer.study import collected
from maskstudy.figures.results import Results, Settings
from maskstudy.report import statements

TASKS = {
    "hmm_tagging": FakeTask(
        masks=LOOKAHEADS,
        ceilings=(0.654, 0.721, 0.739, 0.747, 0.748),
        declared=(("accuracy", "full", "causal", 0.005),),
    ),
    "next_byte": FakeTask(masks=("causal",), controls=("full",)),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    return Results(folder, Settings.of(write(folder, TASKS, seeds=4)))


def test_the_series_of_look_ahead_is_that_of_the_metrics(results):
    (series,) = collected(results)["dose_response"]
    assert series["task"] == "hmm_tagging"
    assert [cell["mask"] for cell in series["cells"]] == list(LOOKAHEADS)
    assert [cell["lookahead"] for cell in series["cells"]] == [0, 1, 2, 4, None]
    for cell in series["cells"]:
        rows = results.metrics.filter(task="hmm_tagging", metric="accuracy", mask=cell["mask"])
        assert cell["values"] == rows["value"].to_list()
        assert cell["mean"] == pytest.approx(rows["value"].mean())
        assert cell["ceiling"] == rows["ceiling"][0]
        assert cell["low"] <= cell["mean"] <= cell["high"]


def test_declared_comparisons_come_with_the_sentences_of_the_paper(results):
    (row,) = collected(results)["comparisons"]
    expected = results.comparisons.filter("declared").row(0, named=True)
    assert row["finding"] == statements.finding(expected, 0.05)
    assert row["access"] == statements.ACCESS[False]
    assert (row["effect"], row["low"], row["high"]) == (expected["effect"], expected["low"], expected["high"])


def test_a_control_is_shown_with_its_loss_and_what_it_writes(results):
    (task,) = collected(results)["leaks"]
    causal, control = task["cells"]
    assert (causal["role"], control["role"]) == ("study", "control")
    assert control["nats"] < causal["nats"]
    assert control["judged_nats"] > causal["judged_nats"] > task["true_judged_nats"]
    assert control["sample"]["sampled"].startswith("W $")


def test_the_sentence_about_access_is_the_study_s(results):
    assert collected(results)["not_superior"] == statements.NOT_SUPERIOR


def test_numbers_that_are_not_known_are_null(results):
    text = json.dumps(collected(results), allow_nan=False)
    assert json.loads(text)["leaks"][0]["ceiling"] is None


def test_a_study_that_declares_nothing_shows_all_comparisons_as_exploratory(tmp_path):
    settings = write(tmp_path, {"masked_byte": FakeTask()}, seeds=2, confirmatory=False)
    found = collected(Results(tmp_path, Settings.of(settings)))
    assert found["dose_response"] == found["leaks"] == []
    assert {row["declared"] for row in found["comparisons"]} == {False}
    assert not found["confirmatory"]
    assert all(math.isfinite(row["effect"]) for row in found["comparisons"])


def test_every_metric_that_is_compared_has_a_name(tmp_path):
    settings = write(tmp_path, {"pronunciation": FakeTask(written=True)}, seeds=2, confirmatory=False)
    found = collected(Results(tmp_path, Settings.of(settings)))
    compared = {row["metric"] for row in found["comparisons"]}
    assert compared == {"accuracy", "nats", "per", "wer"}
    assert compared <= set(found["metric_names"])
