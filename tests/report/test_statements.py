import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskstudy.comparisons import ABOVE_CEILING, NOT_LEARNED, WITHIN
from maskstudy.figures.results import Settings
from maskstudy.report import statements

COMPARISON = {
    "task": "tagging",
    "metric": "accuracy",
    "mask_a": "full",
    "mask_b": "causal",
    "declared": True,
    "equal_access": False,
    "seeds": 10,
    "effect": 0.0948,
    "low": 0.0936,
    "high": 0.096,
    "method": "BCa",
    "p": 0.002,
    "p_holm": 0.006,
    "smallest_p": 0.002,
    "margin": 0.005,
    "p_equivalence": 1.0,
    "verdict": "a",
}
CELL = {
    "task": "tagging",
    "mask": "causal",
    "role": "study",
    "metric": "accuracy",
    "mean": 0.6,
    "baseline": 0.5,
    "against_baseline": "better",
    "ceiling": 0.61,
    "gap": -0.001,
    "learning": WITHIN,
}


def plain(text):
    return text.replace("\u00a0", " ").replace("\u202f", " ")


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(0.12345, 3, "0.123"), (-0.0304, 3, "−0.030"), (-0.0001, 3, "0.000"), (2, 1, "2.0"), (None, 3, "")],
)
def test_numbers(value, digits, text):
    assert statements.number(value, digits) == text


@given(st.floats(1e-9, 10))
def test_an_interval_is_shown_with_two_figures_of_its_width_within_bounds(width):
    digits = statements.digits_for(0.0, width)
    assert 3 <= digits <= 4
    if 0.001 <= width < 0.1:
        assert width * 10**digits >= 9.99


@pytest.mark.parametrize("end", [0.5, None])
def test_an_interval_without_width_has_the_least_decimals(end):
    assert statements.digits_for(end, end) == 3


def test_counts_probabilities_and_powers():
    assert plain(statements.count(819200)) == "819 200"
    assert plain(statements.probability(0.0004)) == "p < 0.001"
    assert plain(statements.probability(0.0404)) == "p = 0.040"
    assert plain(statements.percent(0.95)) == "95 %"
    assert statements.power_of_ten(4.6e11) == "4.6 × 10¹¹"
    assert statements.power_of_ten(0.025) == "2.5 × 10⁻²"
    assert statements.power_of_ten(0) == "0"
    assert statements.interval(-0.1, 0.25) == "[−0.100, 0.250]"
    assert statements.interval(None, None) == ""
    cells = [{"task": "t", "mask": mask, "role": "study", "seeds": list(range(10))} for mask in ("causal", "full")]
    settings = Settings.of({"cells": cells, "confirmatory": True})
    assert statements.size(settings) == "1 task, 2 cells, 10 seeds a cell"


@given(st.floats(1e-6, 1e30))
def test_a_power_of_ten_is_the_number_rounded(value):
    mantissa, exponent = statements.power_of_ten(value).split(" × 10")
    raised = int(exponent.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")))
    assert float(mantissa) * 10.0**raised == pytest.approx(value, rel=0.051)


def test_the_better_mask_stands_first_with_a_difference_above_zero():
    sentence = plain(statements.finding(COMPARISON, 0.05))
    assert sentence == "full is better than causal by 0.0948 in accuracy [0.0936, 0.0960], p = 0.006"
    turned = COMPARISON | {"effect": -0.0948, "low": -0.096, "high": -0.0936, "verdict": "b"}
    assert plain(statements.finding(turned, 0.05)).startswith(
        "causal is better than full by 0.0948 in accuracy [0.0936"
    )


def test_fewer_nats_are_better():
    row = COMPARISON | {"metric": "nats", "effect": -0.25, "low": -0.3, "high": -0.2}
    sentence = plain(statements.finding(row, 0.05))
    assert sentence == "full is better than causal by 0.250 nats per answer [0.200, 0.300], p = 0.006"


@given(st.sampled_from(["accuracy", "nats"]), st.sampled_from("ab"), st.floats(0.001, 1), st.floats(0.0001, 1))
def test_a_win_is_never_told_as_a_loss(metric, winner, effect, half):
    higher_is_better = metric == "accuracy"
    signed = effect if (winner == "a") == higher_is_better else -effect
    row = COMPARISON | {"metric": metric, "verdict": winner, "effect": signed}
    row |= {"low": signed - half, "high": signed + half}
    sentence = statements.finding(row, 0.05)
    better, worse = ("full", "causal") if winner == "a" else ("causal", "full")
    assert sentence.startswith(f"{better} is better than {worse} by ")
    value, low, high = (float(text.replace("−", "-")) for text in re.findall(r"−?\d\.\d{3,4}", sentence)[:3])
    assert value == pytest.approx(effect, abs=0.00051)
    assert low == pytest.approx(effect - half, abs=0.00051)
    assert high == pytest.approx(effect + half, abs=0.00051)


def test_a_difference_too_small_to_matter_is_told_so():
    row = COMPARISON | {"effect": 0.002, "low": 0.001, "high": 0.003, "p_equivalence": 0.01}
    assert statements.finding(row, 0.05).endswith("a difference inside the declared margin of ±0.005")
    assert "margin" not in statements.finding(row | {"p_equivalence": 0.06}, 0.05)


def test_equivalence_is_claimed_with_its_margin_and_test():
    row = COMPARISON | {"effect": 0.001, "low": -0.001, "high": 0.003, "p_equivalence": 0.01, "verdict": "equivalent"}
    sentence = plain(statements.finding(row, 0.05))
    assert sentence.startswith("full and causal are equivalent within ±0.005: full − causal is 0.0010 in accuracy [")
    assert sentence.endswith("p = 0.010 for equivalence")


@pytest.mark.parametrize(
    ("margin", "end"),
    [(0.005, "neither a difference nor equivalence within ±0.005 is shown"), (None, "no difference is shown")],
)
def test_inconclusive_is_not_the_absence_of_a_difference(margin, end):
    row = COMPARISON | {"effect": 0.001, "low": -0.01, "high": 0.02, "margin": margin, "verdict": "inconclusive"}
    sentence = statements.finding(row, 0.05)
    assert sentence.startswith("inconclusive: full − causal is 0.001")
    assert sentence.endswith(end)


@pytest.mark.parametrize(
    ("method", "words"), [("percentile", "as BCa degenerates"), ("constant", "all seeds agree"), ("BCa", None)]
)
@pytest.mark.parametrize("verdict", ["a", "equivalent", "inconclusive"])
def test_an_unusual_interval_is_named(method, words, verdict):
    sentence = statements.finding(COMPARISON | {"method": method, "verdict": verdict}, 0.05)
    assert (words or "]") in sentence
    assert ("(" in sentence) == (words is not None)


@pytest.mark.parametrize(
    ("equal", "claim"), [(True, "about learning or inductive bias"), (False, "first of all about information")]
)
def test_every_comparison_says_what_kind_of_claim_it_is(equal, claim):
    sentence = statements.comparison(COMPARISON | {"equal_access": equal}, 0.95, 0.05)
    assert claim in sentence
    assert ("Equal access" if equal else "Unequal access") in sentence
    assert sentence.startswith("Declared, tagging: full is better")
    assert "p after Holm’s correction" in sentence
    exploratory = COMPARISON | {"equal_access": equal, "declared": False, "p_holm": None, "p": 0.04}
    sentence = plain(statements.comparison(exploratory, 0.95, 0.05))
    assert sentence.startswith("Exploratory, tagging: ")
    assert "p = 0.040" in sentence
    assert "p not corrected" in sentence


def test_the_overview_counts_outcomes():
    rows = [COMPARISON | {"verdict": verdict} for verdict in ("a", "b", "equivalent", "inconclusive", "inconclusive")]
    what, outcome = statements.overview(rows, equal_access=False)
    assert what == "5 declared comparisons with unequal access"
    assert outcome.endswith("one mask is better in 2, the masks are equivalent in 1 and 2 stay inconclusive.")
    what, outcome = statements.overview(rows[:1], equal_access=True)
    assert what == "1 declared comparison with equal access"
    assert outcome.endswith("one mask is better in 1.")


def test_a_cell_short_of_its_ceiling_has_not_learned():
    short = CELL | {"mask": "full", "gap": -0.031, "learning": NOT_LEARNED}
    sentence = statements.ceilings([CELL, short])
    assert "1 of 2 cells" in sentence
    assert "not learned: tagging (full −0.031)" in sentence
    assert "not learned" not in statements.ceilings([CELL])
    assert statements.reading([CELL]) == ""
    assert statements.reading([short]) == "not learned: accuracy (−0.031)"


def test_a_cell_above_its_ceiling_is_called_a_fault():
    above = CELL | {"gap": 0.02, "learning": ABOVE_CEILING}
    assert "above their ceiling, which is a fault of model or ceiling: tagging (causal 0.020)" in statements.ceilings(
        [above]
    )
    assert statements.reading([above]) == "above its ceiling: accuracy (0.020)"


def test_cells_without_a_ceiling_are_not_judged_by_one():
    unknown = CELL | {"gap": None, "ceiling": None, "learning": None}
    assert statements.ceilings([unknown]).startswith("For no task of this study is the best possible result known")
    assert "1 of 1 cells" in statements.ceilings([CELL, unknown])
    assert statements.reading([unknown]) == ""


def test_a_transformer_that_loses_to_its_baseline_is_reported_as_losing():
    losing = CELL | {"against_baseline": "loses", "mean": 0.48}
    assert "loses to its baseline" in statements.baselines([CELL, losing])
    assert "tagging (causal 0.480 against 0.500)" in statements.baselines([CELL, losing])
    assert statements.reading([losing]) == "loses to its baseline: accuracy"
    level = CELL | {"against_baseline": "no better", "metric": "nats"}
    assert statements.baselines([CELL, level]).endswith("it is not clearly better in tagging (causal).")
    assert statements.baselines([CELL]).startswith("No transformer loses to its baseline")
    assert statements.baselines([CELL | {"against_baseline": None}]) == "No cell of this study has a baseline."


def test_controls_are_never_judged():
    control = CELL | {"role": "control", "against_baseline": "loses", "learning": NOT_LEARNED, "gap": -1.0}
    assert statements.reading([control]) == "control: leaks, never ranked"
    assert statements.ceilings([CELL, control]) == statements.ceilings([CELL])
    assert statements.baselines([CELL, control]) == statements.baselines([CELL])


def test_the_audit_names_every_leak():
    clean = {"task": "bytes", "mask": "causal", "leaks": False}
    leaking = {"task": "bytes", "mask": "full", "leaks": True}
    assert statements.audits([clean]) == "In 1 of 1 cells no scored position sees its own answer."
    assert "In 1 of 2 cells" in statements.audits([clean, leaking])
    assert "The answer leaks in bytes under full, on purpose" in statements.audits([clean, leaking])


def test_the_sentence_that_every_paper_carries():
    assert statements.NOT_SUPERIOR == "A difference in access is not, by itself, evidence of a superior architecture."


def tuned(task, mask, chosen, scales=(0.5, 1.0, 2.0)):
    """The rows of the tuning of a cell."""
    of_cell = {"task": task, "mask": mask, "at_edge": chosen in (scales[0], scales[-1])}
    return [{**of_cell, "scale": scale, "chosen": scale == chosen} for scale in scales]


def test_tuning_says_what_was_searched_what_was_chosen_and_where_the_grid_ends():
    rows = [*tuned("tagging", "causal", 1.0), *tuned("tagging", "full", 2.0), *tuned("bytes", "full", 1.0)]
    text = plain(statements.tuning(rows, {"seeds": 2, "steps": 0.5, "tolerance": 0.005}))
    assert "with 2 seeds that the study never reports: 0.5, 1 and 2 times the rates" in text
    assert "for 50 % of the steps of a run" in text
    assert "2 of 3 cells stayed at the declared rates, than which no other was better by more than 0.005 nats" in text
    assert "the other took tagging (full 2 ×)." in text
    assert text.endswith("a better one may lie outside, in tagging (full).")
    assert "the others took" in statements.tuning([*rows, *tuned("bytes", "causal", 0.5)], {})


def test_tuning_names_no_edge_where_there_is_none():
    text = statements.tuning(tuned("tagging", "causal", 1.0), {"seeds": 1})
    assert text.endswith("1 of 1 cells stayed at the declared rates.")
    assert "100" in text
    assert "edge" not in text


def test_a_study_that_tunes_nothing_says_so():
    assert "nothing was tuned" in statements.tuning([], {"scales": [1]})


# --- what is only looked at -------------------------------------------------------------------------------------------


SWAP = {
    "task": "tagging",
    "trained_mask": "causal",
    "tested_mask": "full",
    "role": "study",
    "metric": "accuracy",
    "leaks": False,
    "own_mean": 0.7,
    "mean": 0.5,
    "cost": 0.2,
    "low": 0.1,
    "high": 0.3,
}


def test_swaps_are_counted_by_their_intervals_without_leaks_controls_and_nats():
    rows = [
        SWAP,
        {**SWAP, "task": "dear", "own_mean": 0.9, "mean": 0.4, "cost": 0.5, "low": 0.4, "high": 0.6},
        {**SWAP, "cost": 0.0, "low": -0.1, "high": 0.1},
        {**SWAP, "cost": -0.2, "low": -0.3, "high": -0.1},
        {**SWAP, "cost": 9, "low": 8, "high": 10, "metric": "nats"},
        {**SWAP, "cost": 0.9, "low": 0.8, "high": 1.0, "role": "control"},
        {**SWAP, "cost": -0.9, "low": -1.0, "high": -0.8, "leaks": True},
    ]
    assert statements.swaps(rows) == (
        "Of 4 swaps between masks that do not show the answer, 2 cost accuracy (the whole interval is above 0), 1 gain "
        "some, and 1 show neither. The dearest is dear: models trained under causal have an accuracy of 0.900, and "
        "under full one of 0.400."
    )
    one_seed = {**SWAP, "low": None, "high": None}
    assert statements.swaps([*rows, one_seed]).startswith("Of 5 swaps")
    assert "2 cost accuracy (the whole interval is above 0), 1 gain some, and 2" in statements.swaps([*rows, one_seed])
    none = statements.swaps(rows[2:3])
    assert none.endswith("0 cost accuracy (the whole interval is above 0), 0 gain some, and 1 show neither.")
    assert statements.swaps(rows[4:]).startswith("Every mask that could be swapped in shows the answer")


def test_what_is_read_of_positions_is_that_of_the_last_layer():
    def row(mask, weights, layer, mean, task="tagging", measure="position"):
        return {"task": task, "mask": mask, "weights": weights, "layer": layer, "measure": measure, "mean": mean}

    rows = [
        row("causal", weights, layer, mean)
        for weights, layer, mean in (("trained", 1, 0.9), ("trained", 2, 0.5), ("random", 1, 0.8), ("random", 2, 0.4))
    ]
    rows += [row("full", "trained", 2, -0.001), row("full", "random", 2, 0.01)]
    rows += [row("causal", "trained", 3, 0.7, task="other"), row("causal", "trained", 2, 0.7, measure="left")]
    assert statements.unordered(rows, "tagging") == (
        "The models of tagging are told no positions. The share of the position’s variance that can be read after "
        "their last block is 0.50 under causal (random weights: 0.40) and 0.00 under full (random weights: 0.01)."
    )
    assert statements.unordered(rows, "absent") == ""
