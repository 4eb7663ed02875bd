import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from maskstudy.encoder_decoder import EncoderDecoder
from maskstudy.errors import StudyError
from maskstudy.masks import encoder_decoder_masks, layer_masks
from maskstudy.model import Transformer
from maskstudy.shape import POSITIONS, ModelShape, build_shape, encoder_decoder_flops, encoder_layers, forward_flops
from maskstudy.tasks.hmm_tagging import HmmTagging


def shape(**changes):
    return ModelShape(**({"vocabulary": 5, "answers": 4, "length": 8} | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 65, "heads": 4}, "width 65 is not a multiple of heads 4"),
        ({"width": 12, "heads": 4, "positions": "rotary"}, "rotary positions need an even head width, not 3"),
        ({"positions": "absolute"}, "positions 'absolute' is not known; allowed: learned, rotary, none"),
        ({"dropout": 1.0}, "dropout 1.0 is out of range; allowed: 0 up to, not including, 1"),
        ({"dropout": -0.1}, "dropout -0.1 is out of range"),
        ({"dropout": float("nan")}, "dropout nan is out of range"),
        *(
            ({name: 0}, f"{name} 0 is out of range; allowed: 1 or more")
            for name in ("vocabulary", "answers", "length", "width", "layers", "heads")
        ),
    ],
)
def test_a_shape_that_cannot_be_built_is_one_line(changes, message):
    with pytest.raises(StudyError, match=message) as raised:
        shape(**changes)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("positions", POSITIONS)
def test_the_smallest_of_everything_is_allowed(positions):
    smallest = shape(vocabulary=1, answers=1, length=1, width=2, layers=1, heads=1, positions=positions, dropout=0.0)
    assert Transformer(smallest)(torch.zeros(1, 1, dtype=torch.int64), layer_masks("full", 1, 1)).shape == (1, 1, 1)


def test_the_shape_for_a_task_takes_what_goes_in_and_out_from_the_task():
    task = HmmTagging(states=3, symbols=7, length=9)
    assert build_shape(task, {"width": 16, "heads": 2}) == ModelShape(
        vocabulary=7, answers=3, length=9, width=16, heads=2
    )


@settings(deadline=None, max_examples=20)
@given(
    st.integers(1, 3),
    st.integers(1, 7),
    st.integers(1, 3),
    st.sampled_from([(4, 1), (8, 2), (12, 3)]),
    st.integers(0, 9),
)
def test_flops_are_those_that_torch_counts(batch, length, layers, width_and_heads, seed):
    width, heads = width_and_heads
    model = Transformer(shape(layers=layers, width=width, heads=heads))
    scored = torch.rand(batch, length, generator=torch.Generator().manual_seed(seed)) < 0.5
    scored[0, 0] = True
    tokens = torch.zeros(batch, length, dtype=torch.int64)
    counter = FlopCounterMode(display=False)
    with counter, sdpa_kernel(SDPBackend.MATH):  # the fused CPU kernel is no product that torch would count
        logits = model(tokens, layer_masks("causal", layers, length), scored)
        forward = counter.get_total_flops()
        logits.sum().backward()
    assert forward_flops(model.shape, batch * length, length, int(scored.sum())) == forward
    assert counter.get_total_flops() == 3 * forward  # what training counts for a step


def test_flops_by_hand():
    # 1 layer of width 4: 12 matrices of 4 × 4 a token, its 2 keys compared and mixed, 3 answers at 5 positions.
    by_hand = 10 * (12 * 2 * 4 * 4 + 2 * 2 * 4 + 2 * 2 * 4) + 5 * 2 * 4 * 3
    assert forward_flops(shape(answers=3, width=4, layers=1, heads=1), tokens=10, length=2, scored=5) == by_hand


@settings(deadline=None, max_examples=20)
@given(
    st.integers(1, 3),
    st.integers(1, 4),
    st.integers(1, 4),
    st.integers(2, 5),
    st.sampled_from([(4, 1), (8, 2), (12, 3)]),
)
def test_flops_of_an_encoder_decoder_are_those_that_torch_counts(batch, source, target, layers, width_and_heads):
    width, heads = width_and_heads
    model = EncoderDecoder(shape(layers=layers, width=width, heads=heads))
    keys = (torch.ones(batch, length, dtype=torch.bool) for length in (source, target))
    masks = encoder_decoder_masks(*keys)
    tokens = torch.zeros(batch, source + target, dtype=torch.int64)
    scored = torch.arange(source + target).expand(batch, -1) >= source
    counter = FlopCounterMode(display=False)
    with counter, sdpa_kernel(SDPBackend.MATH):
        logits = model(tokens, masks, scored)
        forward = counter.get_total_flops()
        logits.sum().backward()
    assert encoder_decoder_flops(model.shape, batch, source, target, batch * target) == forward
    assert model.flops(tokens, masks, batch * target) == forward
    assert counter.get_total_flops() == 3 * forward


@pytest.mark.parametrize(("layers", "encoder"), [(2, 1), (3, 2), (4, 2), (5, 3)])
def test_the_encoder_has_half_of_the_layers_and_the_odd_one(layers, encoder):
    assert encoder_layers(layers) == encoder


def test_the_config_is_checked_without_torch():
    code = "import maskstudy.shape, maskstudy.training_settings, sys; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
