"""A mistake in config.yaml stops snakemake before any job, with one line that says what to mend."""

from collections.abc import Callable
from typing import Any

import pytest

MISTAKES: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "an unknown key": (lambda config: config["training"].update(step=3), "training.step"),
    "an unknown task": (
        lambda config: config["tasks"].update(hmm_taging={"masks": ["causal"]}),
        "'hmm_taging' is not known",
    ),
    "an unknown mask": (lambda config: config["tasks"]["my_bytes"].update(masks=["casual"]), "'casual'"),
    "a mask that the task has no baseline for": (
        lambda config: config["tasks"]["my_bytes"].update(masks=["prefix"]),
        "mask 'prefix'",
    ),
    "a look-ahead of -1": (lambda config: config["tasks"]["my_bytes"].update(masks=["lookahead--1"]), "'lookahead--1'"),
    "a single seed": (lambda config: config.update(seeds=1), "seeds: 1"),
    "heads that do not divide the width": (lambda config: config["model"].update(heads=3), "heads 3"),
    "an unknown dataset": (lambda config: config["tasks"]["my_bytes"].update(dataset="novel"), "'novel' is not known"),
    "no file": (lambda config: config["datasets"]["my_text"].update(files="novels/*.txt"), "'novels/*.txt'"),
    "an unknown figure": (lambda config: config["figures"].append("pie"), "figures.pie"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_stops_before_any_job_with_one_line(study, mistake):
    change, said = MISTAKES[mistake]
    change(study.config)
    stopped = study.run()
    assert stopped.status == 1
    assert len([line for line in stopped.output.splitlines() if said in line]) == 1, stopped.output
    assert "Traceback" not in stopped.output
    assert "Job stats" not in stopped.output
    assert not study.results.exists()


def test_one_environment_serves_all_rules(study):
    stopped = study.run(options=("--sdm", "conda"))
    assert stopped.status == 1
    assert "leave out --sdm" in stopped.output
