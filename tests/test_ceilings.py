import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskstudy.ceilings import HiddenMarkovModel, state_posteriors, stationary
from maskstudy.errors import StudyError
from maskstudy.tasks.hmm_tagging import HmmTagging

quick = settings(deadline=None, max_examples=40)


def random_rows(generator, rows, columns, zeros):
    """Distributions, some of whose entries are exactly 0."""
    drawn = generator.dirichlet(np.ones(columns), rows)
    keep = generator.random((rows, columns)) >= zeros
    keep[np.arange(rows), generator.integers(0, columns, rows)] = True
    drawn = np.where(keep, drawn, 0)
    return drawn / drawn.sum(1, keepdims=True)


def random_source(seed, states=3, symbols=3, zeros=0.0):
    generator = np.random.default_rng(seed)
    return HiddenMarkovModel(
        random_rows(generator, 1, states, zeros)[0],
        random_rows(generator, states, states, zeros),
        random_rows(generator, states, symbols, zeros),
    )


def paths(source, symbols):
    """Every state path and its joint probability with `symbols`, from the definition."""
    for path in itertools.product(range(len(source.initial)), repeat=len(symbols)):
        probability = source.initial[path[0]] * source.emission[path[0], symbols[0]]
        for step in range(1, len(symbols)):
            probability *= source.transition[path[step - 1], path[step]] * source.emission[path[step], symbols[step]]
        yield path, probability


def by_enumeration(source, symbols, future):
    """P(state at each position | symbols up to `future` after it), summed over all state paths."""
    posteriors = np.zeros((len(symbols), len(source.initial)))
    for position in range(len(symbols)):
        seen = symbols if future is None else symbols[: position + future + 1]
        for path, probability in paths(source, seen):
            posteriors[position, path[position]] += probability
    return posteriors / posteriors.sum(1, keepdims=True)


# --- posteriors -------------------------------------------------------------------------------------------------------


@quick
@given(
    st.integers(0, 2**31), st.integers(1, 5), st.one_of(st.none(), st.integers(0, 7)), st.sampled_from([0.0, 0.3, 0.6])
)
def test_posteriors_are_sums_over_all_state_paths_for_every_lag(seed, length, future, zeros):
    source = random_source(seed, zeros=zeros)
    _, symbols = source.sample(3, length, np.random.default_rng(seed))
    expected = np.stack([by_enumeration(source, row.tolist(), future) for row in symbols])
    np.testing.assert_allclose(state_posteriors(source, symbols, future), expected, atol=1e-12)


@quick
@given(st.integers(0, 2**31), st.integers(1, 30), st.integers(0, 3))
def test_a_lag_as_long_as_the_sequence_sees_all(seed, length, more):
    source = random_source(seed, states=4, symbols=5)
    _, symbols = source.sample(4, length, np.random.default_rng(seed))
    smoothed = state_posteriors(source, symbols, None)
    np.testing.assert_allclose(state_posteriors(source, symbols, length - 1 + more), smoothed, atol=1e-12)
    np.testing.assert_allclose(smoothed[:, -1], state_posteriors(source, symbols, 0)[:, -1], atol=1e-12)


def test_a_long_lag_does_not_underflow():
    source = random_source(0, states=4, symbols=50)
    _, symbols = source.sample(2, 900, np.random.default_rng(0))
    smoothed = state_posteriors(source, symbols, None)
    lagged = state_posteriors(source, symbols, 600)
    assert np.isfinite(lagged).all()
    np.testing.assert_allclose(lagged, smoothed, atol=1e-9)  # what is 600 symbols away says nothing


def test_what_lies_beyond_the_lag_has_no_influence():
    source = random_source(1)
    _, symbols = source.sample(1, 8, np.random.default_rng(1))
    other = symbols.copy()
    other[0, 6] = (other[0, 6] + 1) % 3
    for future in range(4):
        before, after = (state_posteriors(source, each, future)[0] for each in (symbols, other))
        np.testing.assert_array_equal(before[: 6 - future], after[: 6 - future])
        assert (before[6 - future :] != after[6 - future :]).any(1).all()


def test_rows_sum_to_one_and_impossible_states_have_probability_zero():
    source = HiddenMarkovModel(np.array([0.5, 0.5]), np.array([[0.5, 0.5], [0.2, 0.8]]), np.eye(2))
    symbols = np.array([[0, 1, 1, 0]])
    for future in (0, 1, None):
        posteriors = state_posteriors(source, symbols, future)
        np.testing.assert_array_equal(posteriors[0], np.eye(2)[symbols[0]])


# --- ceilings ---------------------------------------------------------------------------------------------------------


@quick
@given(st.integers(0, 2**31), st.sampled_from([0.0, 0.4]))
def test_ceilings_never_fall_with_what_is_seen(seed, zeros):
    """The exact ceilings, over all symbol sequences with their probabilities: each symbol more can only help."""
    source, length = random_source(seed, states=2, symbols=3, zeros=zeros), 4
    sequences = np.array(list(itertools.product(range(3), repeat=length)))
    probability = np.array([sum(joint for _, joint in paths(source, row.tolist())) for row in sequences])
    sequences, probability = sequences[probability > 0], probability[probability > 0]
    accuracy, nats = [], []
    for future in (0, 1, 2, 3, None):
        posteriors = state_posteriors(source, sequences, future)
        logarithms = np.log(posteriors, out=np.zeros_like(posteriors), where=posteriors > 0)
        accuracy.append(probability @ posteriors.max(-1).mean(-1))
        nats.append(probability @ -(posteriors * logarithms).sum(-1).mean(-1))
    assert (np.diff(accuracy) >= -1e-12).all()
    assert (np.diff(nats) <= 1e-12).all()


@pytest.mark.parametrize("future", [0, 1, 3, None])
def test_the_observer_is_as_often_right_as_it_believes(future):
    source = random_source(7, states=4, symbols=5)
    states, symbols = source.sample(4000, 10, np.random.default_rng(3))
    posteriors = state_posteriors(source, symbols, future)
    right = (posteriors.argmax(-1) == states).mean(1)
    surplus = posteriors.max(-1).mean(1) - right  # a sequence is the unit: its positions depend on each other
    assert abs(surplus.mean()) <= 4 * surplus.std() / np.sqrt(len(surplus))
    of_truth = np.take_along_axis(posteriors, states[..., None].astype(np.int64), -1)[..., 0]
    surprise = -np.log(of_truth).mean(1) + (posteriors * np.log(posteriors)).sum(-1).mean(1)
    assert abs(surprise.mean()) <= 4 * surprise.std() / np.sqrt(len(surprise))


# --- sources ----------------------------------------------------------------------------------------------------------


def test_samples_have_the_probabilities_of_the_source():
    source, count = random_source(5, states=3, symbols=4, zeros=0.3), 20_000
    states, symbols = source.sample(count, 3, np.random.default_rng(0))
    assert states.shape == symbols.shape == (count, 3)
    assert states.dtype == symbols.dtype == np.int16

    def check(drawn, given, distributions):
        for row, distribution in enumerate(distributions):
            of_row = drawn[given == row]
            shares = np.bincount(of_row, minlength=len(distribution)) / max(1, len(of_row))
            error = np.sqrt(distribution * (1 - distribution) / max(1, len(of_row)))
            assert (abs(shares - distribution) <= 5 * error).all()  # so what has probability 0 never comes

    check(states[:, 0], np.zeros(count), source.initial[None])
    check(states[:, 1:].ravel(), states[:, :-1].ravel(), source.transition)
    check(symbols.ravel(), states.ravel(), source.emission)


def test_samples_are_a_function_of_the_generator():
    source = random_source(0)
    one, same, other = (source.sample(5, 6, np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


@quick
@given(st.integers(0, 2**31), st.integers(2, 8))
def test_the_stationary_distribution_is_the_eigenvector_of_one(seed, states):
    transition = np.random.default_rng(seed).dirichlet(np.full(states, 0.7), states)
    values, vectors = np.linalg.eig(transition.T)
    vector = vectors[:, np.argmin(abs(values - 1))].real
    np.testing.assert_allclose(stationary(transition), vector / vector.sum(), atol=1e-9)


def test_a_state_that_is_left_for_ever_has_probability_zero_not_less():
    for seed in range(50):
        transition = np.random.default_rng(seed).dirichlet(np.ones(5), 5)
        transition[:, 4] = 0  # nothing leads there
        transition /= transition.sum(1, keepdims=True)
        found = stationary(transition)
        assert (found >= 0).all()
        assert found[4] <= 1e-15
        assert found.sum() == pytest.approx(1, abs=1e-15)
        np.testing.assert_allclose(found @ transition, found, atol=1e-14)


def test_a_chain_that_alternates_has_a_stationary_distribution():
    np.testing.assert_allclose(stationary(np.array([[0.0, 1.0], [1.0, 0.0]])), [0.5, 0.5])


def test_a_chain_that_falls_into_parts_is_refused():
    parts = np.array([[0.5, 0.5, 0, 0], [0.3, 0.7, 0, 0], [0, 0, 0.1, 0.9], [0, 0, 1, 0]])
    with pytest.raises(StudyError, match="falls into parts") as raised:
        stationary(parts)
    assert "\n" not in str(raised.value)
    with pytest.raises(StudyError, match="falls into parts"):
        stationary(np.eye(3))


def test_samples_of_the_default_chain_are_stationary():
    chain = HmmTagging().chain()
    states, _ = chain.sample(20_000, 5, np.random.default_rng(0))
    for step in range(5):
        shares = np.bincount(states[:, step], minlength=8) / 20_000
        assert (abs(shares - chain.initial) <= 5 * np.sqrt(chain.initial * (1 - chain.initial) / 20_000)).all()
