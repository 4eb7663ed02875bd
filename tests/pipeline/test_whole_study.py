"""One command makes everything; a second one makes nothing; a change makes what depends on it and no more."""

import os

import pytest
import yaml
from snakemake.utils import update_config

from pipeline.outputs import flaws
from pipeline.study import REPOSITORY, Study, edited, without

OF_RUNS = ("access_grids", "tuning", "learning_curves", "dose_response", "seeds", "comparisons")
FIGURES = {f"figure_{name}" for name in (*OF_RUNS, "mask_swap", "representations")}
LAYERS = {"representations", "stack_representations"}
SWAPS = {"swaps", "stack_swaps"}
PAGES = {"paper", "html_report", "explain"}


@pytest.fixture(autouse=True)
def _complete(finished):
    assert finished.outcome.status == 0, finished.outcome.output


def test_one_command_makes_everything(finished):
    assert flaws(finished.study.results) == []
    assert "Using workflow specific profile" in finished.outcome.output  # profiles/default, found beside the Snakefile
    counts = {rule: count for rule, count in finished.outcome.jobs.items() if rule not in FIGURES | PAGES}
    assert counts == {
        "prepare": 2,
        "audit": 4,
        "reference": 4,
        "tune": 4,
        "train": 8,
        "evaluate": 8,
        "gather": 1,
        "compare": 1,
        "samples": 1,
        "swaps": 1,  # of the task with several masks
        "representations": 2,
        "stack_swaps": 1,
        "stack_representations": 1,
        "settings": 1,
    }  # above all no `fetch`: a study of own text and synthetic sources needs no network
    assert set(finished.outcome.jobs) >= FIGURES | PAGES


def test_a_second_run_does_nothing_and_says_so(finished):
    def state():
        return {path: path.stat().st_mtime_ns for path in finished.study.results.rglob("*")}

    before = state()
    assert finished.study.run().nothing_to_do
    assert state() == before


def test_what_is_only_touched_or_commented_is_not_made_again(finished):
    study = finished.study
    touched = [study.workflow / "src/maskstudy/model.py", study.workflow / "workflow/rules/train.smk"]
    touched += [study.folder / "texts/own.txt", study.results / "data/hmm_tagging/train.parquet"]
    touched += [study.results / "runs/hmm_tagging/full/seed-0/model.safetensors", study.results / "metrics.parquet"]
    touched += [study.workflow / "workflow/report/seeds.rst"]
    for path in touched:
        os.utime(path)
    with edited(study.workflow / "src/maskstudy/training.py", "\nimport", "\n# a comment\nimport"):
        assert study.plan().nothing_to_do


def test_an_edited_model_is_trained_again_and_nothing_else_is_prepared_again(finished):
    with edited(finished.study.workflow / "src/maskstudy/model.py", "\nimport", "\nEDITED = True\nimport"):
        jobs = finished.study.plan().jobs
    assert jobs.pop("train") == jobs.pop("evaluate") == 8
    assert jobs.pop("audit") == jobs.pop("tune") == 4  # an audit measures a random model
    assert set(jobs) == {"gather", "compare", "samples"} | SWAPS | LAYERS | FIGURES | PAGES


def test_an_edited_figure_is_drawn_again_alone(finished):
    with edited(finished.study.workflow / "src/maskstudy/figures/seeds.py", "\nimport", "\nEDITED = True\nimport"):
        assert finished.study.plan().jobs == {"figure_seeds": 1, "paper": 1, "html_report": 1}


def test_an_edited_caption_changes_the_report_alone(finished):
    with (finished.study.workflow / "workflow/report/seeds.rst").open("a") as caption:
        caption.write("\nOne sentence more.\n")
    assert finished.study.plan().jobs == {"html_report": 1}
    assert finished.study.run().status == 0
    assert finished.study.plan().nothing_to_do


def test_an_edited_text_is_prepared_again(finished):
    with edited(finished.study.folder / "texts/own.txt", "bridges", "rivers"):
        plan = finished.study.plan()
    assert plan.jobs["prepare"] == 1
    assert plan.jobs["train"] == 2
    assert not any("hmm_tagging" in message for message in plan.messages)


def test_other_statistics_compare_again_and_train_nothing(finished):
    jobs = finished.study.plan(statistics={"alpha": 0.5, "confidence": 0.9, "resamples": 200}).jobs
    assert set(jobs) == {"compare", "settings"} | FIGURES | PAGES


def test_more_steps_for_one_task_retrain_that_task_alone(finished):
    tasks = dict(finished.study.config["tasks"])
    tasks["my_bytes"] = {**tasks["my_bytes"], "training": {"steps": 4}}
    plan = finished.study.plan(tasks=tasks)
    assert plan.jobs["train"] == plan.jobs["evaluate"] == 2
    remade = {"tune", "train", "evaluate", "gather", "compare", "samples", "settings"} | LAYERS | FIGURES | PAGES
    assert set(plan.jobs) == remade
    assert plan.jobs["representations"] == 1
    assert not any("hmm_tagging" in message for message in plan.messages)


def test_one_seed_more_trains_that_seed_alone(finished):
    plan = finished.study.plan(seeds=3)
    trained = [message for message in plan.messages if message.startswith("train")]
    assert len(trained) == 4
    assert all("seed 2;" in message for message in trained)
    assert not {"prepare", "audit", "reference", "tune"} & set(plan.jobs)


def test_one_mask_more_trains_that_mask_alone(finished):
    tasks = dict(finished.study.config["tasks"])
    tasks["hmm_tagging"] = {**tasks["hmm_tagging"], "masks": [*tasks["hmm_tagging"]["masks"], "lookahead-2"]}
    plan = finished.study.plan(tasks=tasks)
    assert plan.jobs["audit"] == plan.jobs["reference"] == plan.jobs["tune"] == 1
    assert plan.jobs["train"] == plan.jobs["evaluate"] == 2
    assert all("lookahead-2" in message for message in plan.messages if message.startswith(("audit", "train")))


def test_a_figure_of_samples_puts_questions_into_words_first(finished):
    names = [*finished.study.config["figures"], "samples"]
    jobs = finished.study.plan("figure_samples", figures=names).jobs
    assert jobs == {"figure_samples": 1}  # the table is there, for every study has it


def test_another_device_trains_again_and_prepares_nothing(finished):
    jobs = finished.study.plan(device="auto").jobs
    assert jobs["train"] == 8
    assert not {"prepare", "audit", "reference"} & set(jobs)


@pytest.mark.parametrize("preset", ["small", "large"])
def test_a_preset_can_be_planned(study, preset):
    config = yaml.safe_load((REPOSITORY / "config.yaml").read_text(encoding="utf-8"))
    update_config(config, yaml.safe_load((REPOSITORY / f"profiles/{preset}/study.yaml").read_text(encoding="utf-8")))
    planned = Study(study.workflow, study.folder, config).plan()
    assert planned.status == 0, planned.output
    assert planned.jobs["train"] > 50


def test_models_that_predict_the_next_token_write_text(finished):
    sizes = {"length": 8, "train_examples": 32, "validation_examples": 8, "test_examples": 16}
    chain = {"masks": ["causal"], "controls": ["full"], "parameters": {"symbols": 4, **sizes}}
    plan = finished.study.plan(tasks=finished.study.config["tasks"] | {"markov_next": chain})
    assert plan.jobs["generate"] == 4
    assert sum(message.startswith("generate markov_next under full") for message in plan.messages) == 2
    assert "generate" not in finished.outcome.jobs


def test_a_lost_run_is_made_again_alone(finished):
    with without(finished.study.results / "runs/hmm_tagging/full/seed-1"):
        plan = finished.study.plan()
    assert plan.jobs["train"] == plan.jobs["evaluate"] == 1
    assert set(plan.jobs) == {"train", "evaluate", "gather", "compare", "samples"} | SWAPS | LAYERS | FIGURES | PAGES
    assert [message.partition(";")[0] for message in plan.messages if message.startswith("train")] == [
        "train hmm_tagging under full, seed 1"
    ]


def test_a_moved_study_stays_finished(finished):
    here = finished.study.workflow.parent
    elsewhere = here.with_name("elsewhere")
    here.rename(elsewhere)
    try:
        assert Study(elsewhere / "workflow", elsewhere / "study", finished.study.config).plan().nothing_to_do
    finally:
        elsewhere.rename(here)


@pytest.mark.parametrize(
    ("target", "jobs"),
    [
        (
            "results/runs/hmm_tagging/full/seed-1/metrics.json",
            {"prepare": 1, "audit": 1, "tune": 1, "train": 1, "evaluate": 1},
        ),
        ("results/runs/hmm_tagging/full/seed-7/model.safetensors", {"prepare": 1, "audit": 1, "tune": 1, "train": 1}),
        ("results/audit/my_bytes/full.json", {"prepare": 1, "audit": 1}),
    ],
)
def test_one_result_needs_only_its_own_past(study, target, jobs):
    assert study.plan(target).jobs == jobs


def test_a_figure_and_the_report_are_targets(study):
    by_rule, by_file = study.plan("figure_seeds").jobs, study.plan("results/figures/seeds.svg").jobs
    assert by_rule == by_file
    assert FIGURES & set(by_rule) == {"figure_seeds"}
    everything = set(study.plan().jobs)
    assert set(study.plan("report").jobs) == everything - {"samples"}  # which no figure of this study shows
    assert everything > FIGURES | PAGES
