import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from maskstudy.data.hiding import hide
from maskstudy.tasks.task import NOWHERE
from small_study import examples

MASK = 99


@settings(deadline=None)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=5), st.floats(0.01, 1), st.integers(0, 2**32 - 1))
def test_a_share_of_the_real_tokens_is_hidden_and_becomes_the_answer(lengths, share, seed):
    generator = np.random.default_rng(seed)
    tokens = generator.integers(0, 9, (len(lengths), 12))
    whole = examples(tokens, lengths=lengths)
    hidden = hide(whole, share, MASK, generator)
    np.testing.assert_array_equal(hidden.scored.sum(1), np.maximum(1, np.rint(share * whole.lengths)))
    np.testing.assert_array_equal(hidden.tokens == MASK, hidden.scored)
    np.testing.assert_array_equal(np.where(hidden.scored, hidden.targets, hidden.tokens), tokens)
    assert not hidden.scored[np.arange(12) >= whole.lengths[:, None]].any()
    assert (hidden.target_positions == NOWHERE).all()
    assert hidden.tokens.dtype == hidden.targets.dtype == np.int16


def test_every_real_position_is_as_likely_as_any_other():
    whole = examples(np.zeros((40_000, 6)), lengths=np.full(40_000, 5))
    shares = hide(whole, 0.4, MASK, np.random.default_rng(0)).scored.mean(0)
    assert (abs(shares[:5] - 0.4) < 5 * np.sqrt(0.24 / 40_000)).all()
    assert shares[5] == 0


def test_what_is_hidden_does_not_depend_on_what_stands_there():
    generator = np.random.default_rng(1)
    one, other = (examples(generator.integers(0, 9, (50, 8))) for _ in range(2))
    hidden = [hide(each, 0.3, MASK, np.random.default_rng(5)).scored for each in (one, other)]
    np.testing.assert_array_equal(*hidden)
