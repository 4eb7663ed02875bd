import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskstudy.samples import AHEAD, CASES, REPRESENTATIVE, SPREAD, Answers, choose, furthest, spread


@pytest.mark.parametrize(("count", "most"), [(1, 1), (5, 5), (3, 8), (100, 7), (10_000, 8)])
def test_an_even_spread_has_gaps_that_differ_by_one_at_most_and_favours_neither_end(count, most):
    found = spread(count, most)
    assert len(found) == min(count, most)
    assert np.ptp(np.diff(found)) <= 1 if len(found) > 1 else True
    assert abs(int(found[0]) - int(count - 1 - found[-1])) <= 1


def test_nothing_is_spread_over_nothing():
    assert spread(0, 4).tolist() == []


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=40), st.integers(1, 6))
def test_the_furthest_are_the_largest_leads_and_nothing_behind_is_among_them(leads, most):
    lead = np.array(leads)
    found = furthest(lead, most)
    assert len(set(found)) == len(found) == min(most, int((lead > 0).sum()))
    assert lead[found].tolist() == sorted(lead[lead > 0].tolist(), reverse=True)[:most]


def test_of_equal_leads_an_even_spread_is_taken():
    lead = np.ones(1000, dtype=np.int64)
    assert furthest(lead, 4) == spread(1000, 4).tolist()


def right(seeds, questions, share, stream):
    return np.random.default_rng(stream).random((seeds, questions)) < share


def test_both_orders_of_every_two_masks_are_chosen_from():
    of_masks = {"a": right(5, 3000, 0.4, 0), "b": right(5, 3000, 0.5, 1), "c": right(5, 3000, 0.8, 2)}
    chosen = choose(of_masks)
    assert [each.question for each in chosen[:REPRESENTATIVE]] == spread(3000, REPRESENTATIVE).tolist()
    assert {each.why for each in chosen[:REPRESENTATIVE]} == {SPREAD}
    pairs = [(each.mask_a, each.mask_b) for each in chosen[REPRESENTATIVE:]]
    assert pairs == [tuple(pair) for pair in ("ab", "ac", "ba", "bc", "ca", "cb") for _ in range(CASES)]
    for each in chosen[REPRESENTATIVE:]:
        lead = of_masks[each.mask_a].sum(0) - of_masks[each.mask_b].sum(0)
        assert each.why == AHEAD
        assert lead[each.question] >= np.sort(lead)[-CASES]
        assert each.ahead == (lead > 0).sum()


def test_where_no_mask_is_ahead_there_is_nothing_to_show_of_it():
    same = right(4, 20, 0.5, 0)
    assert {each.why for each in choose({"a": same, "b": same})} == {SPREAD}
    assert {each.why for each in choose({"alone": same})} == {SPREAD}


def test_no_seed_is_preferred():
    """The order of seeds, or another pairing of them, changes nothing that is chosen."""
    of_masks = {"a": right(6, 50, 0.5, 0), "b": right(6, 50, 0.6, 1)}
    assert choose(of_masks) == choose({"a": of_masks["a"][::-1], "b": of_masks["b"]})


def test_the_commonest_answer_and_how_many_gave_it():
    answers = Answers(np.zeros((4, 2), dtype=bool), [[7, 1], [3, 2], [3, 1], [9, 2]], np.zeros(2))
    assert answers.commonest(0) == (3, 2)
    assert answers.commonest(1) == (1, 2)  # of equally common ones, the first seed's
