import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from maskstudy.cache import KeyValueCache, LayerCache
from maskstudy.errors import StudyError
from maskstudy.shape import ModelShape


def drawn(tokens, seed):
    return torch.randn(2, 3, tokens, 4, generator=torch.Generator().manual_seed(seed))


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=5), st.integers(0, 3))
def test_what_comes_back_is_everything_so_far_in_order(pieces, spare):
    cache = LayerCache(*torch.zeros(2, 2, 3, sum(pieces) + spare, 4))
    keys, values = [], []
    for seed, tokens in enumerate(pieces):
        keys.append(drawn(tokens, seed))
        values.append(drawn(tokens, seed + 100))
        found = cache.extended(keys[-1], values[-1])
        assert torch.equal(found[0], torch.cat(keys, 2))
        assert torch.equal(found[1], torch.cat(values, 2))
        assert cache.filled == sum(pieces[: seed + 1])


def test_more_tokens_than_there_is_room_for_are_refused_and_nothing_is_kept():
    cache = LayerCache(*torch.zeros(2, 2, 3, 5, 4))
    cache.extended(drawn(3, 0), drawn(3, 1))
    with pytest.raises(StudyError, match="cache: 6 tokens, but there is room for 5"):
        cache.extended(drawn(3, 2), drawn(3, 3))
    assert cache.filled == 3


@pytest.mark.parametrize("rows", [[1, 0], [0, 0], [1], [1, 0, 1]])
def test_texts_can_be_named_in_any_order_twice_or_not_at_all(rows):
    cache = LayerCache(*torch.zeros(2, 2, 3, 5, 4))
    keys, values = drawn(3, 0), drawn(3, 1)
    cache.extended(keys, values)
    cache.select(torch.tensor(rows))
    more = torch.ones(len(rows), 3, 1, 4)
    found = cache.extended(more, 2 * more)
    assert torch.equal(found[0], torch.cat([keys[rows], more], 2))
    assert torch.equal(found[1], torch.cat([values[rows], 2 * more], 2))


def test_every_layer_has_room_of_its_own_for_every_head():
    shape = ModelShape(vocabulary=5, answers=5, length=9, width=12, layers=4, heads=3)
    cache = KeyValueCache(shape, 2, 7, torch.zeros(1, dtype=torch.float64))
    assert len(cache.layers) == 4
    assert cache.filled == 0
    for layer in cache.layers:
        assert layer.keys.shape == layer.values.shape == (2, 3, 7, 4)
        assert layer.keys.dtype == torch.float64
    cache.layers[1].keys.fill_(1)
    cache.layers[1].values.fill_(2)
    others = [kind for layer in (cache.layers[0], *cache.layers[2:]) for kind in (layer.keys, layer.values)]
    assert not any(kind.any() for kind in others)
    assert (cache.layers[1].keys == 1).all()
