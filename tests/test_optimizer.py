import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from maskstudy.model import Transformer
from maskstudy.optimizer import Muon, MuonWithAdamW, orthogonalised
from maskstudy.shape import ModelShape

SHAPES = [(4, 4), (12, 4), (4, 4), (4, 16), (12, 4)]


def drawn(shape, seed, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def with_singular_values(values, rows, columns, seed):
    """A matrix `[rows, columns]` with these singular values and random singular vectors."""
    left, _ = torch.linalg.qr(drawn((rows, rows), seed, torch.float64))
    right, _ = torch.linalg.qr(drawn((columns, columns), seed + 1, torch.float64))
    count = len(values)
    return left[:, :count] @ torch.diag(values) @ right[:, :count].T, left[:, :count], right[:, :count]


# --- orthogonalised ---------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(
    st.tuples(st.integers(1, 12), st.integers(1, 12)),
    st.integers(0, 2**31),
    st.floats(1, 30),
    st.sampled_from([1e-3, 1.0, 1e3]),
)
def test_singular_values_come_near_one_and_the_singular_vectors_stay(size, seed, spread, scale):
    count = min(size)
    values = scale * torch.logspace(0, -1, count, base=spread, dtype=torch.float64)
    matrix, left, right = with_singular_values(values, *size, seed)
    result = orthogonalised(matrix[None])[0]
    assert result.shape == size
    found = left.T @ result @ right
    assert found.diagonal().min() > 0.68
    assert found.diagonal().max() < 1.14
    torch.testing.assert_close(left @ torch.diag(found.diagonal()) @ right.T, result, rtol=0, atol=1e-6)


def test_a_tall_matrix_is_a_wide_one_turned():
    wide = drawn((3, 4, 9), 0)
    torch.testing.assert_close(orthogonalised(wide.mT), orthogonalised(wide).mT)


def test_matrices_do_not_mix_and_their_length_does_not_matter():
    matrices = drawn((3, 4, 5), 0)
    together = orthogonalised(matrices)
    for matrix, expected in zip(matrices, together, strict=True):
        torch.testing.assert_close(orthogonalised(1000 * matrix[None])[0], expected, rtol=1e-4, atol=1e-5)


def test_a_matrix_of_zeros_stays_one():
    assert (orthogonalised(torch.zeros(2, 3, 4)) == 0).all()


# --- Muon -------------------------------------------------------------------------------------------------------------


def newton_schulz(gradient):
    """One matrix after five quintic iterations X ← aX + b(XXᵀ)X + c(XXᵀ)²X, of the matrix as it stands."""
    iterate = gradient / gradient.norm()
    for _ in range(5):
        square = iterate @ iterate.T
        iterate = 3.4445 * iterate - 4.7750 * square @ iterate + 2.0315 * square @ square @ iterate
    return iterate


def test_a_step_is_that_of_each_matrix_alone():
    parameters = [nn.Parameter(drawn(shape, seed)) for seed, shape in enumerate(SHAPES)]
    expected = [parameter.detach().double() for parameter in parameters]
    velocities = [torch.zeros_like(matrix) for matrix in expected]
    muon = Muon(parameters, momentum=0.9)
    for step in range(4):
        rate = 0.1 / (step + 1)
        for number, parameter in enumerate(parameters):
            gradient = drawn(parameter.shape, 100 * step + number, torch.float64)
            parameter.grad = gradient.float()
            velocities[number] = 0.9 * velocities[number] + 0.1 * gradient
            direction = newton_schulz(0.1 * gradient + 0.9 * velocities[number])
            rows, columns = parameter.shape
            expected[number] = (1 - rate * 0.5) * expected[number] - rate * max(1, rows / columns) ** 0.5 * direction
        muon.step(rate, weight_decay=0.5)
        for parameter, matrix in zip(parameters, expected, strict=True):
            torch.testing.assert_close(parameter.detach().double(), matrix, rtol=0, atol=1e-4)


def test_a_step_is_about_that_of_torch():
    parameters = [nn.Parameter(drawn(shape, seed)) for seed, shape in enumerate(SHAPES)]
    others = [nn.Parameter(parameter.detach().clone()) for parameter in parameters]
    muon = Muon(parameters)
    other = torch.optim.Muon(others, lr=0.1, weight_decay=0.2, momentum=0.95, nesterov=True)
    for step in range(3):
        for number, (parameter, twin) in enumerate(zip(parameters, others, strict=True)):
            parameter.grad = drawn(parameter.shape, 100 * step + number)
            twin.grad = parameter.grad.clone()
        muon.step(0.1, weight_decay=0.2)
        other.step()
    for parameter, twin, seed in zip(parameters, others, range(len(SHAPES)), strict=True):
        moved = (parameter - drawn(parameter.shape, seed)).norm()
        assert (parameter - twin).norm() < 0.03 * moved  # torch iterates in bfloat16


# --- both together ----------------------------------------------------------------------------------------------------


def small_model():
    torch.manual_seed(0)
    return Transformer(ModelShape(vocabulary=5, answers=3, length=4, width=8, layers=2, heads=2))


def fill_gradients(model, seed=0):
    for number, parameter in enumerate(model.parameters()):
        parameter.grad = drawn(parameter.shape, 100 * seed + number)


def test_muon_takes_the_matrices_of_the_blocks_and_adamw_all_else():
    model = small_model()
    optimizer = MuonWithAdamW(model, 0.1, 0.1, 0.0)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    by_muon = {names[id(parameter)] for group in optimizer.muon.by_shape.values() for parameter in group}
    by_adamw = {names[id(parameter)] for parameter in optimizer.adamw.parameters}
    matrices = ("attention.project_in", "attention.project_out", "expand", "contract")
    assert by_muon == {f"blocks.{layer}.{name}.weight" for layer in range(2) for name in matrices}
    assert by_muon | by_adamw == set(names.values())
    assert not by_muon & by_adamw
    assert {"embedding.weight", "position", "answer.weight", "blocks.0.attention_norm.weight"} <= by_adamw


def test_everything_outside_the_blocks_moves_as_adamw_moves_it():
    model, twin = small_model(), small_model()
    optimizer = MuonWithAdamW(model, learning_rate=0.5, adamw_learning_rate=0.01, weight_decay=0.1)
    outside = [name for name in dict(model.named_parameters()) if not name.startswith("blocks.") or "norm" in name]
    other = torch.optim.AdamW(
        [dict(twin.named_parameters())[name] for name in outside], betas=(0.9, 0.95), weight_decay=0.1, fused=True
    )
    for step, factor in enumerate([1.0, 0.5, 0.1]):
        fill_gradients(model, step)
        fill_gradients(twin, step)
        optimizer.step(factor)
        other.param_groups[0]["lr"] = 0.01 * factor
        other.step()
    for name in outside:
        assert torch.equal(dict(model.named_parameters())[name], dict(twin.named_parameters())[name])


def test_the_blocks_move_at_their_own_rate_times_the_factor():
    model, twin = small_model(), small_model()
    optimizer = MuonWithAdamW(model, learning_rate=0.5, adamw_learning_rate=0.01, weight_decay=0.1)
    matrices = [name for name, parameter in twin.named_parameters() if "blocks." in name and parameter.dim() == 2]
    muon = Muon([dict(twin.named_parameters())[name] for name in matrices])
    for step, factor in enumerate([1.0, 0.5]):
        fill_gradients(model, step)
        fill_gradients(twin, step)
        optimizer.step(factor)
        muon.step(0.5 * factor, 0.1)
    for name in matrices:
        assert torch.equal(dict(model.named_parameters())[name], dict(twin.named_parameters())[name])


def test_at_factor_zero_nothing_moves_and_gradients_are_cleared():
    model = small_model()
    before = [parameter.detach().clone() for parameter in model.parameters()]
    optimizer = MuonWithAdamW(model, 0.1, 0.1, 0.1)
    fill_gradients(model)
    optimizer.step(0.0)
    for parameter, old in zip(model.parameters(), before, strict=True):
        assert torch.equal(parameter, old)
        assert parameter.grad is None


def test_it_finds_the_minimum_of_a_quadratic():
    class Quadratic(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([nn.Linear(6, 4, bias=False), nn.Linear(4, 6, bias=False)])
            self.offset = nn.Parameter(torch.zeros(5))

        def loss(self):
            squares = [(layer.weight - 0.3).square().sum() for layer in self.blocks]
            return sum(squares) + (self.offset - 1).square().sum()

    torch.manual_seed(0)
    model = Quadratic()
    optimizer = MuonWithAdamW(model, learning_rate=0.1, adamw_learning_rate=0.1, weight_decay=0.0)
    first = model.loss().item()
    for step in range(200):
        model.loss().backward()
        optimizer.step(1 - step / 200)
    assert model.loss().item() < 1e-3 * first


@pytest.mark.parametrize("name", ["muon", "adamw"])
def test_weight_decay_pulls_towards_zero_in_proportion_to_the_rate(name):
    model = small_model()
    parameter = model.blocks[0].expand.weight if name == "muon" else model.embedding.weight
    before = parameter.detach().clone()
    for each in model.parameters():
        each.grad = torch.zeros_like(each)
    MuonWithAdamW(model, learning_rate=0.2, adamw_learning_rate=0.4, weight_decay=0.5).step(0.5)
    rate = {"muon": 0.2, "adamw": 0.4}[name]
    torch.testing.assert_close(parameter.detach(), before * (1 - rate * 0.5 * 0.5))
