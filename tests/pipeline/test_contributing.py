"""The examples of CONTRIBUTING.md, word for word: a task and a mask of one's own; and what stops a cell that leaks."""

import json
import re
import subprocess
import sys
from math import log
from pathlib import Path
from textwrap import dedent, indent

import pytest
import yaml

from pipeline.study import REPOSITORY, Study, copy_of_workflow, replace_once, tiny_config, tiny_study

TEXT = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
TASK = "src/maskstudy/tasks/coin_toss.py"


def block(name):
    """The code block that is headed by the name of a file."""
    return re.search(rf"^```\w+ {re.escape(name)}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)[1]


@pytest.fixture
def coin_toss(tmp_path) -> Study:
    workflow = copy_of_workflow(tmp_path / "workflow")
    (workflow / TASK).write_text(block(TASK), encoding="utf-8")
    example = yaml.safe_load(block("config.yaml"))
    example["tasks"]["coin_toss"]["parameters"] = {"train_examples": 64, "validation_examples": 8, "test_examples": 32}
    return Study(workflow, tmp_path / "study", tiny_config() | example | {"datasets": {}, "comparisons": []})


def test_the_docstring_of_the_task_is_true(coin_toss):
    command = [sys.executable, "-m", "doctest", str(coin_toss.workflow / TASK)]
    subprocess.run(command, check=True, env=coin_toss.variables(), cwd=coin_toss.workflow)


def test_a_task_is_one_file_and_one_entry(coin_toss):
    outcome = coin_toss.run(
        "results/audit/coin_toss/full.json",
        "results/references/coin_toss/causal.json",
        "results/runs/coin_toss/causal/seed-0/metrics.json",
    )
    assert outcome.status == 0, outcome.output
    assert _read(coin_toss.results / "audit/coin_toss/full.json")["leaks"] is True  # a control is there to leak
    assert _read(coin_toss.results / "audit/coin_toss/causal.json")["leaks"] is False
    reference = _read(coin_toss.results / "references/coin_toss/causal.json")
    entropy = -(0.3 * log(0.3) + 0.7 * log(0.7))
    assert reference["ceiling"]["nats"] == pytest.approx(entropy, abs=0.05)


def test_a_study_cell_that_leaks_and_a_control_that_does_not_stop_before_training(coin_toss):
    coin_toss.config["tasks"]["coin_toss"].update(masks=["full"], controls=["causal"])
    outcome = coin_toss.run(options=("--keep-going",))
    assert outcome.status == 1
    said = sorted(line for line in outcome.output.splitlines() if line.startswith("maskstudy audit: "))
    assert len(said) == 2, outcome.output
    assert "task coin_toss, mask causal: declared as a control, but no scored position sees its answer" in said[0]
    assert "task coin_toss, mask full: scored position 0 sees its own answer: input 1 → " in said[1]
    assert "Traceback" not in outcome.output
    assert not (coin_toss.results / "runs").exists()


def test_text_of_ones_own_is_two_entries(workflow, tmp_path):
    """The example of README.md."""
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    example = yaml.safe_load(re.search(r"^```yaml\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)[1])
    plan = tiny_study(workflow, tmp_path / "study", comparisons=[], **example).plan()
    assert plan.status == 0, plan.output
    assert plan.jobs["prepare"] == 1
    assert plan.jobs["train"] == 4  # two masks, two seeds


def test_a_mask_is_one_entry_a_name_and_what_it_shows(tmp_path):
    workflow = copy_of_workflow(tmp_path / "workflow")
    entry, name, shown = (
        dedent(code) for code in re.findall(r"^   ```(?:python)?\n(.*?)^   ```$", TEXT, re.MULTILINE | re.DOTALL)
    )
    config = tiny_config() | {"datasets": {}, "comparisons": []}
    config["tasks"] = {"hmm_tagging": config["tasks"]["hmm_tagging"] | {"masks": ["full", "late-full"]}}
    study = Study(workflow, tmp_path / "study", config)
    for path, place, line in (
        ("src/maskstudy/masks.py", '    "full": lambda', indent(entry, "    ")),
        ("workflow/schemas/config.schema.json", "causal|full", name.strip()),
        ("src/maskstudy/baselines.py", '    if mask == "causal":\n', indent(shown, "    ")),
    ):
        replace_once(workflow / path, place, line + place)
    outcome = study.run(
        "results/audit/hmm_tagging/full.json",
        "results/runs/hmm_tagging/late-full/seed-0/metrics.json",
        "results/references/hmm_tagging/late-full.json",
    )
    assert outcome.status == 0, outcome.output
    late, full = (_read(study.results / f"audit/hmm_tagging/{mask}.json") for mask in ("late-full", "full"))
    assert late["scored_access"] == full["scored_access"]
    assert late["grid"]["layers"] != full["grid"]["layers"]


def _read(path: Path):
    return json.loads(path.read_text(encoding="utf-8"))
