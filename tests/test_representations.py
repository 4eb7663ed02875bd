import numpy as np
import pytest

from maskstudy import representations
from maskstudy.audit import random_model
from maskstudy.errors import StudyError
from maskstudy.evaluation import build_model
from maskstudy.representations import chosen, effective_rank, measures, probes, similarity, streams
from maskstudy.shape import ModelShape
from small_study import examples

GENERATOR = np.random.default_rng(0)
SYMBOLS, LENGTH = 5, 8
TOKENS = GENERATOR.integers(0, SYMBOLS, (160, LENGTH))
SPLIT = examples(TOKENS)
PLACES = np.broadcast_to(np.arange(LENGTH), TOKENS.shape)


def one_hot(values, count):
    return np.eye(count, dtype=np.float32)[values]


def noise(width=6):
    return GENERATOR.normal(size=(TOKENS.size, width)).astype(np.float32)


@pytest.fixture(scope="module")
def unordered():
    """A model with random weights that is told no positions."""
    return random_model(ModelShape(SYMBOLS, SYMBOLS, LENGTH, width=32, layers=2, heads=4, positions="none")).float()


# --- probes -----------------------------------------------------------------------------------------------------------


def test_what_stands_in_the_stream_is_read_and_what_does_not_is_not():
    found = probes(np.c_[noise(), PLACES.reshape(-1, 1)].astype(np.float32), SPLIT)
    assert found["position"][0] > 0.999
    for name in ("left", "right"):
        score, chance = found[name]
        assert score == pytest.approx(chance, abs=0.08)
        assert chance == pytest.approx(1 / SYMBOLS, abs=0.05)
    assert probes(noise(), SPLIT)["position"][0] == pytest.approx(0, abs=0.05)


@pytest.mark.parametrize(("name", "step"), [("left", -1), ("right", 1)])
def test_a_neighbour_is_read_where_there_is_one_and_not_across_the_edge(name, step):
    neighbours = np.roll(TOKENS, -step, axis=1)
    edge = 0 if name == "left" else LENGTH - 1
    neighbours[:, edge] = (neighbours[:, edge] + 1) % SYMBOLS  # what stands there is not to be asked for
    found = probes(one_hot(neighbours.ravel(), SYMBOLS), SPLIT)
    assert found[name][0] == 1
    other = "right" if name == "left" else "left"
    assert found[other][0] < 0.4


def test_probes_are_scored_on_other_examples_than_they_are_fitted_on():
    wide = noise(width=TOKENS.size // 4)  # a probe that may be scored on what it was fitted on reads anything off this
    assert probes(wide, SPLIT)["position"][0] < 0.1
    assert probes(wide, SPLIT)["left"][0] < 0.4


def test_chance_is_to_name_the_commonest_of_the_first_half_in_the_second():
    tokens = np.array([[1, 2, 2, 2], [2, 2, 1, 2], [1, 1, 2, 1], [1, 1, 1, 1]])
    layer = np.zeros((16, 2), dtype=np.float32)
    found = probes(layer, examples(tokens))
    assert found["left"] == (1 / 6, 1 / 6)  # 2 is the commonest left of the first two, once left of the others
    assert found["position"][1] == 0


def test_only_the_commonest_neighbours_are_told_apart(monkeypatch):
    monkeypatch.setattr(representations, "NEIGHBOURS", 2)
    tokens = np.array([[1, 2, 1, 2, 3, 0], [2, 1, 2, 1, 0, 0]] * 20)
    right = np.roll(tokens, -1, axis=1)
    score, chance = probes(one_hot(right.ravel(), 4), examples(tokens))["right"]
    assert score == 1
    assert chance == pytest.approx(0.5, abs=0.1)  # of two, though four occur


def test_padding_is_no_position_and_no_neighbour():
    lengths = np.array([LENGTH, 3] * 80)
    real = np.arange(LENGTH) < lengths[:, None]
    split = examples(np.where(real, TOKENS, SYMBOLS), lengths=lengths)
    right = np.roll(split.tokens, -1, axis=1)
    assert probes(one_hot(right[real], SYMBOLS + 1), split)["right"][0] == 1
    assert probes(PLACES[real].astype(np.float32)[:, None], split)["position"][0] > 0.999


def test_where_there_is_nothing_to_tell_there_is_no_probe():
    single = examples(TOKENS[:, :1])
    assert probes(noise()[: len(single)], single) == {}
    same = examples(np.ones((4, 3)))
    assert set(probes(noise()[:12], same)) == {"position"}


# --- streams ----------------------------------------------------------------------------------------------------------


def test_the_causal_mask_alone_tells_positions_and_the_full_mask_none(unordered):
    found = {
        mask: [probes(layer, SPLIT)["position"][0] for layer in streams(unordered, mask, SPLIT)]
        for mask in ("causal", "full")
    }
    assert found["causal"][0] == pytest.approx(0, abs=0.02)  # the embedding knows the token alone
    assert min(found["causal"][1:]) > 0.2
    assert max(found["full"]) < 0.02


def test_a_causal_stream_holds_nothing_of_the_token_to_the_right(unordered):
    for layer in streams(unordered, "causal", SPLIT):
        score, chance = probes(layer, SPLIT)["right"]
        assert score == pytest.approx(chance, abs=0.08)


def test_streams_are_those_of_the_model_at_real_positions_only(unordered):
    lengths = np.array([LENGTH, 5, 3])
    padded = examples(TOKENS[:3], lengths=lengths)
    changed = examples(np.where(np.arange(LENGTH) < lengths[:, None], TOKENS[:3], 0), lengths=lengths)
    found = streams(unordered, "full", padded)
    assert [layer.shape for layer in found] == [(16, 32)] * 3
    for one, other in zip(found, streams(unordered, "full", changed), strict=True):
        np.testing.assert_array_equal(one, other)
    alone = streams(unordered, "full", examples(TOKENS[1:2, :5]))
    for layer, by_itself in zip(found, alone, strict=True):
        np.testing.assert_allclose(layer[LENGTH : LENGTH + 5], by_itself, atol=1e-5)


def test_dropout_is_off():
    shape = ModelShape(SYMBOLS, SYMBOLS, LENGTH, width=8, layers=1, heads=2, dropout=0.5)
    model = random_model(shape).float().train()
    first, second = streams(model, "full", SPLIT), streams(model, "full", SPLIT)
    assert all((one == other).all() for one, other in zip(first, second, strict=True))


# --- similarity and rank ----------------------------------------------------------------------------------------------


def by_gram(one, other):
    """CKA by its definition: centred Gram matrices of all pairs of positions (Kornblith et al. 2019, eq. 3 and 4)."""
    centre = np.eye(len(one)) - 1 / len(one)
    k, m = (centre @ (x @ x.T) @ centre for x in (one.astype(float), other.astype(float)))
    return np.trace(k @ m) / np.sqrt(np.trace(k @ k) * np.trace(m @ m))


def test_similarity_is_that_of_the_gram_matrices():
    one = noise(4)[:50]
    other = (one @ GENERATOR.normal(size=(4, 7)) + noise(7)[:50] + 3).astype(np.float32)
    assert similarity(one, other) == pytest.approx(by_gram(one, other))
    assert 0.05 < similarity(one, other) < 0.95


def test_similarity_knows_neither_rotation_nor_scale_nor_shift():
    one = noise()
    rotation = np.linalg.qr(GENERATOR.normal(size=(6, 6)))[0].astype(np.float32)
    assert similarity(one, 3 * one @ rotation + 5) == pytest.approx(1, abs=1e-6)
    assert similarity(one, noise()) < 0.02
    assert np.isnan(similarity(one, np.ones_like(one)))


def test_the_effective_rank_counts_directions_that_are_used_alike():
    squares = np.concatenate([np.eye(4), -np.eye(4)]).astype(np.float32)
    assert effective_rank(squares) == pytest.approx(4)
    assert effective_rank(5 * squares[:, :2] + 1) == pytest.approx(2)
    assert effective_rank(np.outer(np.arange(9), [1, 2, 3]).astype(np.float32)) == pytest.approx(1, abs=1e-3)
    assert np.isnan(effective_rank(np.ones((5, 3), dtype=np.float32)))


def test_the_effective_rank_is_that_of_the_singular_values():
    layer = noise() * np.array([1, 2, 3, 4, 5, 6], dtype=np.float32)
    values = np.linalg.svd(layer - layer.mean(axis=0), compute_uv=False)
    shares = values / values.sum()
    assert effective_rank(layer) == pytest.approx(np.exp(-(shares * np.log(shares)).sum()), rel=1e-4)


# --- what is looked at ------------------------------------------------------------------------------------------------


def test_examples_are_drawn_by_lot_until_there_are_positions_enough(monkeypatch):
    monkeypatch.setattr(representations, "POSITIONS", 50)
    lengths = GENERATOR.integers(1, LENGTH + 1, len(TOKENS))
    split = examples(TOKENS, lengths=lengths)
    few = chosen(split)
    assert 50 - LENGTH < few.lengths.sum() <= 50
    np.testing.assert_array_equal(few.tokens, chosen(split).tokens)
    assert few.groups.tolist() != split.groups[: len(few)].tolist()
    monkeypatch.setattr(representations, "POSITIONS", 1)
    assert len(chosen(split)) == 2
    assert len(chosen(split[:1])) == 1


def test_every_layer_is_measured_and_every_two_masks_are_compared_once():
    layers = {
        mask: [noise(), np.ones((TOKENS.size, 6), dtype=np.float32)] for mask in ("causal", "lookahead-1", "full")
    }
    rows = measures(layers, SPLIT)
    of_one = [(row["layer"], row["measure"]) for row in rows if row["mask"] == "causal" and row["measure"] != "cka"]
    probed = ["position", "left", "right"]
    assert of_one == [*((0, name) for name in (*probed, "effective_rank")), *((1, name) for name in probed)]
    compared = [(row["mask"], row["other_mask"], row["layer"]) for row in rows if row["measure"] == "cka"]
    assert compared == [("causal", "lookahead-1", 0), ("causal", "full", 0), ("lookahead-1", "full", 0)]
    assert all((row["chance"] is not None) == (row["measure"] in probed) for row in rows)
    assert all((row["other_mask"] is not None) == (row["measure"] == "cka") for row in rows)


def test_an_encoder_decoder_is_refused():
    shape = ModelShape(vocabulary=5, answers=5, length=6, width=8, layers=2, heads=2)
    with pytest.raises(StudyError, match=r"encoder-decoder: .* no single stream"):
        streams(build_model("encoder-decoder", shape), "encoder-decoder", examples([[1, 2]], condition_lengths=[1]))
