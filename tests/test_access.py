import doctest
import json
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from maskstudy import access as module
from maskstudy import probing
from maskstudy.access import GRADIENT, PERTURBATION, WAYS, OrderedRows, measure_access, typical_size
from maskstudy.errors import StudyError
from maskstudy.masks import access, layer_masks, named
from maskstudy.model import Transformer
from maskstudy.patterns import pattern
from maskstudy.shape import POSITIONS, ModelShape
from own_models import LENGTH, VOCABULARY, WIDTH, Mixing, VectorMixing
from small_study import MASK_NAMES, random_masks, random_model

NAMES = [
    *("full", "causal", "strictly-causal", "anticausal", "diagonal", "lookahead-2", "prefix-3"),
    *("window-2-1", "block-3", "causal-block-4"),
]
quick = settings(deadline=None, max_examples=25)


def matrix(name, length=LENGTH):
    return torch.from_numpy(pattern(name, length)).float()


def random_matrix(length, seed, share):
    return torch.from_numpy(np.random.default_rng(seed).random((length, length)) < share)


# --- what is measured is what is there --------------------------------------------------------------------------------


def test_the_worked_example():
    result = doctest.testmod(module)
    assert result.attempted
    assert not result.failed


@st.composite
def masked_models(draw):
    """A shape and the seed of its weights, a mask with padding for each layer, the positions, and modes to measure."""
    layers, length = draw(st.sampled_from([1, 2, 3, 4])), draw(st.sampled_from([1, 2, 3, 4, 5, 6]))
    seed = draw(st.integers(0, 2**31))
    shape = ModelShape(
        vocabulary=9,
        answers=4,
        length=6,
        width=draw(st.sampled_from([4, 8, 12])),
        layers=layers,
        heads=draw(st.sampled_from([1, 2])),
        positions=draw(st.sampled_from(POSITIONS)),
        dropout=draw(st.sampled_from([0.0, 0.0, 0.0, 0.2])),
    )
    real = torch.tensor([draw(st.integers(0, length))])
    if draw(st.booleans()):
        masks = random_masks(layers, length, seed, draw(st.sampled_from([0.1, 0.3, 0.6])))
        masks = [mask & (torch.arange(length) < real) for mask in masks]
    else:
        name = draw(st.sampled_from(MASK_NAMES))
        condition = torch.tensor([draw(st.integers(0, length)) if name == "prefix" else 0])
        masks = layer_masks(name, layers, length, lengths=real, condition_lengths=condition)
    # Dropout may hide a pair in training, so that evaluation is needed beside it.
    modes = ("evaluation", "training") if shape.dropout else (draw(st.sampled_from(["evaluation", "training"])),)
    return shape, seed, masks, length, modes


def test_measured_access_is_structural_access_in_a_thousand_random_cases():
    """Random masks of the study and random matrices, lengths, layers, widths and padding: no exception."""
    passed = set()

    @settings(deadline=None, max_examples=1150, database=None)  # some are drawn twice
    @given(masked_models())
    def agree(case):
        shape, seed, masks, length, modes = case
        same = (shape, seed, modes, *(mask.numpy().tobytes() for mask in masks))
        if same in passed:
            return
        measured = measure_access(
            random_model(shape, seed),
            call=lambda model, tokens: model(tokens, masks),
            length=length,
            vocabulary=shape.vocabulary,
            modes=modes,
            draws=1,
            thorough=True,
        )
        structural = access(masks).reshape(length, length).numpy()
        np.testing.assert_array_equal(measured.matrix, structural)
        assert {m.name for m in measured.measurements} == {f"{way} in {mode}" for way in WAYS for mode in modes}
        for measurement in measured.measurements:
            assert (measurement.effects[~structural] == 0).all()
            if measurement.mode == "evaluation" or not shape.dropout:
                np.testing.assert_array_equal(measurement.effects > measured.tolerance, structural)
        passed.add(same)

    agree()
    assert len(passed) >= 1000


@pytest.mark.parametrize("thorough", [True, False])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", [Mixing, VectorMixing])
def test_every_pattern_is_found_by_name(kind, name, thorough):
    torch.manual_seed(0)
    measured = measure_access(kind(matrix(name)), length=LENGTH, thorough=thorough)
    assert measured.verdict.name == name
    assert measured.differences == ()
    assert measured.offence(name) is None


@quick
@given(st.integers(1, 9), st.integers(0, 2**31), st.sampled_from([0.1, 0.5, 0.9]), st.booleans(), st.booleans())
def test_any_matrix_is_found_in_every_measurement(length, seed, share, thorough, tokens):
    allowed = random_matrix(length, seed, share)
    torch.manual_seed(seed)
    model = (Mixing if tokens else VectorMixing)(allowed.float())
    measured = measure_access(model, length=length, thorough=thorough, draws=2)
    np.testing.assert_array_equal(measured.matrix, allowed.numpy())
    for measurement in measured.measurements:
        looked = ~np.isnan(measurement.effects)
        np.testing.assert_array_equal((measurement.effects > 0)[looked], allowed.numpy()[looked])
        assert looked.all() or not thorough
        # Without looking everywhere, what is not seen is settled all the same, in every measurement.
        assert looked[~allowed.numpy()].all()
    assert {(m.way, m.mode) for m in measured.measurements} >= {
        (PERTURBATION, "evaluation"),
        (GRADIENT, "evaluation"),
        (GRADIENT, "training"),
    }


@pytest.mark.parametrize("thorough", [True, False])
def test_a_single_pair_that_is_seen_in_training_alone_is_found(thorough):
    leak = matrix("causal")
    leak[2, 6] = 1
    torch.manual_seed(0)
    measured = measure_access(Mixing(matrix("causal"), in_training=leak), length=LENGTH, thorough=thorough)
    offence = measured.offence("causal")
    assert (offence.query, offence.key, offence.seen, offence.pairs) == (2, 6, True, 1)
    assert "in training" in offence.by
    (difference,) = measured.differences
    assert difference.pairs == ((2, 6),)
    assert all("training" in name for name in difference.seen)
    assert all("evaluation" in name for name in difference.unseen)
    assert str(difference) in measured.remarks()


def test_two_layers_of_lookahead_one_are_lookahead_two():
    masks = [layer_masks("lookahead-1", 1, LENGTH)[0]] * 2
    model = random_model(ModelShape(VOCABULARY, 4, LENGTH, 8, 2, 2))
    measured = measure_access(model, call=lambda m, tokens: m(tokens, masks), length=LENGTH)
    assert measured.verdict.name == "lookahead-2"
    assert named("lookahead-1").first is not named("lookahead-1").later


def test_a_mask_that_is_lost_under_dropout_is_found():
    """The kind of pytorch#99282: another path in training, without the mask."""

    class Lost(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.MultiheadAttention(WIDTH, 1, dropout=0.1, batch_first=True)

        def forward(self, vectors):
            forbidden = torch.ones(vectors.shape[1], vectors.shape[1]).triu(1).bool()
            return self.layer(vectors, vectors, vectors, attn_mask=None if self.training else forbidden)

    torch.manual_seed(0)
    measured = measure_access(Lost(), width=WIDTH, length=5)
    assert measured.by(PERTURBATION, "evaluation").tolist() == pattern("causal", 5).tolist()
    assert measured.by(GRADIENT, "training").all()
    assert measured.verdict.name == "full"


def test_dropout_is_the_same_on_both_sides_of_a_comparison():
    torch.manual_seed(0)
    measured = measure_access(Mixing(matrix("diagonal"), dropout=0.5), length=LENGTH, draws=8)
    assert measured.verdict.name == "diagonal"
    for measurement in measured.measurements:
        assert (measurement.effects[~np.eye(LENGTH, dtype=bool)] == 0).all()


def test_a_coincidence_of_zeros_is_not_taken_for_a_mask():
    def gated(tokens):
        """Query 1 sees key 0 only while an odd token stands at 2, which it sees itself."""
        opened = torch.tensor([[0], [1], [0]]) * (tokens[:, 2:] % 2 * tokens[:, :1])[..., None]
        return torch.cat([tokens[..., None] + opened, opened], -1).double()

    def seen(draws):
        return {bool(measure_access(gated, length=3, vocabulary=9, draws=draws, seed=n).matrix[1, 0]) for n in range(8)}

    assert seen(draws=1) == {True, False}
    assert seen(draws=12) == {True}


# --- models of every kind ---------------------------------------------------------------------------------------------


def test_functions_have_one_mode_and_any_matrix():
    table = torch.randn(VOCABULARY, 3, generator=torch.Generator().manual_seed(0))
    measured = measure_access(lambda tokens: table[tokens].cumsum(1), length=5)
    assert measured.verdict.name == "causal"
    assert [m.name for m in measured.measurements] == ["perturbation as given", "gradient as given"]
    assert measured.inputs == "tokens out of 11"


def test_without_a_gradient_perturbation_measures_alone_and_says_so():
    measured = measure_access(lambda tokens: np.cumsum(np.asarray(tokens), 1) * 0.1, length=5, vocabulary=7)
    assert measured.verdict.name == "causal"
    assert {m.way for m in measured.measurements} == {PERTURBATION}
    assert any("no gradient: no place was found where tokens become numbers" in note for note in measured.notes)
    measured = measure_access(lambda vectors: np.asarray(vectors).sum(-1), length=5, width=2)
    assert any("no gradient: the model fails" in note and "requires grad" in note for note in measured.notes)
    measured = measure_access(lambda vectors: vectors.detach() * 2, length=5, width=2)
    assert measured.verdict.name == "diagonal"
    assert any("torch knows no derivative" in note for note in measured.notes)
    with pytest.raises(StudyError, match="nothing can be measured by gradient: no gradient: torch knows no derivative"):
        measure_access(lambda vectors: vectors.detach() * 2, length=5, width=2, ways=[GRADIENT])


def test_an_influence_without_a_gradient_is_a_difference():
    measured = measure_access(lambda vectors: vectors + (vectors.cumsum(1) > 0).double(), length=3, width=2, draws=20)
    assert measured.verdict.name == "causal"
    assert measured.by(GRADIENT).tolist() == np.eye(3, dtype=bool).tolist()
    (difference,) = measured.differences
    assert difference.seen == ("perturbation as given",)
    assert difference.unseen == ("gradient as given",)
    assert difference.pairs == ((1, 0), (2, 0), (2, 1))
    words = "3 pairs are seen by perturbation as given but not by gradient as given; first: query 1, key 0 (effect "
    assert str(difference).startswith(words)


def test_statistics_over_the_batch_are_not_taken_for_sight():
    class Centred(nn.Module):
        def forward(self, vectors):
            return vectors - vectors.mean(0, keepdim=True) * 0.5

    measured = measure_access(Centred(), length=4, width=3)
    assert measured.verdict.name == "diagonal"
    assert any("the examples of a batch influence each other" in note for note in measured.notes)


def test_positions_first_is_pointed_out():
    torch.manual_seed(0)
    measured = measure_access(nn.TransformerEncoderLayer(8, 2, 16), length=4)
    assert any("batch_first=False" in note for note in measured.notes)


def test_answers_may_hold_infinity_where_it_stays():
    def model(vectors):
        answers = vectors.cumsum(1)
        return torch.cat([answers, torch.full_like(answers, -math.inf)], -1)

    assert measure_access(model, length=4, width=2).verdict.name == "causal"


def test_infinity_that_moves_is_an_effect():
    def model(vectors):
        return torch.where(vectors[:, :1] > 0, math.inf, 0.0).expand_as(vectors) + torch.arange(4.0)[:, None]

    measured = measure_access(model, length=4, width=1, draws=8, ways=[PERTURBATION])
    assert measured.matrix.tolist() == [[True, False, False, False]] * 4
    assert json.loads(json.dumps(measured.as_dict(), allow_nan=False))["matrix"][0] == [1, 0, 0, 0]


@pytest.mark.parametrize("precision", [None, torch.float32])
def test_single_precision_can_be_kept(precision):
    torch.manual_seed(0)
    measured = measure_access(Mixing(matrix("window-2-1")), length=LENGTH, precision=precision, thorough=False)
    assert measured.verdict.name == "window-2-1"
    assert measured.offence("window-2-1") is None


# --- weights that hide ------------------------------------------------------------------------------------------------


def zero_model():
    torch.manual_seed(0)
    return Transformer(ModelShape(VOCABULARY, 4, LENGTH, 8, 2, 2))


def test_where_nothing_influences_anything_the_weights_are_pointed_at():
    masks = layer_masks("causal", 2, LENGTH)
    measured = measure_access(zero_model(), call=lambda m, tokens: m(tokens, masks), length=LENGTH)
    assert str(measured.verdict) == "none: nothing influences anything, not even itself"
    assert any("blocks.0.attention.project_out.weight" in note and "are 0" in note for note in measured.notes)
    assert any("says nothing about a mask; redraw the weights" in note for note in measured.notes)


@pytest.mark.parametrize("name", MASK_NAMES)
def test_redrawn_weights_show_what_zeros_hide(name):
    masks = layer_masks(name, 2, LENGTH, condition_lengths=torch.tensor([3]))
    model = zero_model()
    measured = measure_access(model, call=lambda m, tokens: m(tokens, masks), length=LENGTH, redraw_weights=True)
    np.testing.assert_array_equal(measured.matrix, access(masks).reshape(LENGTH, LENGTH).numpy())
    assert measured.notes == ()
    assert (model.answer.weight == 0).all()


# --- faint effects ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("thorough", [True, False])
def test_rounding_is_no_sight_but_is_mentioned(thorough):
    def nearly_causal(vectors):
        return vectors.cumsum(1) + 1e-17 * vectors.sum(1, keepdim=True)

    measured = measure_access(nearly_causal, length=6, width=3, thorough=thorough)
    assert measured.verdict.name == "causal"
    assert any("not exactly 0" in remark and "rounding" in remark for remark in measured.remarks())
    assert measured.differences == ()
    strict = measure_access(nearly_causal, length=6, width=3, thorough=thorough, tolerance=0)
    assert strict.verdict.name == "full"


def test_a_weak_effect_is_sight():
    measured = measure_access(lambda vectors: vectors + 1e-9 * vectors.sum(1, keepdim=True), length=6, width=3)
    assert measured.verdict.name == "full"
    off = ~np.eye(6, dtype=bool)
    for measurement in measured.measurements:
        assert 1e-11 < measurement.effects[off].min() <= measurement.effects[off].max() < 1e-8


def test_the_unit_of_an_effect_is_the_typical_answer():
    small, large = (
        measure_access(lambda vectors, scale=scale: scale * vectors.cumsum(1), length=6, width=3)
        for scale in (1e-6, 1e6)
    )
    np.testing.assert_allclose(small.effects, large.effects, rtol=1e-9)
    assert 0.1 < np.median(small.effects[small.matrix]) < 10
    assert typical_size(torch.tensor([[3.0, 4.0, math.inf]])) == pytest.approx(math.sqrt(12.5))
    assert typical_size(torch.zeros(2)) == 1


# --- sums of answers with weights of many magnitudes ------------------------------------------------------------------


@quick
@given(st.integers(1, 60), st.integers(0, 2**31), st.sampled_from([0.05, 0.5, 0.95]), st.sampled_from([0, 30, 230]))
def test_ordered_sums_settle_every_pair_that_is_not_seen(length, seed, share, power):
    generator = np.random.default_rng(seed)
    seen = generator.random((length, length)) < share
    if seed % 2:
        seen |= pattern("causal", length)
    effects = np.where(seen, 10.0 ** generator.uniform(-12, 3, seen.shape), 0.0)  # of a model that there might be
    order = OrderedRows.settling(seen, power)
    found = order.effects(order.weights.numpy() @ effects)
    looked = ~np.isnan(found)
    assert looked[~seen].all()
    np.testing.assert_allclose(found[looked], effects[looked], rtol=1e-4)
    assert looked[:, seen.any(0)].any(0).all()


@quick
@given(st.integers(2, 40), st.integers(0, 2**31), st.sampled_from([30, 230]))
def test_ordered_sums_find_a_pair_that_is_seen_against_what_was_thought(length, seed, power):
    generator = np.random.default_rng(seed)
    seen = pattern("causal", length)
    query = int(generator.integers(0, length - 1))
    key = int(generator.integers(query + 1, length))
    effects = np.where(seen, 10.0 ** generator.uniform(-6, 3, seen.shape), 0.0)
    effects[query, key] = 10.0 ** generator.uniform(-12, 3)
    order = OrderedRows.settling(seen, power)
    found = order.effects(order.weights.numpy() @ effects)
    assert found[query, key] == pytest.approx(effects[query, key], rel=1e-4)


def test_under_a_causal_mask_a_handful_of_sums_is_enough():
    assert len(OrderedRows.settling(pattern("causal", 128), 230).orders) == 6
    assert len(OrderedRows.settling(pattern("window-3-3", 128), 230).orders) == 12
    assert len(OrderedRows.every(128).orders) == 128


def test_single_precision_inside_leaves_less_room_and_the_same_access():
    class Inside(nn.Module):
        def forward(self, vectors):
            return vectors.float().cumsum(1).double() + vectors

    def looked(measured):
        return [int((~np.isnan(each.effects)).sum()) for each in measured.measurements if each.way == GRADIENT]

    options = {"length": 30, "width": 2, "thorough": False}
    double, single = (
        measure_access(VectorMixing(torch.ones(30, 30).tril()), **options | {"width": WIDTH}),
        measure_access(Inside(), **options),
    )
    for measured in (double, single):
        assert measured.verdict.name == "causal"
        assert measured.differences == ()
    assert looked(single)[0] > looked(double)[0]  # fewer queries share a gradient, so more pairs are looked at


# --- what a reader is told --------------------------------------------------------------------------------------------


def test_the_first_offence_is_a_pair_that_must_not_be_seen():
    allowed = matrix("causal")
    allowed[4, 1], allowed[5, 7] = 0, 1
    torch.manual_seed(0)
    measured = measure_access(Mixing(allowed), length=LENGTH)
    offence = measured.offence("causal")
    assert (offence.query, offence.key, offence.seen, offence.pairs) == (5, 7, True, 2)
    assert offence.effect == measured.effects[5, 7] > 0.01
    assert str(offence).startswith("query 5 sees key 7, which it must not: the answer at 5 moves by ")
    assert str(offence).endswith("; 2 pairs differ")
    missing = measured.offence(pattern("full", LENGTH))
    assert not missing.seen
    assert str(missing).startswith("query 0 does not see key 1, which it must (largest effect 0)")


def test_json_says_everything_in_plain_values():
    torch.manual_seed(0)
    measured = measure_access(Mixing(matrix("causal")), length=LENGTH, thorough=False)
    said = json.loads(json.dumps(measured.as_dict(), allow_nan=False))
    assert said["verdict"] == "causal"
    assert said["matrix"] == pattern("causal", LENGTH).astype(int).tolist()
    for measurement, told in zip(measured.measurements, said["measurements"], strict=True):
        assert (told["way"], told["mode"]) == (measurement.way, measurement.mode)
        effects = np.array(told["effects"], dtype=float)
        np.testing.assert_array_equal(effects, measurement.effects)
    assert said["measurements"][1]["effects"][LENGTH - 1][0] is None
    assert measured.remarks() == said["remarks"]
    assert any("every pair was measured by perturbation in one mode" in note for note in said["remarks"])


def test_the_same_seed_gives_the_same_numbers():
    torch.manual_seed(0)
    model = Mixing(matrix("causal"), dropout=0.3)
    first, again, other = (measure_access(model, length=LENGTH, seed=seed).effects for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@quick
@given(st.integers(1, 9), st.integers(0, 2**31), st.sampled_from([0.1, 0.5, 0.9]), st.booleans())
def test_random_directions_of_many_answers_see_what_all_of_them_do(length, seed, share, tied):
    allowed = random_matrix(length, seed, share)
    torch.manual_seed(seed)
    model = Mixing(allowed.float(), dropout=0.2)
    model.answer = nn.Linear(WIDTH, VOCABULARY)
    if tied:
        model.answer.weight = model.embedding.weight
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probing, "_MOST_ANSWERS", 3)  # fewer than the width, so that directions could hide something
        directions, all_answers = (measure_access(model, length=length, thorough=how) for how in (False, True))
    (note,) = (note for note in directions.notes if "random directions of the many numbers that answer gives" in note)
    assert note not in all_answers.notes
    np.testing.assert_array_equal(directions.matrix, all_answers.matrix)
    np.testing.assert_array_equal(directions.matrix, allowed.numpy())
    for measurement in directions.measurements:
        assert (measurement.effects[~allowed.numpy()] == 0).all()
    seen = directions.effects[allowed.numpy()]
    assert seen.size == 0 or 1e-4 < seen.min() <= seen.max() < 100  # in units of the typical answer, as ever


@pytest.mark.parametrize("ways", [[PERTURBATION], [GRADIENT]])
def test_one_way_alone_looks_at_random_directions_too(monkeypatch, ways):
    monkeypatch.setattr(probing, "_MOST_ANSWERS", 2)
    measured = measure_access(Mixing(matrix("causal")), length=LENGTH, ways=ways, thorough=False)
    assert measured.verdict.name == "causal"
    assert any("random directions" in note for note in measured.notes)


def test_a_large_model_is_measured_sparingly_by_itself(monkeypatch):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(50, 64), nn.Linear(64, 64))
    one_pass = 2 * 64 * 64 * LENGTH
    everything = one_pass * LENGTH * 3 * 2 * 2  # a pass for each position; draws, ways, modes
    monkeypatch.setattr(module, "_CHEAP", everything)
    assert len(measure_access(model, length=LENGTH).notes) == 0
    monkeypatch.setattr(module, "_CHEAP", everything - 1)
    assert len(measure_access(model, length=LENGTH).notes) == 1


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"length": 0}, "length 0; at least one position is needed"),
        ({"draws": 0}, "draws 0; at least one"),
        ({"tolerance": -1.0}, r"tolerance -1.0; give a part of the typical answer"),
        ({"tolerance": math.nan}, "tolerance nan"),
        ({"ways": []}, r"ways \[\]; give a list of one or more of perturbation, gradient"),
        ({"ways": "gradient"}, "ways 'gradient'; give a list"),
        ({"ways": ["gradients"]}, r"ways \['gradients'\]"),
        ({"modes": ["test"]}, r"modes \['test'\]; give a list of one or more of evaluation, training"),
    ],
)
def test_arguments_out_of_range_are_refused(options, message):
    with pytest.raises(StudyError, match=message):
        measure_access(Mixing(matrix("causal")), **{"length": LENGTH, **options})


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda tokens: tokens, "the answers are whole numbers"),
        (lambda tokens: tokens.double().mean(1), r"answers of shape \(2,\) to inputs of shape \(2, 4\)"),
        (lambda tokens: tokens.double() * math.nan, "NaN in the answer at position 0"),
        (lambda tokens: torch.where(torch.arange(4) == 2, math.nan, tokens.double()), "NaN in the .* at position 2"),
        (lambda tokens: tokens.missing, "AttributeError"),
        (lambda _: None, "the model returns NoneType"),
    ],
)
def test_bad_models_are_one_clear_line(model, message):
    with pytest.raises(StudyError, match=message) as caught:
        measure_access(model, length=4, vocabulary=5)
    assert "\n" not in str(caught.value)


def test_nan_that_comes_with_a_change_is_refused():
    def model(vectors):
        return torch.where(vectors > 2.5, math.nan, vectors)

    with pytest.raises(StudyError, match="NaN in the answer at position"):
        measure_access(model, length=12, width=20, draws=20, ways=[PERTURBATION])


def test_a_nan_gradient_is_refused_with_its_pair():
    class Root(nn.Module):
        def forward(self, vectors):
            return vectors + (vectors - vectors).cumsum(1).abs().sqrt()

    with pytest.raises(StudyError, match="the gradient of the answer at position 0 with respect to position 0 is NaN"):
        measure_access(Root(), length=3, width=2)
    assert measure_access(Root(), length=3, width=2, ways=[PERTURBATION]).verdict.name == "diagonal"


def test_a_model_that_is_not_the_same_twice_is_refused():
    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.passes = 0

        def forward(self, vectors):
            self.passes += 1
            return vectors + self.passes

    with pytest.raises(StudyError, match="two passes over the same input differ in evaluation mode"):
        measure_access(Counts(), length=3, width=2)
