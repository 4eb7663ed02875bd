"""No graphics processor is needed: what CUDA would do is asked of stand-ins, and is not run."""

import os
from collections.abc import Iterable

import pytest
import torch
import torch.nn.functional as F

from maskstudy import device, encoder_decoder, model
from maskstudy.errors import StudyError
from maskstudy.evaluation import build_model, model_input
from maskstudy.optimizer import Muon
from maskstudy.shape import ModelShape
from small_study import examples

CPU, CUDA, META = (torch.device(name) for name in ("cpu", "cuda", "meta"))
PADDED = examples(
    [[1, 2, 3, 4, 0, 0], [1, 2, 3, 4, 1, 1]],
    targets=[[-100, -100, 3, -100, -100, -100], [-100, -100, 3, 4, -100, -100]],
    lengths=[4, 6],
    condition_lengths=[2, 2],
)


@pytest.fixture
def there(monkeypatch):
    """Says whether there is a CUDA device."""
    return lambda answer: monkeypatch.setattr(torch.cuda, "is_available", lambda: answer)


@pytest.mark.parametrize(
    ("name", "available", "meant"),
    [("cpu", True, CPU), ("cpu", False, CPU), ("auto", True, CUDA), ("auto", False, CPU), ("cuda", True, CUDA)],
)
def test_auto_is_cuda_where_there_is_one(there, name, available, meant):
    there(available)
    assert device.chosen(name) == meant


def test_cuda_that_is_not_there_is_refused_in_one_line(there):
    there(False)
    with pytest.raises(StudyError, match=r"device: cuda, but .*no CUDA device.*`device: cpu`") as raised:
        device.chosen("cuda")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["gpu", "CUDA", "cuda:1", ""])
def test_other_devices_are_refused(name):
    with pytest.raises(StudyError, match="allowed: auto, cpu, cuda"):
        device.chosen(name)


def test_nobody_looks_for_cuda_where_the_processor_is_asked_for(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: pytest.fail("looked"))
    assert device.chosen("cpu") == CPU


@pytest.mark.filterwarnings("ignore:CUDA is not available")  # says the context, which is only looked at
def test_precision_is_reduced_on_cuda_alone():
    assert device.reduced_precision(CUDA).fast_dtype == torch.bfloat16
    assert device.reduced_precision(CUDA).device == "cuda"
    with device.reduced_precision(CPU):
        assert not torch.is_autocast_enabled("cpu")
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32


@pytest.mark.parametrize(("where", "set_to"), [(CPU, None), (CUDA, ":4096:8")])
def test_cuda_sums_in_a_fixed_order(monkeypatch, where, set_to):
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    before = torch.get_deterministic_debug_mode()
    try:
        device.ask_for_determinism(where)
        assert torch.are_deterministic_algorithms_enabled()
        assert os.environ.get("CUBLAS_WORKSPACE_CONFIG") == set_to
    finally:
        torch.set_deterministic_debug_mode(before)


def test_a_device_says_its_name(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "NVIDIA A100")
    assert (device.described(CPU), device.described(CUDA)) == ("cpu", "cuda (NVIDIA A100)")


def flat(masks) -> Iterable[torch.Tensor]:
    return masks if isinstance(masks, list) else masks._asdict().values()


@pytest.mark.parametrize("positions", ["rotary", "learned", "none"])
@pytest.mark.parametrize("mask", ["causal", "full", "prefix", "lookahead-1", "encoder-decoder"])
def test_a_step_stays_on_the_device_of_the_model(monkeypatch, mask, positions):
    """On `meta`, a device without numbers: an operation on tensors of two devices fails there as on any other."""
    for module in (model, encoder_decoder):  # which looks into its mask, where `meta` has nothing to see
        monkeypatch.setattr(
            module,
            "fused_attention",
            lambda queries, keys, values, sight, dropout: F.scaled_dot_product_attention(
                queries, keys, values, sight.mask, dropout
            ),
        )
    shape = ModelShape(5, 5, 6, width=8, layers=2, heads=2, positions=positions, dropout=0.1)
    trained = build_model(mask, shape).to(META).train()
    tokens, masks, scored = model_input(mask, shape.layers, PADDED, META)
    assert {part.device for part in (tokens, scored, *flat(masks))} == {META}
    logits = trained(tokens, masks)
    F.cross_entropy(
        logits.flatten(0, 1), torch.zeros(logits.shape[:2].numel(), dtype=torch.int64, device=META)
    ).backward()
    assert {parameter.grad.device for parameter in trained.parameters()} == {META}
    inside = [value for name, value in trained.named_parameters() if "blocks." in name and value.dim() == 2]
    Muon(inside).step(0.02, 0.01)


def test_the_same_numbers_go_in_whether_or_not_a_device_is_named():
    for mask in ("prefix", "encoder-decoder"):
        tokens, masks, scored = model_input(mask, 2, PADDED)
        again = model_input(mask, 2, PADDED, CPU)
        assert torch.equal(tokens, again[0])
        assert torch.equal(scored, again[2])
        assert all(torch.equal(one, other) for one, other in zip(flat(masks), flat(again[1]), strict=True))
