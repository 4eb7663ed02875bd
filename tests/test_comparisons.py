"""From metric rows to claims: who is compared, paired how, and what is refused."""

import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
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
    return pd.DataFrame(
        [
            {"task": task, "mask": mask, "role": role, "seed": seed, "metric": metric, "value": value[seed]}
            for (task, mask, role), of_cell in values.items()
            for seed in range(len(of_cell[0]))
            for metric, value in zip(("accuracy", "nats"), of_cell, strict=True)
        ]
    )


def compared(rows=None, declared=DECLARED, audits=AUDITS):
    return compare(metrics() if rows is None else rows, audits, declared, SETTINGS)


def pairs(table):
    return list(table[["task", "metric", "mask_a", "mask_b"]].itertuples(index=False, name=None))


class TestCompare:
    def test_tasks_may_have_different_seeds_and_are_each_paired_by_their_own(self):
        rows = metrics()
        fewer = rows[(rows["task"] != "tagging") | (rows["seed"] < 6)]
        table = compared(fewer)
        assert set(table.loc[table["task"] == "tagging", "seeds"]) == {6}
        alone = compared(rows[(rows["task"] == "tagging") & (rows["seed"] < 6)])
        pd.testing.assert_frame_equal(table[table["task"] == "tagging"].reset_index(drop=True), alone)

    def test_declared_first_in_their_order_then_every_other_pair(self):
        table = compared()
        assert pairs(table) == [
            ("tagging", "nats", "full", "causal"),
            ("tagging", "accuracy", "causal", "full"),
            ("tagging", "accuracy", "lookahead-1", "full"),
            ("tagging", "accuracy", "lookahead-1", "causal"),
            ("tagging", "nats", "lookahead-1", "causal"),
            ("tagging", "nats", "full", "lookahead-1"),
        ]
        assert table["declared"].tolist() == [True] * 3 + [False] * 3

    def test_every_pair_of_study_masks_once_and_no_control(self):
        found = [(task, metric, frozenset(masks)) for task, metric, *masks in pairs(compared(declared=[]))]
        masks = ["causal", "lookahead-1", "full"]
        expected = {
            ("tagging", metric, frozenset(pair))
            for metric in ("accuracy", "nats")
            for pair in itertools.combinations(masks, 2)
        }
        assert len(found) == len(expected)
        assert set(found) == expected

    def test_has_the_columns_and_types_of_the_schema(self):
        for table in (
            compared(),
            compared(declared=[]),
            compared(metrics({k: VALUES[k] for k in list(VALUES)[3:]}), []),
        ):
            assert pa.Table.from_pandas(table, preserve_index=False).schema.names == schemas.COMPARISONS.names
            pa.Table.from_pandas(table, schema=schemas.COMPARISONS, preserve_index=False).validate(full=True)
            assert table["low"].dtype == float

    def test_numbers_are_those_of_the_paired_differences(self):
        table = compared()
        row = table.iloc[0]
        differences = VALUES["tagging", "full", "study"][1] - VALUES["tagging", "causal", "study"][1]
        interval = bca_interval(differences, 0.95, 500, RESAMPLING_SEED)
        assert row["effect"] == pytest.approx(differences.mean())
        assert (row["low"], row["high"], row["method"]) == (interval.low, interval.high, interval.method)
        assert row["seeds"] == SEEDS
        assert row["p"] == row["smallest_p"] == 2 / 2**SEEDS
        assert row["margin"] == 0.01

    def test_holm_covers_the_declared_family_alone(self):
        table = compared()
        family = table[table["declared"]]
        assert family["p_holm"].to_numpy() == pytest.approx(holm(family["p"].to_numpy()))
        assert (family["p_holm"] > family["p"]).any()
        assert table.loc[~table["declared"], ["p_holm", "margin", "p_equivalence"]].isna().all(axis=None)
        alone = compared(declared=DECLARED[:1])
        assert alone["p_holm"][0] == alone["p"][0]

    def test_equivalence_against_the_declared_margin(self):
        row = compared().iloc[2]
        differences = VALUES["tagging", "lookahead-1", "study"][0] - VALUES["tagging", "full", "study"][0]
        above = stats.ttest_1samp(differences, -0.01, alternative="greater").pvalue
        below = stats.ttest_1samp(differences, 0.01, alternative="less").pvalue
        assert row["p_equivalence"] == pytest.approx(max(above, below))

    def test_verdicts(self):
        verdicts = dict(zip(pairs(compared()), compared()["verdict"], strict=True))
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
        assert compare(metrics(values), audits, declared, SETTINGS)["verdict"][0] == "inconclusive"
        assert compare(metrics(values), audits, declared[:6], SETTINGS)["verdict"][0] == "a"

    def test_a_margin_may_be_left_out(self):
        entry = {name: value for name, value in DECLARED[2].items() if name != "margin"}
        row = compared(declared=[entry]).iloc[0]
        assert row[["margin", "p_equivalence"]].isna().all()
        assert row["verdict"] == "inconclusive"

    def test_equal_access_is_that_of_the_scored_positions(self):
        found = dict(zip(pairs(compared()), compared()["equal_access"], strict=True))
        assert found["tagging", "accuracy", "lookahead-1", "full"]
        assert not found["tagging", "accuracy", "causal", "full"]

    def test_seeds_are_paired_by_number_not_by_row(self):
        shuffled = metrics().sample(frac=1, random_state=1)
        same = compared(shuffled).set_index(["task", "metric", "mask_a", "mask_b"])
        for key, row in compared().set_index(["task", "metric", "mask_a", "mask_b"]).iloc[:3].iterrows():
            pd.testing.assert_series_equal(row, same.loc[key])

    def test_swapping_masks_swaps_the_claim(self):
        swapped = [{**entry, "masks": entry["masks"][::-1]} for entry in DECLARED]
        table, mirrored = compared().iloc[:3], compared(declared=swapped).iloc[:3]
        assert mirrored["effect"].to_numpy() == pytest.approx(-table["effect"].to_numpy())
        assert mirrored["p_holm"].tolist() == table["p_holm"].tolist()
        assert mirrored["verdict"].tolist() == ["b", "a", "equivalent"]
        assert len(compared(declared=swapped)) == len(compared())

    def test_refuses_a_missing_seed_and_names_it(self):
        rows = metrics()
        gone = (rows["mask"] == "full") & (rows["task"] == "tagging") & (rows["seed"] == 5) & (rows["metric"] == "nats")
        with pytest.raises(StudyError, match=r"tagging, mask full, nats: seed 5 is missing"):
            compared(rows[~gone])

    def test_refuses_a_missing_metric_and_names_it(self):
        rows = metrics()
        gone = (rows["mask"] == "full") & (rows["task"] == "tagging") & (rows["metric"] == "nats")
        with pytest.raises(StudyError, match="tagging, mask full: no nats"):
            compared(rows[~gone], declared=[])

    def test_refuses_a_seed_that_stands_twice(self):
        rows = metrics()
        with pytest.raises(StudyError, match="tagging, mask causal, nats: seed 0 stands there twice"):
            compared(pd.concat([rows, rows.iloc[[1]]]))

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_refuses_a_value_that_is_not_finite(self, value):
        rows = metrics()
        rows.loc[2, "value"] = value
        with pytest.raises(StudyError, match="tagging, mask causal, accuracy: seed 1 has the value"):
            compared(rows)

    def test_refuses_a_metric_whose_direction_is_unknown(self):
        with pytest.raises(StudyError, match="bleu: unknown metric"):
            compared(metrics().replace({"metric": {"nats": "bleu"}}))

    def test_refuses_fewer_than_two_seeds_even_without_pairs(self):
        rows = metrics()
        with pytest.raises(StudyError, match="1 seed"):
            compared(rows[(rows["seed"] == 0) & (rows["task"] == "next")], declared=[])

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
    return pd.DataFrame({"example": np.arange(len(scored)), "scored": scored, "correct": correct, "nats": nats})


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
    table = ceiling_gaps([(cell, observer())], SETTINGS)
    assert table["metric"].tolist() == ["accuracy", "nats"]
    return table.iloc[0], table.iloc[1]


class TestCellScores:
    def test_is_one_row_a_seed_and_one_column_an_example(self):
        scores = cell_scores("t", "m", [predictions(SCORED * 0.5, SCORED * 2.0), predictions(SCORED, SCORED * 3.0)])
        assert scores.sums["accuracy"].shape == scores.sums["nats"].shape == (2, EXAMPLES)
        assert scores.by_seed("accuracy") == pytest.approx([0.5, 1.0])
        assert scores.by_seed("nats") == pytest.approx([2.0, 3.0])

    @pytest.mark.parametrize("column", ["example", "scored"])
    def test_refuses_seeds_that_are_scored_on_other_positions(self, column):
        other = predictions(SCORED, SCORED)
        other[column] = other[column] + 1
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

    def test_has_the_columns_of_the_schema_also_without_ceilings(self):
        for table in (ceiling_gaps([(model(), observer())], SETTINGS), ceiling_gaps([], SETTINGS)):
            assert list(table.columns) == schemas.CEILING_GAPS.names

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

    def rows(self, metric):
        comparisons = pd.DataFrame([{"task": "tagging", "metric": metric, "mask_a": "full", "mask_b": "causal"}])
        return effect_sizes(comparisons, self.cells(), SETTINGS).iloc[0]

    def test_stand_beside_each_comparison(self):
        cells, row = self.cells(), self.rows("accuracy")
        differences = cells["tagging", "full"].sums["accuracy"] - cells["tagging", "causal"].sums["accuracy"]
        interval = hierarchical_interval(differences, SCORED, confidence=0.95, resamples=500, seed=RESAMPLING_SEED)
        by_seed = differences.sum(axis=1) / SCORED.sum()
        assert tuple(row[["task", "metric", "mask_a", "mask_b"]]) == ("tagging", "accuracy", "full", "causal")
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
                    table.assign(words=words, wrong_words=errors > 0, phonemes=phonemes, phoneme_errors=errors)
                )
            cells["tagging", mask] = cell_scores("tagging", mask, tables)
        scores = cells["tagging", "full"]
        assert list(scores.sums) == ["accuracy", "nats", "per", "wer"]
        np.testing.assert_allclose(
            scores.by_seed("per"), scores.sums["per"].sum(1) / scores.totals["per"].sum(1), rtol=1e-12
        )
        comparisons = pd.DataFrame(
            [{"task": "tagging", "metric": metric, "mask_a": "full", "mask_b": "causal"} for metric in ("per", "wer")]
        )
        per, wer = (row for _, row in effect_sizes(comparisons, cells, SETTINGS).iterrows())
        a, b = ((cells["tagging", mask].sums, cells["tagging", mask].totals) for mask in ("full", "causal"))
        how = {"confidence": 0.95, "resamples": 500, "seed": RESAMPLING_SEED}
        ratio = hierarchical_ratio_interval((a[0]["per"], a[1]["per"]), (b[0]["per"], b[1]["per"]), **how)
        assert (per["low"], per["high"]) == (ratio.low, ratio.high)
        plain = hierarchical_interval(a[0]["wer"] - b[0]["wer"], a[1]["wer"][0], **how)
        assert (wer["low"], wer["high"]) == (plain.low, plain.high)

    def test_superiority_is_that_of_the_better_value(self):
        """In nats the lower one wins: `full` under two of three seeds."""
        row = self.rows("nats")
        assert row["superiority"] == pytest.approx(2 / 3)
        assert row["standardised_effect"] < 0

    def test_refuses_masks_that_are_scored_on_other_positions(self):
        cells = self.cells()
        cells["tagging", "full"] = cell_scores("tagging", "full", [predictions(SCORED, SCORED, SCORED[::-1])] * 3)
        comparisons = pd.DataFrame([{"task": "tagging", "metric": "nats", "mask_a": "full", "mask_b": "causal"}])
        with pytest.raises(StudyError, match="masks full and causal"):
            effect_sizes(comparisons, cells, SETTINGS)
