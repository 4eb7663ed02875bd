import numpy as np

from maskstudy.ceilings import MarkovChain, stationary

TRANSITION = np.array([[0.1, 0.6, 0.3], [0.5, 0.0, 0.5], [0.2, 0.2, 0.6]])


def test_the_first_state_and_every_step_follow_their_probabilities():
    chain = MarkovChain(np.array([0.2, 0.0, 0.8]), TRANSITION)
    states = chain.sample(30_000, 4, np.random.default_rng(0))
    assert states.shape == (30_000, 4)
    assert states.dtype == np.int16
    np.testing.assert_allclose(np.bincount(states[:, 0], minlength=3) / 30_000, chain.initial, atol=0.015)
    for step in range(3):
        for state in range(3):
            following = states[states[:, step] == state, step + 1]
            if len(following):
                shares = np.bincount(following, minlength=3) / len(following)
                np.testing.assert_allclose(shares, TRANSITION[state], atol=5 * np.sqrt(0.25 / len(following)))
    assert not ((states[:, :-1] == 1) & (states[:, 1:] == 1)).any()  # a step that cannot happen


def test_a_chain_that_starts_stationary_stays_so():
    chain = MarkovChain(stationary(TRANSITION), TRANSITION)
    states = chain.sample(30_000, 6, np.random.default_rng(1))
    for step in range(6):
        np.testing.assert_allclose(np.bincount(states[:, step], minlength=3) / 30_000, chain.initial, atol=0.015)


def test_equal_generators_give_equal_states():
    chain = MarkovChain(stationary(TRANSITION), TRANSITION)
    one, same, other = (chain.sample(5, 20, np.random.default_rng(seed)) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
