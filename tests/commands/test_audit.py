import numpy as np
import pytest

from maskstudy import tasks
from maskstudy.audit import access_grid, scored_access_digest
from maskstudy.commands import audit
from maskstudy.data.examples import write_examples
from maskstudy.errors import StudyError
from maskstudy.files import read_json
from maskstudy.schemas import AUDIT
from small_study import HMM, RandomTokens, cell, examples, next_token, settings

SPLITS = ("train", "validation", "test")


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Next-token examples of three kinds: the answers of all splits stand in the input."""
    monkeypatch.setattr(tasks, "build", lambda _: RandomTokens())
    for split, made in RandomTokens().splits(None).items():
        write_examples(tmp_path / f"{split}.parquet", made)
    return tmp_path


def run(folder, mask, role="study", layers=2):
    out = folder / "audit" / f"{mask}.json"
    given = settings(cell=cell(mask, role, "next"), task=HMM, layers=layers)
    audit.main([*given, "--data", str(folder), "--out", str(out)])
    return read_json(out)


def write(folder, split, made):
    write_examples(folder / f"{split}.parquet", made)


def unanswered(split):
    return examples(np.zeros((4, 8)), group=split)


def test_a_study_cell_without_a_leak_passes(data):
    verdict = run(data, "causal")
    test = RandomTokens().splits(None)["test"]
    assert verdict == {
        **cell("causal", "study", "next"),
        "leaks": False,
        "measured_leaks": None,
        "position": None,
        "path": None,
        "scored_access": scored_access_digest("causal", 2, test),
        "grid": access_grid("causal", 2, 8),
    }
    assert set(AUDIT.names) <= set(verdict)


@pytest.mark.parametrize(
    ("mask", "path"),
    [
        ("full", "input 1 → layer 1 position 1 → layer 2 position 0"),
        ("lookahead-1", "input 1 → layer 1 position 0 → layer 2 position 0"),
    ],
)
def test_a_study_cell_that_leaks_stops_with_task_mask_position_and_path(data, mask, path):
    with pytest.raises(StudyError) as raised:
        run(data, mask)
    message = str(raised.value)
    assert f"task next, mask {mask}: scored position 0 sees its own answer: {path}" in message
    assert "controls" in message
    assert "\n" not in message
    assert not (data / "audit").exists()


def test_a_control_that_leaks_passes_and_says_where(data):
    verdict = run(data, "full", "control")
    assert verdict["leaks"] is True
    assert verdict["position"] == 0
    assert verdict["path"] == "input 1 → layer 1 position 1 → layer 2 position 0"


def test_a_control_that_does_not_leak_stops(data):
    with pytest.raises(StudyError, match="task next, mask causal: declared as a control, but no scored") as raised:
        run(data, "causal", "control")
    assert "\n" not in str(raised.value)
    assert not (data / "audit").exists()


@pytest.mark.parametrize("leaking", ["validation", "test"])
def test_a_leak_in_any_split_is_found(data, leaking):
    for split in SPLITS:
        write(data, split, unanswered(split))
    monkey_batch = RandomTokens(answer=lambda tokens: examples(tokens))
    write(data, leaking, next_token([[0, 1, 2, 3, 0, 1, 2, 3]], group=leaking))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks, "build", lambda _: monkey_batch)
        with pytest.raises(StudyError, match="scored position 0 sees its own answer"):
            run(data, "full")
        assert run(data, "causal")["leaks"] is False


def test_a_leak_in_what_a_batch_hides_is_found(data):
    for split in SPLITS:
        write(data, split, unanswered(split))
    with pytest.raises(StudyError, match="scored position 0 sees its own answer"):
        run(data, "full")  # nothing is scored in the files, but the batches of the task are next-token


def test_the_layers_are_those_of_the_model(data):
    verdict = run(data, "full", "control", layers=3)
    assert verdict["path"].endswith("layer 3 position 0")
    assert len(verdict["grid"]["layers"]) == 3


def test_hidden_states_do_not_stand_in_the_input(tmp_path):
    for split, made in tasks.build(HMM).splits(None).items():
        write(tmp_path, split, made)
    assert run(tmp_path, "full")["leaks"] is False
    assert run(tmp_path, "full")["scored_access"] != run(tmp_path, "causal")["scored_access"]
