"""From metric rows to claims: who is compared, paired how, and what is refused."""

import itertools

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from polars import DataFrame
from scipy import stats

from maskstudy import schemas
from maskstudy.comparisons import (
    ABOVE_CEILING,
    CLOSE_TO_CEILING,
    NOT_LEARNED,
    RESAMPLING_SEED,
    WITHIN,
    ceiling_gaps,
    cell_scores,
    compare,
    effect_sizes,
)
from maskstudy.errors import StudyError
from maskstudy.statistics import bca_interval, hierarchical_interval, hierarchical_ratio_interval, holm

SETTINGS = {"alpha": 0.05, "confidence": 0.95, "resamples": 500}
SEEDS = 8
NOISE = np.random.default_rng(0).normal(0, 0.004, size=(3, SEEDS))
NOISE -= NOISE.mean(axis=1, keepdims=True)

# accuracy and nats of every seed; `full` is better in both, `lookahead-1` is as good as `full` but for noise.
VALUES = {
    ("tagging", "causal", "study"): (0.65 + NOISE[0], 1.00 + NOISE[0]),
    ("tagging", "lookahead-1", "study"): (0.75 + NOISE[1], 0.80 + NOISE[1]),
    ("tagging", "full", "study"): (0.75 + NOISE[2], 0.80 + NOISE[2]),
    ("next", "causal", "study"): (0.30 + NOISE[0], 2.0 + NOISE[0]),
    ("next", "full", "control"): (0.99 + NOISE[1], 0.01 + abs(NOISE[1])),
}
ACCESS = {
    ("tagging", "causal"): "left",
    ("tagging", "lookahead-1"): "both",
    ("tagging", "full"): "both",
    ("next", "causal"): "left",
    ("next", "full"): "all",
}
AUDITS = [{"task": task, "mask": mask, "scored_access": digest} for (task, mask), digest in ACCESS.items()]
DECLARED = [
    {"task": "tagging", "metric": "nats", "masks": ["full", "causal"], "margin": 0.01},
    {"task": "tagging", "metric": "accuracy", "masks": ["causal", "full"], "margin": 0.01},
    {"task": "tagging", "metric": "accuracy", "masks": ["lookahead-1", "full"], "margin": 0.01},
]


def metrics(values=VALUES):
    """Rows of metrics.parquet in the order that `gather` writes."""
    return DataFrame(
        [
            {"task": task, "mask": mask, "role": role, "seed": seed, "metric": metric, "value": value[seed]}
            for (task, mask, role), of_cell in values.items()
            for seed in range(len(of_cell[0]))
            for metric, value in zip(("accuracy", "nats"), of_cell, strict=True)
        ]
    )


def compared(rows=None, declared=DECLARED, audits=AUDITS):
    return compare(metrics() if rows is None else rows, audits, declared, SETTINGS)


def pair(row):
    return row["task"], row["metric"], row["mask_a"], row["mask_b"]


class TestCompare:
    def test_tasks_may_have_different_seeds_and_are_each_paired_by_their_own(self):
        rows = metrics()
        alone = compared(rows.filter(pl.col("seed") < 6, task="tagging"))
        beside = compared(rows.filter((pl.col("seed") < 6) | (pl.col("task") == "next")))
        assert {row["seeds"] for row in alone} == {6}
        assert [row for row in beside if row["task"] == "tagging"] == alone

    def test_declared_first_in_their_order_then_every_other_pair(self):
        rows = compared()
        assert [pair(row) for row in rows] == [
            ("tagging", "nats", "full", "causal"),
            ("tagging", "accuracy", "causal", "full"),
            ("tagging", "accuracy", "lookahead-1", "full"),
            ("tagging", "accuracy", "lookahead-1", "causal"),
            ("tagging", "nats", "lookahead-1", "causal"),
            ("tagging", "nats", "full", "lookahead-1"),
        ]
        assert [row["declared"] for row in rows] == [True] * 3 + [False] * 3

    def test_every_pair_of_study_masks_once_and_no_control(self):
        rows = compared(declared=[])
        found = [(row["task"], row["metric"], frozenset((row["mask_a"], row["mask_b"]))) for row in rows]
        masks = ["causal", "lookahead-1", "full"]
        expected = {
            ("tagging", metric, frozenset(two))
            for metric in ("accuracy", "nats")
            for two in itertools.combinations(masks, 2)
        }
        assert len(found) == len(expected)
        assert set(found) == expected

    def test_has_the_columns_and_types_of_the_schema(self):
        for rows in (compared(), compared(declared=[])):
            assert all(list(row) == schemas.COMPARISONS.names for row in rows)
            pa.Table.from_pylist(rows, schemas.COMPARISONS).validate(full=True)

    def test_a_mask_alone_is_compared_with_none(self):
        assert compared(metrics({key: VALUES[key] for key in list(VALUES)[3:]}), []) == []

    def test_numbers_are_those_of_the_paired_differences(self):
        row = compared()[0]
        differences = VALUES["tagging", "full", "study"][1] - VALUES["tagging", "causal", "study"][1]
        interval = bca_interval(differences, 0.95, 500, RESAMPLING_SEED)
        assert row["effect"] == pytest.approx(differences.mean())
        assert (row["low"], row["high"], row["method"]) == (interval.low, interval.high, interval.method)
        assert row["seeds"] == SEEDS
        assert row["p"] == row["smallest_p"] == 2 / 2**SEEDS
        assert row["margin"] == 0.01

    def test_holm_covers_the_declared_family_alone(self):
        family, others = compared()[:3], compared()[3:]
        assert [row["p_holm"] for row in family] == pytest.approx(holm([row["p"] for row in family]))
        assert any(row["p_holm"] > row["p"] for row in family)
        assert {row[name] for row in others for name in ("p_holm", "margin", "p_equivalence")} == {None}
        alone = compared(declared=DECLARED[:1])[0]
        assert alone["p_holm"] == alone["p"]

    def test_equivalence_against_the_declared_margin(self):
        row = compared()[2]
        differences = VALUES["tagging", "lookahead-1", "study"][0] - VALUES["tagging", "full", "study"][0]
        above = stats.ttest_1samp(differences, -0.01, alternative="greater").pvalue
        below = stats.ttest_1samp(differences, 0.01, alternative="less").pvalue
        assert row["p_equivalence"] == pytest.approx(max(above, below))

    def test_verdicts(self):
        verdicts = {pair(row): row["verdict"] for row in compared()}
        assert verdicts["tagging", "nats", "full", "causal"] == "a"  # lower nats are better
        assert verdicts["tagging", "accuracy", "causal", "full"] == "b"
        assert verdicts["tagging", "accuracy", "lookahead-1", "full"] == "equivalent"
        assert verdicts["tagging", "nats", "lookahead-1", "causal"] == "a"  # exploratory, by its plain p
        assert verdicts["tagging", "nats", "full", "lookahead-1"] == "inconclusive"  # never equivalent without a margin

    def test_a_declared_verdict_stands_on_the_corrected_p(self):
        """Five seeds all on one side give .0625 alone; eight give .0078, but not out of a family of seven."""
        values = {("task", f"mask-{i}", "study"): (0.1 * i + NOISE[0], 1 + NOISE[0]) for i in range(8)}
        declared = [
            {"task": "task", "metric": "accuracy", "masks": [f"mask-{i}", "mask-0"], "margin": 0.01}
            for i in range(1, 8)
        ]
        audits = [{"task": "task", "mask": f"mask-{i}", "scored_access": "same"} for i in range(8)]
        assert compare(metrics(values), audits, declared, SETTINGS)[0]["verdict"] == "inconclusive"
        assert compare(metrics(values), audits, declared[:6], SETTINGS)[0]["verdict"] == "a"

    def test_a_margin_may_be_left_out(self):
        entry = {name: value for name, value in DECLARED[2].items() if name != "margin"}
        row = compared(declared=[entry])[0]
        assert row["margin"] is row["p_equivalence"] is None
        assert row["verdict"] == "inconclusive"

    def test_equal_access_is_that_of_the_scored_positions(self):
        found = {pair(row): row["equal_access"] for row in compared()}
        assert found["tagging", "accuracy", "lookahead-1", "full"]
        assert not found["tagging", "accuracy", "causal", "full"]

    def test_seeds_are_paired_by_number_not_by_row(self):
        assert compared(metrics().sample(fraction=1, shuffle=True, seed=1))[:3] == compared()[:3]

    def test_swapping_masks_swaps_the_claim(self):
        swapped = [{**entry, "masks": entry["masks"][::-1]} for entry in DECLARED]
        rows, mirrored = compared(), compared(declared=swapped)
        for row, other in zip(rows[:3], mirrored, strict=False):
            assert other["effect"] == pytest.approx(-row["effect"])
            assert other["p_holm"] == row["p_holm"]
        assert [row["verdict"] for row in mirrored[:3]] == ["b", "a", "equivalent"]
        assert len(mirrored) == len(rows)

    def test_refuses_a_missing_seed_and_names_it(self):
        rows = metrics().remove(task="tagging", mask="full", metric="nats", seed=5)
        with pytest.raises(StudyError, match=r"tagging, mask full, nats: seed 5 is missing"):
            compared(rows)

    def test_refuses_a_missing_metric_and_names_it(self):
        rows = metrics().remove(task="tagging", mask="full", metric="nats")
        with pytest.raises(StudyError, match="tagging, mask full: no nats"):
            compared(rows, declared=[])

    def test_refuses_a_seed_that_stands_twice(self):
        rows = metrics()
        with pytest.raises(StudyError, match="tagging, mask causal, nats: seed 0 stands there twice"):
            compared(pl.concat([rows, rows[1]]))

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_refuses_a_value_that_is_not_finite(self, value):
        rows = metrics()
        rows[2, "value"] = value
        with pytest.raises(StudyError, match="tagging, mask causal, accuracy: seed 1 has the value"):
            compared(rows)

    def test_refuses_a_metric_whose_direction_is_unknown(self):
        with pytest.raises(StudyError, match="bleu: unknown metric"):
            compared(metrics().with_columns(pl.col("metric").replace("nats", "bleu")))

    def test_refuses_fewer_than_two_seeds_even_without_pairs(self):
        with pytest.raises(StudyError, match="1 seed"):
            compared(metrics().filter(task="next", seed=0), declared=[])

    def test_refuses_a_cell_without_an_audit(self):
        with pytest.raises(StudyError, match="tagging, mask causal: no audit"):
            compared(audits=AUDITS[1:])

    @pytest.mark.parametrize(
        ("entry", "message"),
        [
            ({"task": "next", "masks": ["causal", "full"]}, "full is a control"),
            ({"masks": ["causal", "prefix"]}, "under the mask prefix"),
            ({"task": "tags"}, "the task tags"),
            ({"metric": "bleu"}, "the metric bleu"),
            ({"masks": ["full", "full"]}, "two different masks"),
            ({"masks": ["full", "full", "causal"]}, "two different masks"),
            ({"masks": ["full", "causal", "lookahead-1"]}, "two different masks"),
            ({"margin": 0.0}, "margin"),
        ],
    )
    def test_refuses_a_declaration_that_cannot_be_tested(self, entry, message):
        with pytest.raises(StudyError, match=message):
            compared(declared=[{**DECLARED[0], **entry}])

    def test_refuses_a_comparison_declared_twice(self):
        again = {**DECLARED[0], "masks": DECLARED[0]["masks"][::-1]}
        with pytest.raises(StudyError, match="declared twice"):
            compared(declared=[DECLARED[0], again])


EXAMPLES = 400
SCORED = np.random.default_rng(10).integers(0, 4, size=EXAMPLES)


def predictions(correct, nats, scored=SCORED):
    return DataFrame({"example": np.arange(len(scored)), "scored": scored, "correct": correct, "nats": nats})


def observer(task="tagging", mask="causal"):
    generator = np.random.default_rng(11)
    correct = generator.binomial(SCORED, 0.7)
    return cell_scores(task, mask, [predictions(correct, 0.9 * SCORED + 0.1 * correct)])


def model(correct_change=0.0, nats_change=0.0, noise=0.0, seeds=5):
    """A cell whose metrics lie above those of the observer by these amounts a scored position, on average."""
    ideal = observer()
    generator = np.random.default_rng(12)
    tables = []
    for _ in range(seeds):
        wobble = noise * generator.normal(size=EXAMPLES) * SCORED
        tables.append(
            predictions(
                ideal.sums["accuracy"][0] + correct_change * SCORED + wobble,
                ideal.sums["nats"][0] + nats_change * SCORED + wobble,
            )
        )
    return cell_scores("tagging", "causal", tables)


def gaps(cell):
    accuracy, nats = ceiling_gaps([(cell, observer())], SETTINGS)
    assert (accuracy["metric"], nats["metric"]) == ("accuracy", "nats")
    return accuracy, nats


class TestCellScores:
    def test_is_one_row_a_seed_and_one_column_an_example(self):
        scores = cell_scores("t", "m", [predictions(SCORED * 0.5, SCORED * 2.0), predictions(SCORED, SCORED * 3.0)])
        assert scores.sums["accuracy"].shape == scores.sums["nats"].shape == (2, EXAMPLES)
        assert scores.by_seed("accuracy") == pytest.approx([0.5, 1.0])
        assert scores.by_seed("nats") == pytest.approx([2.0, 3.0])

    @pytest.mark.parametrize("column", ["example", "scored"])
    def test_refuses_seeds_that_are_scored_on_other_positions(self, column):
        other = predictions(SCORED, SCORED).with_columns(pl.col(column) + 1)
        with pytest.raises(StudyError, match="tagging, mask full: two seeds"):
            cell_scores("tagging", "full", [predictions(SCORED, SCORED), other])

    def test_refuses_a_test_split_without_answers(self):
        with pytest.raises(StudyError, match="tagging, mask full: no position"):
            cell_scores("tagging", "full", [predictions([0, 0], [0, 0], np.array([0, 0]))])


class TestCeilingGaps:
    def test_above_zero_is_better_than_the_ceiling_in_every_metric(self):
        accuracy, nats = gaps(model(correct_change=0.2, nats_change=0.3, noise=0.5))
        assert accuracy["gap"] == pytest.approx(0.2, abs=0.05)
        assert nats["gap"] == pytest.approx(-0.3, abs=0.05)
        assert accuracy["gap"] == pytest.approx(accuracy["value"] - accuracy["ceiling"])
        assert nats["gap"] == pytest.approx(nats["ceiling"] - nats["value"])
        assert (accuracy["verdict"], nats["verdict"]) == (ABOVE_CEILING, NOT_LEARNED)
        accuracy, nats = gaps(model(correct_change=-0.2, nats_change=-0.3, noise=0.5))
        assert (accuracy["verdict"], nats["verdict"]) == (NOT_LEARNED, ABOVE_CEILING)

    def test_values_are_shares_of_scored_positions(self):
        accuracy, nats = gaps(model())
        assert accuracy["ceiling"] == pytest.approx(observer().sums["accuracy"].sum() / SCORED.sum())
        assert nats["value"] == pytest.approx(observer().sums["nats"].sum() / SCORED.sum())
        assert accuracy["seeds"] == 5

    def test_interval_carries_seeds_and_examples(self):
        cell, ideal = model(noise=0.5), observer()
        accuracy, nats = gaps(cell)
        for row, sign in ((accuracy, 1), (nats, -1)):
            interval = hierarchical_interval(
                sign * (cell.sums[row["metric"]] - ideal.sums[row["metric"]]),
                SCORED,
                confidence=0.95,
                resamples=500,
                seed=RESAMPLING_SEED,
            )
            assert (row["low"], row["high"], row["method"]) == (interval.low, interval.high, "hierarchical")
            assert row["low"] < row["gap"] < row["high"]

    def test_an_observer_out_of_luck_is_not_beaten(self):
        """A gap above 0 that other test examples might not show is within the ceiling, not above it."""
        accuracy, _ = gaps(model(correct_change=0.02, noise=1.0))
        assert accuracy["gap"] > 0 > accuracy["low"]
        assert accuracy["verdict"] == WITHIN

    def test_rounding_of_float32_is_not_above_the_ceiling(self):
        accuracy, nats = gaps(model(nats_change=-1e-7))
        assert nats["low"] > 0
        assert accuracy["verdict"] == nats["verdict"] == WITHIN
        assert gaps(model(nats_change=-1e-5))[1]["verdict"] == ABOVE_CEILING

    def test_within_means_at_most_the_tolerance_below(self):
        assert f"within {CLOSE_TO_CEILING:.2f}".replace("0.", ".") == WITHIN
        for metric, sign in ((0, -1), (1, 1)):
            inside, outside = (
                gaps(model(correct_change=sign * size, nats_change=sign * size))[metric]["verdict"]
                for size in (0.99 * CLOSE_TO_CEILING, 1.01 * CLOSE_TO_CEILING)
            )
            assert (inside, outside) == (WITHIN, NOT_LEARNED)

    def test_has_the_columns_of_the_schema_and_no_rows_without_ceilings(self):
        assert all(list(row) == schemas.CEILING_GAPS.names for row in gaps(model()))
        assert ceiling_gaps([], SETTINGS) == []

    def test_refuses_an_observer_of_other_positions(self):
        other = cell_scores("tagging", "causal", [predictions(SCORED, SCORED, SCORED[::-1])])
        with pytest.raises(StudyError, match="tagging, mask causal: runs and ideal observer"):
            ceiling_gaps([(model(), other)], SETTINGS)

    def test_refuses_one_seed(self):
        with pytest.raises(StudyError, match="1 seed"):
            ceiling_gaps([(model(seeds=1, noise=0.5), observer())], SETTINGS)


class TestEffectSizes:
    def cells(self):
        generator = np.random.default_rng(13)
        return {
            ("tagging", mask): cell_scores(
                "tagging", mask, [predictions(generator.binomial(SCORED, rate), nats * SCORED) for nats in levels]
            )
            for mask, rate, levels in (("full", 0.8, (0.5, 0.6, 0.9)), ("causal", 0.6, (0.7, 0.8, 0.8)))
        }

    def row(self, metric):
        comparisons = [{"task": "tagging", "metric": metric, "mask_a": "full", "mask_b": "causal"}]
        (row,) = effect_sizes(comparisons, self.cells(), SETTINGS)
        return row

    def test_stand_beside_each_comparison(self):
        cells, row = self.cells(), self.row("accuracy")
        differences = cells["tagging", "full"].sums["accuracy"] - cells["tagging", "causal"].sums["accuracy"]
        interval = hierarchical_interval(differences, SCORED, confidence=0.95, resamples=500, seed=RESAMPLING_SEED)
        by_seed = differences.sum(axis=1) / SCORED.sum()
        assert list(row) == schemas.EFFECTS.names
        assert pair(row) == ("tagging", "accuracy", "full", "causal")
        assert (row["low"], row["high"], row["method"]) == (interval.low, interval.high, interval.method)
        assert row["superiority"] == 1.0
        assert row["standardised_effect"] == pytest.approx(by_seed.mean() / by_seed.std(ddof=1))

    def test_a_ratio_whose_totals_differ_has_an_interval_of_ratios(self):
        generator = np.random.default_rng(5)
        cells = {}
        for mask in ("full", "causal"):
            tables = []
            for _ in range(3):
                words = (np.arange(len(SCORED)) % 2 == 0).astype(int)  # every second example is another variant
                phonemes = words * generator.integers(4, 8, len(SCORED))
                errors = words * generator.integers(0, 3, len(SCORED))
                table = predictions(SCORED, SCORED)
                tables.append(
                    table.with_columns(words=words, wrong_words=errors > 0, phonemes=phonemes, phoneme_errors=errors)
                )
            cells["tagging", mask] = cell_scores("tagging", mask, tables)
        scores = cells["tagging", "full"]
        assert list(scores.sums) == ["accuracy", "nats", "per", "wer"]
        np.testing.assert_allclose(
            scores.by_seed("per"), scores.sums["per"].sum(1) / scores.totals["per"].sum(1), rtol=1e-12
        )
        comparisons = [
            {"task": "tagging", "metric": metric, "mask_a": "full", "mask_b": "causal"} for metric in ("per", "wer")
        ]
        per, wer = effect_sizes(comparisons, cells, SETTINGS)
        a, b = ((cells["tagging", mask].sums, cells["tagging", mask].totals) for mask in ("full", "causal"))
        how = {"confidence": 0.95, "resamples": 500, "seed": RESAMPLING_SEED}
        ratio = hierarchical_ratio_interval((a[0]["per"], a[1]["per"]), (b[0]["per"], b[1]["per"]), **how)
        assert (per["low"], per["high"]) == (ratio.low, ratio.high)
        plain = hierarchical_interval(a[0]["wer"] - b[0]["wer"], a[1]["wer"][0], **how)
        assert (wer["low"], wer["high"]) == (plain.low, plain.high)

    def test_superiority_is_that_of_the_better_value(self):
        """In nats the lower one wins: `full` under two of three seeds."""
        row = self.row("nats")
        assert row["superiority"] == pytest.approx(2 / 3)
        assert row["standardised_effect"] < 0

    def test_refuses_masks_that_are_scored_on_other_positions(self):
        cells = self.cells()
        cells["tagging", "full"] = cell_scores("tagging", "full", [predictions(SCORED, SCORED, SCORED[::-1])] * 3)
        comparisons = [{"task": "tagging", "metric": "nats", "mask_a": "full", "mask_b": "causal"}]
        with pytest.raises(StudyError, match="masks full and causal"):
            effect_sizes(comparisons, cells, SETTINGS)
