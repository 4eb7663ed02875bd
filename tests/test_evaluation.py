import numpy as np
import pytest
import torch

from maskstudy import evaluation
from maskstudy.evaluation import log_probabilities, model_input
from maskstudy.masks import layer_masks
from maskstudy.shape import ModelShape
from maskstudy.tasks.task import NOT_SCORED
from small_study import MASK_NAMES, examples, random_model

LENGTH, VOCABULARY, LAYERS, COUNT = 6, 9, 2, 11


def model_of(**changes):
    sizes = {"vocabulary": VOCABULARY, "answers": 4, "length": LENGTH, "width": 8, "layers": LAYERS, "heads": 2}
    return random_model(ModelShape(**(sizes | changes)))


def drawn(padded=True, conditioned=True, seed=0):
    """Examples of different lengths, their padding filled with anything, some without a scored position."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(1, LENGTH + 1, COUNT) if padded else np.full(COUNT, LENGTH)
    targets = generator.integers(0, 4, (COUNT, LENGTH))
    targets[generator.random((COUNT, LENGTH)) < 0.4] = NOT_SCORED
    targets[np.arange(LENGTH) >= lengths[:, None]] = NOT_SCORED
    targets[0, 0] = 1
    return examples(
        generator.integers(0, VOCABULARY, (COUNT, LENGTH)),
        targets=targets,
        lengths=lengths,
        condition_lengths=generator.integers(0, lengths + 1) if conditioned else None,
    )


def one_at_a_time(model, name, split):
    """Each example alone, without its padding, and every mask made for it alone."""
    rows = []
    for row in range(len(split)):
        length, condition = int(split.lengths[row]), int(split.condition_lengths[row])
        masks = layer_masks(name, LAYERS, length, condition_lengths=torch.tensor([condition]))
        tokens = torch.tensor([split.tokens[row, :length].tolist()])
        with torch.no_grad():
            answers = model(tokens, masks)[0].log_softmax(-1)
        rows += [answers[place].tolist() for place in range(length) if split.targets[row, place] != NOT_SCORED]
    return np.array(rows)


@pytest.mark.parametrize("positions", ["learned", "rotary"])
@pytest.mark.parametrize("padded", [True, False])
@pytest.mark.parametrize("name", MASK_NAMES)
def test_answers_are_those_of_each_example_alone(name, padded, positions):
    model, split = model_of(positions=positions), drawn(padded)
    found = log_probabilities(model, name, split)
    assert found.shape == (int(split.scored.sum()), 4)
    np.testing.assert_allclose(found, one_at_a_time(model, name, split), atol=1e-10)
    np.testing.assert_allclose(np.exp(found).sum(-1), 1, atol=1e-10)


@pytest.mark.parametrize("name", MASK_NAMES)
def test_answers_do_not_depend_on_how_many_examples_go_in_at_a_time(name, monkeypatch):
    model, split = model_of(), drawn()
    found = log_probabilities(model, name, split)
    for batch in (1, 3, 10, 1000):
        monkeypatch.setattr(evaluation, "BATCH", batch)
        np.testing.assert_allclose(log_probabilities(model, name, split), found, atol=1e-10)


@pytest.mark.parametrize("name", MASK_NAMES)
def test_whatever_stands_in_padding_has_no_effect(name):
    model, split = model_of(), drawn()
    padding = np.arange(LENGTH) >= split.lengths[:, None]
    assert padding.any()
    other = examples(
        np.where(padding, (split.tokens + 3) % VOCABULARY, split.tokens),
        split.targets,
        split.lengths,
        split.condition_lengths,
    )
    np.testing.assert_array_equal(log_probabilities(model, name, split), log_probabilities(model, name, other))


def test_a_model_can_be_asked_under_another_mask_than_its_own():
    model, split = model_of(), drawn()
    answers = {name: log_probabilities(model, name, split) for name in MASK_NAMES}
    for name, found in answers.items():
        np.testing.assert_array_equal(found, log_probabilities(model, name, split))
        others = [other for other in MASK_NAMES if other != name]
        assert all(not np.allclose(found, answers[other], atol=1e-3) for other in others)


def test_dropout_is_off_however_the_model_comes():
    model, split = model_of(dropout=0.5), drawn()
    model.train()
    first = log_probabilities(model, "causal", split)
    np.testing.assert_array_equal(first, log_probabilities(model_of(), "causal", split))
    assert not model.training


def test_positions_that_are_padding_everywhere_are_cut_off():
    split = examples(np.arange(12).reshape(2, 6), lengths=[4, 2], condition_lengths=[1, 0])
    tokens, masks, scored = model_input("prefix", 3, split)
    assert tokens.tolist() == [[0, 1, 2, 3], [6, 7, 8, 9]]
    assert tokens.dtype == torch.int64
    assert scored.shape == (2, 4)
    assert len(masks) == 3
    assert masks[0].shape == (2, 1, 4, 4)
    assert not masks[0][1, 0, :, 2:].any()


def test_a_batch_without_padding_and_condition_has_one_mask_for_all():
    _, masks, _ = model_input("causal", 2, drawn(padded=False, conditioned=False))
    assert [mask.shape for mask in masks] == [(LENGTH, LENGTH)] * 2
