"""The bare Snakefile has the files and jobs of the workflow, at any size."""

import pytest
import yaml
from benchmarks.planning import BARE, REPOSITORY, WORKFLOW, both, enlarged, smallest

from maskstudy import config as study
from maskstudy.data.raw import WHEELS

CONFIG = yaml.safe_load((REPOSITORY / "config.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("left_out", [[], ["final_byte"]])  # final_byte asks for bytes that next_byte answers too
def test_it_makes_the_files_of_the_workflow(tmp_path, left_out):
    tasks = {name: entry for name, entry in CONFIG["tasks"].items() if name not in left_out}
    changes = {"seeds": 2, "confirmatory": False, "comparisons": [], "tasks": tasks}
    studies = both({**CONFIG, **changes}, tmp_path)
    wheels = {f"{CONFIG['data']}/{wheel}" for wheel in WHEELS}
    expected = {"data/raw/package.whl" if name in wheels else name for name in studies[WORKFLOW].files()}
    assert studies[BARE].files() == expected
    assert ("results/supervision.parquet" in expected) == (not left_out)


@pytest.mark.parametrize("jobs", [120, 4000, 40_000])
def test_a_study_is_enlarged_to_about_as_many_jobs(jobs):
    config = enlarged(CONFIG, jobs)
    runs = len(study.cells(config)) * config["seeds"]
    assert 2 <= config["seeds"] <= 40
    assert jobs / 1.3 <= 2 * runs <= jobs * 1.3
    kinds, expected = ({study.task_settings(each, name)["kind"] for name in each["tasks"]} for each in (config, CONFIG))
    assert kinds == expected


def test_a_finished_study_has_nothing_to_do(tmp_path):
    for name, planned in both(smallest(CONFIG), tmp_path).items():
        planned.finish()
        assert "Nothing to be done" in planned.snakemake("-n"), name


@pytest.mark.parametrize("jobs", [120, 400])
def test_a_study_of_few_seeds_can_be_planned(tmp_path, jobs):
    assert both(enlarged(CONFIG, jobs), tmp_path)[WORKFLOW].snakemake("-n", "--quiet", "rules")
