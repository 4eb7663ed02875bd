"""The CPU time of each job, read when its shell ends."""

import os
import subprocess

from benchmarks.pipeline import TRAP, shell_times

WORK = "for number in $(seq 40000); do :; done"


def test_the_trap_tells_the_command_and_the_time_of_its_children(tmp_path):
    trap, times = tmp_path / "trap.sh", tmp_path / "times"
    times.mkdir()
    trap.write_text(TRAP, encoding="utf-8")
    variables = {**os.environ, "BASH_ENV": str(trap), "JOB_TIMES": str(times)}
    of_run = "--settings '{}' --seed 3 --run results/runs/accents/full/seed-3"
    for command in (f"echo maskstudy train {of_run} > /dev/null\nbash -c '{WORK}'", "printf x > /dev/null"):
        subprocess.run(["bash", "-c", command], env=variables, check=True)
    found = {job.verb: job for job in shell_times(times)}
    assert set(found) == {"train", "settings and report.html"}
    assert found["train"].task == "accents"
    assert not found["settings and report.html"].task
    assert found["train"].seconds > 0
