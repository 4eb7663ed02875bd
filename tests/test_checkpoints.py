import json

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from safetensors.torch import load_file

import random_models
from maskstudy import checkpoints, shape
from maskstudy.errors import StudyError


@pytest.fixture
def path(tmp_path):
    return random_models.write(tmp_path / "model.safetensors", "next_byte", "full", "control")


def test_what_was_written_is_read(path):
    found = checkpoints.read(path)
    assert found.cell == {"task": "next_byte", "mask": "full", "role": "control"}
    assert found.task == {"kind": "next_byte", "parameters": {"length": 129}}
    assert (found.shape.vocabulary, found.shape.answers, found.shape.length) == (257, 256, 129)
    assert (found.shape.width, found.shape.heads, found.shape.positions) == (16, 2, "rotary")
    assert found.block == shape.BLOCK
    for name, weights in load_file(path).items():
        np.testing.assert_array_equal(found.weights[name], weights.numpy())


def test_there_is_one_entry_for_two_would_be_written_in_any_order(path):
    with safe_open(path, "np") as file:
        assert len(file.metadata()) == 1


def test_the_names_of_own_files_are_not_written_down(path):
    settings = {"kind": "next_byte", "parameters": {}, "dataset": {"kind": "text", "files": "secret/*.txt"}}
    written = checkpoints.metadata(
        {"task": "t", "mask": "full", "role": "study"}, settings, checkpoints.read(path).shape
    )
    assert "secret" not in json.dumps(written)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(StudyError, match=r"nowhere\.safetensors: no such file"):
        checkpoints.read(tmp_path / "nowhere.safetensors")


def test_a_file_of_another_kind_is_named(tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"this is no file of weights")
    with pytest.raises(StudyError, match=r"model\.safetensors: not a file of weights"):
        checkpoints.read(path)
    with pytest.raises(StudyError, match="not a file of weights"):
        checkpoints.read(tmp_path)


@pytest.mark.parametrize(
    "metadata",
    [None, {"format": "pt"}, {"maskstudy": "no JSON"}, {"maskstudy": "[]"}, {"maskstudy": '{"cell": {}}'}],
)
def test_weights_that_say_no_task_and_shape_are_refused(tmp_path, metadata):
    path = tmp_path / "other.safetensors"
    save_file({"weight": np.zeros((2, 2), dtype=np.float32)}, path, metadata=metadata)
    with pytest.raises(StudyError, match=r"other\.safetensors: its metadata names no task and shape of this study"):
        checkpoints.read(path)
