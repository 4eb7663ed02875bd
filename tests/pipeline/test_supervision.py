"""Tasks that ask for the same final bytes are scored there side by side, and only they."""

import pyarrow.parquet as pq

from pipeline.study import tiny_study

SIZES = {"train_windows": 64, "validation_windows": 8, "test_windows": 16}
EVERY = {"kind": "next_byte", "dataset": "my_text", "masks": ["causal"], "parameters": {"length": 17, **SIZES}}
FINAL = {"kind": "final_byte", "dataset": "my_text", "masks": ["full"], "parameters": {"length": 16, **SIZES}}


def test_the_same_final_bytes_are_scored_by_one_job_and_stand_in_the_paper(workflow, tmp_path):
    tasks = {"every": {**EVERY, "controls": ["full"]}, "final": FINAL}
    study = tiny_study(workflow, tmp_path / "study", tasks=tasks, comparisons=[])
    plan = study.plan("results/paper.pdf")
    assert plan.jobs["supervision"] == 1
    assert not any("every under full" in message for message in study.plan("results/supervision.parquet").messages)

    outcome = study.run("results/supervision.parquet")
    assert outcome.status == 0, outcome.output
    assert outcome.jobs["train"] == 4
    table = pq.read_table(study.results / "supervision.parquet").to_pylist()
    assert {(row["task"], row["mask"]) for row in table} == {("every", "causal"), ("final", "full")}
    given = {row["task"]: row["targets_seen"] for row in table}
    assert given["final"] == 3 * 4  # an answer a window: 3 steps of 4
    assert given["every"] > 10 * given["final"]
    assert {row["scored"] for row in table} == {16}


def test_other_windows_are_not_put_side_by_side(workflow, tmp_path):
    final = FINAL | {"parameters": {"length": 17, **SIZES}}
    study = tiny_study(workflow, tmp_path / "study", tasks={"every": EVERY, "final": final}, comparisons=[])
    assert "supervision" not in study.plan("results/paper.pdf").jobs
