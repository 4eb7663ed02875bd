"""`maskstudy audit`: the verdict on a cell, and the refusal of one that it must not have."""

import numpy as np
import pytest

from maskstudy import audit, files
from maskstudy.commands import audit as command
from maskstudy.commands import prepare, train
from maskstudy.errors import StudyError
from small_study import HMM, MODEL, TRAINING, cell, settings, untuned

MARKOV = {
    "kind": "markov_next",
    "dataset": None,
    "parameters": {"symbols": 5, "length": 8, "train_examples": 64, "validation_examples": 16, "test_examples": 24},
}
STUDY = {"task": "markov_next", "mask": "causal", "role": "study"}
CONTROL = {"task": "markov_next", "mask": "full", "role": "control"}


@pytest.fixture
def run(tmp_path):
    """Audits these cells; gives the folder of the verdicts."""

    def audited(cells, task=MARKOV, model=MODEL):
        prepare.main([*settings(**task), "--raw", "raw", "--out", str(tmp_path / "data")])
        out = tmp_path / "audit"
        for each in cells:
            given = settings(cell=each, task=task, model=model)
            command.main([*given, "--data", str(tmp_path / "data"), "--out", str(out / f"{each['mask']}.json")])
        return out

    return audited


def refused(run, *cells, **given):
    with pytest.raises(StudyError) as raised:
        run(list(cells), **given)
    message = str(raised.value)
    assert "\n" not in message
    return message


def test_one_verdict_a_cell(run):
    out = run([STUDY, CONTROL])
    assert sorted(path.name for path in out.iterdir()) == ["causal.json", "full.json"]
    causal, full = (files.read_json(out / f"{mask}.json") for mask in ("causal", "full"))
    for verdict, of_cell in ((causal, STUDY), (full, CONTROL)):
        assert {name: verdict[name] for name in of_cell} == of_cell
        assert set(verdict) == {*of_cell, "leaks", "measured_leaks", "position", "path", "scored_access", "grid"}
    assert (causal["leaks"], causal["measured_leaks"], causal["position"], causal["path"]) == (False, False, None, None)
    assert (full["leaks"], full["measured_leaks"], full["position"]) == (True, True, 0)
    assert full["path"] == "input 1 → layer 1 position 1 → layer 2 position 0"
    assert causal["scored_access"] != full["scored_access"]
    assert (causal["grid"]["look_ahead"], full["grid"]["look_ahead"]) == (0, 7)


def test_a_task_whose_answers_stand_nowhere_leaks_under_no_mask(run):
    out = run([cell("causal"), cell("lookahead-2"), cell("full")], task=HMM)
    verdicts = [files.read_json(path) for path in sorted(out.iterdir())]
    assert [(verdict["leaks"], verdict["measured_leaks"]) for verdict in verdicts] == [(False, False)] * 3


def test_the_same_audit_gives_the_same_bytes(run):
    first = {path.name: path.read_bytes() for path in run([STUDY, CONTROL]).iterdir()}
    assert {path.name: path.read_bytes() for path in run([STUDY, CONTROL]).iterdir()} == first


def test_a_study_cell_that_leaks_is_named_with_position_and_path(run, tmp_path):
    message = refused(run, {**CONTROL, "role": "study"})
    assert message.startswith("task markov_next, mask full: scored position 0 sees its own answer: ")
    assert "input 1 → layer 1 position 1 → layer 2 position 0; declare the mask under `controls`" in message
    assert not (tmp_path / "audit").exists()


def test_a_control_that_does_not_leak_is_named(run, tmp_path):
    message = refused(run, {**STUDY, "role": "control"})
    assert message.startswith("task markov_next, mask causal: declared as a control, but no scored position sees")
    assert not (tmp_path / "audit").exists()


@pytest.mark.parametrize(("of_cell", "applied"), [(STUDY, "full"), (CONTROL, "causal")])
def test_a_model_that_does_not_do_what_its_masks_say_is_named(run, tmp_path, monkeypatch, of_cell, applied):
    original = audit.model_input
    monkeypatch.setattr(audit, "model_input", lambda _mask, layers, each: original(applied, layers, each))
    message = refused(run, of_cell)
    assert message.startswith(f"task markov_next, mask {of_cell['mask']}: by its masks, scored position 0 ")
    assert "of a random model" in message
    assert not (tmp_path / "audit").exists()


@pytest.fixture
def leaking_batch(monkeypatch):
    """`hmm_tagging` whose train batches, and nothing else, say that the last answer is the first token."""

    class Careless(type(command.tasks.build(HMM))):
        def batch(self, examples, index, generator):
            batch = super().batch(examples, index, generator)
            batch.target_positions[:, -1] = 0
            return batch

    monkeypatch.setattr(command.tasks, "build", lambda task: Careless(**task["parameters"]))


@pytest.mark.usefixtures("leaking_batch")
def test_a_leak_that_only_a_train_batch_shows_is_found_and_measured(run):
    message = refused(run, cell("causal"), task=HMM)
    assert "mask causal: scored position 5 sees its own answer: input 0" in message
    verdict = files.read_json(run([cell("causal", role="control")], task=HMM) / "causal.json")
    assert (verdict["leaks"], verdict["measured_leaks"], verdict["position"]) == (True, True, 5)


def test_a_verdict_lets_its_own_cell_train_and_no_other(run, tmp_path):
    out = run([STUDY, CONTROL])

    def trained(of_cell, mask):
        parts = settings(cell=of_cell, task=MARKOV, model=MODEL, training=TRAINING, device="cpu")
        paths = ["--data", str(tmp_path / "data"), "--audit", str(out / f"{mask}.json"), "--run", str(tmp_path / mask)]
        train.main([*parts, "--seed", "0", *paths, *untuned(tmp_path, of_cell)])

    trained(CONTROL, "full")
    assert np.isfinite(files.read_json(tmp_path / "full" / "cost.json")["train_flops"])
    with pytest.raises(StudyError, match="the audit is not a pass of task markov_next, mask full"):
        trained(CONTROL, "causal")
