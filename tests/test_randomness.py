import itertools

import numpy as np
import pytest
import torch

from maskstudy.randomness import stream, torch_seed

NAMES = ("weights", "dropout", "batches", "hiding")


def test_a_stream_is_a_function_of_seed_and_name():
    draws = {(seed, name): stream(seed, name).random(4).tolist() for seed in range(5) for name in NAMES}
    assert draws == {(seed, name): stream(seed, name).random(4).tolist() for seed, name in draws}
    assert len({tuple(values) for values in draws.values()}) == len(draws)


def test_drawing_from_one_stream_leaves_the_others_alone():
    first, second = stream(0, "batches"), stream(0, "hiding")
    first.random(1000)
    assert second.random() == stream(0, "hiding").random()


@pytest.mark.parametrize("pairs", [[(0, name) for name in NAMES], [(seed, "batches") for seed in range(4)]])
def test_streams_are_not_correlated(pairs):
    draws = [stream(seed, name).random(10_000) for seed, name in pairs]
    for one, other in itertools.combinations(draws, 2):
        assert abs(np.corrcoef(one, other)[0, 1]) < 5 / np.sqrt(10_000)


def test_torch_takes_the_seed_and_no_two_uses_share_one():
    seeds = {torch_seed(seed, name) for seed in range(20) for name in NAMES}
    assert len(seeds) == 80
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert max(seeds) > 2**60  # not cut to 32 bits
    before = torch.random.get_rng_state()
    torch.manual_seed(torch_seed(3, "weights"))
    drawn = torch.rand(3)
    torch.manual_seed(torch_seed(3, "weights"))
    assert torch.equal(drawn, torch.rand(3))
    torch.random.set_rng_state(before)
