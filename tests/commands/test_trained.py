import pytest
import torch

from maskstudy.commands.trained import trained_model
from maskstudy.errors import StudyError
from maskstudy.shape import build_shape
from maskstudy.tasks import build
from small_study import HMM, MODEL, random_model, save_model

SHAPE = build_shape(build(HMM), MODEL)


@pytest.fixture
def model():
    return random_model(SHAPE).float()


def test_the_model_is_the_one_that_was_written(tmp_path, model):
    save_model(tmp_path, model, "full")
    found = trained_model(tmp_path, "full", SHAPE)
    assert all(torch.equal(weights, found.state_dict()[name]) for name, weights in model.state_dict().items())


def test_weights_that_are_not_there_are_named_with_the_rule_that_makes_them(tmp_path):
    with pytest.raises(StudyError, match=r"model\.safetensors: no such file.*snakemake .*model\.safetensors"):
        trained_model(tmp_path, "causal", SHAPE)


def test_weights_of_another_mask_or_shape_or_block_are_refused(tmp_path, model, monkeypatch):
    save_model(tmp_path, model, "full")
    with pytest.raises(StudyError, match="trained with mask full, not causal; delete it"):
        trained_model(tmp_path, "causal", SHAPE)
    deeper = build_shape(build(HMM), MODEL | {"layers": 3})
    with pytest.raises(StudyError, match=r"trained with shape .*layers=2.*, not .*layers=3.*; delete it"):
        trained_model(tmp_path, "full", deeper)
    monkeypatch.setattr("maskstudy.commands.trained.BLOCK", {"norm": "another"})
    with pytest.raises(StudyError, match=r"trained with block .*, not .*another"):
        trained_model(tmp_path, "full", SHAPE)
