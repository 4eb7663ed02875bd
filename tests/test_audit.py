import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from maskstudy.audit import Leak, access_grid, carrying_path, find_leak, scored_access_digest
from maskstudy.masks import MASKS, StudyMask, causal, layer_masks, lookahead
from maskstudy.tasks.task import NOT_SCORED, NOWHERE
from small_study import MASK_NAMES, examples, next_token, random_masks, reached

quick = settings(deadline=None, max_examples=60)


def seen_by(mask, layers, length, condition_length):
    """`[length, length]`: what each position of one example reaches, by walking over its masks."""
    masks = layer_masks(mask, layers, length, condition_lengths=torch.tensor([condition_length]))
    return reached([each.reshape(length, length) for each in masks])


def drawn(seed, count=4, length=6, answered=0.5):
    """Examples with scored positions, answers in the input and conditions at random."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(1, length + 1, count)
    inside = np.arange(length) < lengths[:, None]
    scored = (generator.random((count, length)) < answered) & inside
    positions = generator.integers(-1, lengths[:, None], (count, length))
    return examples(
        generator.integers(0, 5, (count, length)),
        targets=np.where(scored, 1, NOT_SCORED),
        lengths=lengths,
        condition_lengths=generator.integers(0, lengths + 1),
        target_positions=np.where(scored, positions, NOWHERE),
    )


# --- leaks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize(
    ("mask", "leaks"), [("causal", False), ("full", True), ("lookahead-1", True), ("prefix", False)]
)
def test_the_next_token_leaks_where_the_future_is_seen(mask, leaks, layers):
    leak = find_leak(mask, layers, next_token([[0, 1, 2, 3, 4]]))
    assert (leak is not None) == leaks
    if leaks:  # the answer waits for the last layer that lets it step back
        assert leak == Leak(0, 1, (1, *[0] * layers) if mask == "lookahead-1" else (*[1] * layers, 0))


def test_answers_inside_the_condition_leak_under_prefix():
    split = next_token([[0, 1, 2, 3, 4]] * 2)
    assert find_leak("prefix", 2, split) is None
    conditioned = examples(split.tokens, split.targets, None, [0, 3], split.target_positions)
    assert find_leak("prefix", 2, conditioned) == Leak(0, 1, (1, 1, 0))
    after = np.where(np.arange(5) >= 2, split.targets, NOT_SCORED)  # token 3 comes after the condition
    assert find_leak("prefix", 2, examples(split.tokens, after, None, [0, 3], split.target_positions)) is None


def test_an_answer_further_ahead_than_the_mask_looks_is_no_leak():
    split = examples([[0] * 6], targets=[[1] + [NOT_SCORED] * 5], target_positions=[[3] + [NOWHERE] * 5])
    assert find_leak("lookahead-2", 4, split) is None
    leak = find_leak("lookahead-3", 4, split)
    assert leak.path == (3, 0, 0, 0, 0)


def test_a_leak_may_need_several_layers(monkeypatch):
    """No mask of the study looks ahead in a later layer; one that a user adds may."""
    monkeypatch.setitem(MASKS, "compounding", lambda _: StudyMask(lookahead(1), lookahead(1)))
    monkeypatch.setitem(MASKS, "late", lambda _: StudyMask(causal, lookahead(1)))
    two_ahead = examples([[0] * 4], targets=[[1] + [NOT_SCORED] * 3], target_positions=[[2] + [NOWHERE] * 3])
    assert find_leak("compounding", 1, two_ahead) is None
    assert find_leak("compounding", 2, two_ahead) == Leak(0, 2, (2, 1, 0))
    assert find_leak("late", 3, two_ahead) == Leak(0, 2, (2, 2, 1, 0))
    assert scored_access_digest("compounding", 2, two_ahead) == scored_access_digest("lookahead-2", 2, two_ahead)
    assert scored_access_digest("compounding", 2, two_ahead) != scored_access_digest("lookahead-1", 2, two_ahead)


def test_an_answer_that_stands_in_the_input_but_is_not_scored_is_no_leak():
    split = examples([[0] * 4], target_positions=[[0, 1, 2, 3]])
    assert find_leak("full", 2, split) is None


def test_the_scored_position_may_hold_its_own_answer():
    split = examples([[7, 8]], targets=[[NOT_SCORED, 1]], target_positions=[[NOWHERE, 1]])
    assert find_leak("causal", 2, split) == Leak(1, 1, (1, 1, 1))


@quick
@given(st.integers(0, 2**31), st.sampled_from(MASK_NAMES), st.integers(1, 3))
def test_a_leak_is_found_exactly_where_one_is(seed, mask, layers):
    split = drawn(seed, answered=0.15)
    leaking = set()
    for row in range(len(split)):
        length, condition = int(split.lengths[row]), int(split.condition_lengths[row])
        seen = seen_by(mask, layers, length, condition)
        for position in range(length):
            source = int(split.target_positions[row, position])
            if split.targets[row, position] != NOT_SCORED and source != NOWHERE and seen[position, source]:
                leaking.add((position, source))
    leak = find_leak(mask, layers, split)
    assert (leak is not None) == bool(leaking)
    if leak:
        assert (leak.position, leak.target_position) in leaking
        assert (leak.path[0], leak.path[-1]) == (leak.target_position, leak.position)


def test_a_leak_in_words():
    assert Leak(2, 3, (3, 3, 2)).describe() == "input 3 → layer 1 position 3 → layer 2 position 2"


# --- paths ------------------------------------------------------------------------------------------------------------


@quick
@given(st.integers(1, 4), st.integers(1, 7), st.integers(0, 2**31), st.sampled_from([0.1, 0.3, 0.6]))
def test_every_step_of_a_path_is_allowed_by_its_layer_and_every_reach_has_a_path(layers, length, seed, share):
    masks = random_masks(layers, length, seed, share)
    seen = reached(masks)
    for source, position in itertools.product(range(length), repeat=2):
        if not seen[position, source]:
            with pytest.raises(ValueError, match=f"input {source} does not reach position {position}"):
                carrying_path(masks, source, position)
            continue
        path = carrying_path(masks, source, position)
        assert len(path) == layers + 1
        assert (path[0], path[-1]) == (source, position)
        for mask, here, there in zip(masks, path, path[1:], strict=False):
            assert here == there or bool(mask[there, here])  # the residual path, or a query that admits a key


def test_a_path_waits_until_it_must_step():
    first, second = torch.zeros(2, 3, 3, dtype=torch.bool)
    first[1, 2] = second[0, 1] = True
    assert carrying_path([first, second], 2, 0) == (2, 1, 0)
    assert carrying_path([first, second, torch.eye(3) > 0], 2, 0) == (2, 1, 0, 0)
    both_layers = torch.zeros(3, 3, dtype=torch.bool)
    both_layers[0, 2] = True
    assert carrying_path([both_layers, both_layers], 2, 0) == (2, 2, 0)


# --- equal and unequal access -----------------------------------------------------------------------------------------


def rows_at_scored_positions(mask, layers, split):
    """What the scored positions of each example see."""
    rows = []
    for row in range(len(split)):
        seen = seen_by(mask, layers, int(split.lengths[row]), int(split.condition_lengths[row]))
        rows.append([seen[place].tolist() for place in range(len(seen)) if split.targets[row, place] != NOT_SCORED])
    return rows


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**31), st.integers(1, 3), st.sampled_from([0.05, 0.2, 0.7]))
def test_digests_are_equal_exactly_where_the_scored_positions_see_the_same(seed, layers, answered):
    split = drawn(seed, answered=answered)
    masks = (*MASK_NAMES, "lookahead-5")
    digests = {mask: scored_access_digest(mask, layers, split) for mask in masks}
    rows = {mask: rows_at_scored_positions(mask, layers, split) for mask in masks}
    for one, other in itertools.combinations(masks, 2):
        assert (digests[one] == digests[other]) == (rows[one] == rows[other])


def test_read_at_the_last_token_causal_and_full_see_the_same():
    last = examples(
        np.zeros((2, 4)), targets=[[NOT_SCORED] * 3 + [1], [NOT_SCORED, 1, NOT_SCORED, NOT_SCORED]], lengths=[4, 2]
    )
    assert scored_access_digest("causal", 2, last) == scored_access_digest("full", 2, last)
    earlier = examples(
        np.zeros((2, 4)), targets=[[NOT_SCORED] * 3 + [1], [1, NOT_SCORED, NOT_SCORED, NOT_SCORED]], lengths=[4, 2]
    )
    assert scored_access_digest("causal", 2, earlier) != scored_access_digest("full", 2, earlier)


def test_a_digest_is_hexadecimal_and_does_not_change_with_the_order_of_examples():
    split = drawn(0, count=8)
    digest = scored_access_digest("prefix", 2, split)
    assert len(digest) == 64
    int(digest, 16)
    assert scored_access_digest("prefix", 2, split[np.arange(8)[::-1]]) == digest


# --- grids ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("condition_length", [0, 3])
@pytest.mark.parametrize("mask", MASK_NAMES)
def test_a_grid_holds_every_layer_and_what_is_seen_after_all(mask, condition_length):
    grid = access_grid(mask, 3, 5, condition_length)
    assert grid["length"] == 5
    conditions = torch.tensor([condition_length])
    masks = [each.reshape(5, 5) for each in layer_masks(mask, 3, 5, condition_lengths=conditions)]
    assert grid["layers"] == [each.int().tolist() for each in masks]
    assert grid["access"] == reached(masks).astype(int).tolist()
