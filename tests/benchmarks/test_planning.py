"""The bare Snakefile has the files and jobs of the workflow, at any size."""

import pytest
import yaml
from benchmarks.planning import BARE, REPOSITORY, WORKFLOW, both, enlarged

from maskstudy import config as study
from maskstudy.data.raw import WHEELS

CONFIG = yaml.safe_load((REPOSITORY / "config.yaml").read_text(encoding="utf-8"))
PARAMETERS = CONFIG["tasks"]["next_byte"]["parameters"]
FINAL_BYTE = {  # asks for bytes that next_byte answers too
    "dataset": "wikitext2",
    "masks": ["causal", "full"],
    "parameters": {"length": PARAMETERS["length"] - 1, "test_windows": PARAMETERS["test_windows"]},
}


@pytest.mark.parametrize("more", [{}, {"final_byte": FINAL_BYTE}])
def test_it_makes_the_files_of_the_workflow(tmp_path, more):
    changes = {"seeds": 2, "confirmatory": False, "comparisons": [], "tasks": {**CONFIG["tasks"], **more}}
    studies = both({**CONFIG, **changes}, tmp_path)
    wheels = {f"{CONFIG['data']}/{wheel}" for wheel in WHEELS}
    expected = {"data/raw/package.whl" if name in wheels else name for name in studies[WORKFLOW].files()}
    assert studies[BARE].files() == expected
    assert bool(more) == ("results/supervision.parquet" in expected)


@pytest.mark.parametrize("jobs", [50, 4000, 40_000])
def test_a_study_is_enlarged_to_about_as_many_jobs(jobs):
    config = enlarged(CONFIG, jobs)
    runs = len(study.cells(config)) * config["seeds"]
    assert 2 <= config["seeds"] <= 40
    assert jobs / 1.3 <= 2 * runs <= jobs * 1.3
    assert {study.task_settings(config, name)["kind"] for name in config["tasks"]} == set(CONFIG["tasks"])
