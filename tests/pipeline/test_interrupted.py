"""A study that was stopped goes on where it stood, and nothing half-written stays."""

import os
import signal
import subprocess
import time

RUN = "results/runs/hmm_tagging/full/seed-0/metrics.json"


def test_an_interrupted_study_goes_on_where_it_stood(study):
    study.config["training"]["steps"] = 1000  # some seconds
    running = subprocess.Popen(
        study.command(RUN),
        cwd=study.folder,
        env=study.variables(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background ignores Ctrl-C
    )
    log = study.results / "logs/train/hmm_tagging/full/seed-0.log"
    while not (log.is_file() and "step" in log.read_text()):
        assert running.poll() is None, "it ended before it could be interrupted"
        time.sleep(0.1)
    os.killpg(running.pid, signal.SIGINT)  # what Ctrl-C sends
    assert running.wait(timeout=300) != 0
    assert not (study.folder / RUN).exists()

    resumed = study.run(RUN)
    assert resumed.status == 0, resumed.output
    assert resumed.jobs == {"train": 1, "evaluate": 1}  # what was prepared and audited stays
    assert (study.folder / RUN).is_file()
    assert not list(study.folder.rglob("*.partial"))
    assert study.plan(RUN).nothing_to_do
