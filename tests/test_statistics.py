"""Statistics against exhaustive enumeration, closed forms and scipy."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from maskstudy import statistics
from maskstudy.errors import StudyError
from maskstudy.statistics import (
    MOST_SEEDS,
    Interval,
    bca_interval,
    equivalence_p,
    hierarchical_interval,
    hierarchical_ratio_interval,
    holm,
    probability_of_superiority,
    reachable,
    sign_flip_p,
    smallest_p,
    standardised_effect,
    verdict,
)

SKEWED = np.array([0.011, 0.013, 0.017, 0.024, 0.039, 0.094])


def bca(differences, confidence=0.95, resamples=2000, seed=0):
    return bca_interval(differences, confidence, resamples, seed)


def hierarchical(differences, totals=None, confidence=0.95, resamples=2000, seed=0):
    return hierarchical_interval(differences, totals, confidence=confidence, resamples=resamples, seed=seed)


def all_resamples(size):
    """Every one of the size^size equally likely resamples, as indices `[size^size, size]`."""
    return np.array(list(itertools.product(range(size), repeat=size)))


class TestBcaInterval:
    @pytest.mark.parametrize("values", [SKEWED, -SKEWED, np.array([-0.4, -0.1, 0.0, 0.1, 0.15, 0.5])])
    @pytest.mark.parametrize("confidence", [0.8, 0.95])
    def test_is_the_bca_interval_of_all_resamples(self, values, confidence):
        """Efron & Tibshirani (1993), equations 14.9 to 14.15, over all 6^6 resamples."""
        means = values[all_resamples(6)].mean(axis=1)
        below = (np.mean(means < values.mean() - 1e-12) + np.mean(means <= values.mean() + 1e-12)) / 2
        bias = stats.norm.ppf(below)
        jackknife = np.array([np.delete(values, index).mean() for index in range(6)])
        centred = jackknife.mean() - jackknife
        acceleration = (centred**3).sum() / (6 * (centred**2).sum() ** 1.5)
        shifted = bias + stats.norm.ppf([(1 - confidence) / 2, (1 + confidence) / 2])
        levels = stats.norm.cdf(bias + shifted / (1 - acceleration * shifted))

        interval = bca(values, confidence, resamples=40_000)

        assert interval.method == "BCa"
        for end, level in zip((interval.low, interval.high), levels, strict=True):
            assert np.mean(means < end - 1e-12) - 0.005 <= level <= np.mean(means <= end + 1e-12) + 0.005

    def test_leans_towards_the_long_tail(self):
        interval = bca(SKEWED)
        assert interval.high - SKEWED.mean() > SKEWED.mean() - interval.low

    @given(st.lists(st.integers(-9, 9), min_size=3, max_size=4, unique=True))
    @settings(deadline=None, max_examples=30)
    def test_rounding_does_not_move_it(self, thousandths):
        """Most resamples of few seeds tie with the mean; in binary fractions they must do so as well."""
        exact, rounded = bca(np.array(thousandths), resamples=500), bca(np.array(thousandths) / 1000, resamples=500)
        assert (rounded.low, rounded.high) == pytest.approx((exact.low / 1000, exact.high / 1000), abs=1e-9)

    def test_follows_a_change_of_unit(self):
        interval, moved = bca(SKEWED), bca(3 + 100 * SKEWED)
        assert (moved.low, moved.high) == pytest.approx((3 + 100 * interval.low, 3 + 100 * interval.high))

    def test_same_arguments_same_interval(self):
        assert bca(SKEWED, seed=1) == bca(SKEWED, seed=1) != bca(SKEWED, seed=2)

    def test_more_confidence_is_wider(self):
        assert bca(SKEWED, 0.99).low < bca(SKEWED, 0.9).low < bca(SKEWED, 0.9).high < bca(SKEWED, 0.99).high

    def test_covers_the_true_mean(self):
        generator = np.random.default_rng(0)
        intervals = [bca(generator.normal(0.3, 1, size=10), resamples=300) for _ in range(200)]
        coverage = np.mean([interval.low <= 0.3 <= interval.high for interval in intervals])
        assert 0.85 <= coverage <= 0.98  # over ten values the bootstrap covers about .91

    @pytest.mark.parametrize("values", [[0.25] * 5, [0.0, 0.0], [0.8 - 0.7, 0.7 - 0.6, 0.3 - 0.2]])
    def test_equal_values_have_an_interval_of_width_zero(self, values):
        interval = bca(values)
        assert interval.method == "constant"
        assert interval.low == interval.high == pytest.approx(np.mean(values))

    def test_percentile_and_said_so_where_bca_degenerates(self):
        """With two resamples it happens that both lie on one side of the mean: the bias is infinite."""
        degenerate = [seed for seed in range(20) if bca(SKEWED, resamples=2, seed=seed).method != "BCa"]
        assert degenerate
        for seed in degenerate:
            wide, narrow = (bca(SKEWED, confidence, resamples=2, seed=seed) for confidence in (0.9, 0.5))
            assert wide.method == narrow.method == "percentile"
            # Percentiles of two values lie between them in proportion.
            assert wide.high - wide.low == pytest.approx(0.9 / 0.5 * (narrow.high - narrow.low))
            assert wide.high + wide.low == pytest.approx(narrow.high + narrow.low)

    def test_width_zero_is_an_error_where_values_differ(self):
        """Two resamples of two seeds may be alike; then the interval is an error, whatever its method."""
        refused = set()
        for seed in range(30):
            try:
                interval = bca([1.0, 2.0], resamples=2, seed=seed)
            except StudyError as refusal:
                refused.add(
                    re.match(r"(\w+) interval .* has width 0 .*raise statistics.resamples", str(refusal)).group(1)
                )
            else:
                assert interval.low < interval.high
        assert refused == {"BCa", "percentile"}

    def test_two_seeds_span_their_values(self):
        assert bca([0.1, 0.3]) == Interval(0.1, 0.3, "BCa")

    def test_refuses_one_seed(self):
        with pytest.raises(StudyError, match="1 seed"):
            bca([0.3])

    @pytest.mark.parametrize("values", [[0.1, np.nan, 0.2], [0.1, np.inf]])
    def test_refuses_what_is_not_finite(self, values):
        with pytest.raises(ValueError, match="finite"):
            bca(values)

    def test_refuses_a_second_axis(self):
        with pytest.raises(ValueError, match="seeds"):
            bca(np.ones((3, 4)))


class TestHierarchicalInterval:
    def test_is_the_crossed_bootstrap_of_all_resamples(self):
        """Both axes drawn independently, the statistic a ratio of sums: 3^3 seed draws times 4^4 example draws."""
        differences = np.array([[1.3, -0.2, 2.9, 0.4], [0.1, 0.7, 1.1, -1.7], [2.3, 1.9, 4.7, 0.6]])
        totals = np.array([2.0, 1.0, 5.0, 3.0])
        ratios = np.array(
            [
                differences[np.ix_(seeds, examples)].sum() / (3 * totals[examples].sum())
                for seeds in all_resamples(3)
                for examples in all_resamples(4)
            ]
        )
        interval = hierarchical(differences, totals, confidence=0.8, resamples=40_000)
        assert interval.method == "hierarchical"
        assert np.mean(ratios < interval.low) == pytest.approx(0.1, abs=0.01)
        assert np.mean(ratios > interval.high) == pytest.approx(0.1, abs=0.01)

    def test_ratios_of_equal_totals_are_those_of_the_plain_one(self):
        generator = np.random.default_rng(7)
        a, b = generator.integers(0, 4, (2, 3, 20)).astype(float)
        totals = np.repeat(generator.integers(4, 9, (1, 20)), 3, axis=0).astype(float)
        how = {"confidence": 0.9, "resamples": 1000, "seed": 1}
        ratio = hierarchical_ratio_interval((a, totals), (b, totals), **how)
        plain = hierarchical_interval(a - b, totals[0], **how)
        assert (ratio.low, ratio.high) == pytest.approx((plain.low, plain.high), abs=1e-12)
        assert ratio.method == plain.method

    def test_ratios_are_all_crossed_resamples_where_totals_differ(self):
        generator = np.random.default_rng(8)
        sums = generator.integers(0, 5, (2, 3, 4)).astype(float)
        totals = generator.integers(5, 9, (2, 3, 4)).astype(float)
        differences = []
        for examples in all_resamples(4):
            chosen = list(examples)
            rates = sums[:, :, chosen].sum(2) / totals[:, :, chosen].sum(2)
            differences += [(rates[0] - rates[1])[list(seeds)].mean() for seeds in all_resamples(3)]
        interval = hierarchical_ratio_interval(
            (sums[0], totals[0]), (sums[1], totals[1]), confidence=0.8, resamples=40_000, seed=0
        )
        assert interval.method == "hierarchical"
        assert np.mean(np.array(differences) < interval.low) == pytest.approx(0.1, abs=0.01)
        assert np.mean(np.array(differences) > interval.high) == pytest.approx(0.1, abs=0.01)

    def test_ratios_leave_out_examples_without_totals_and_refuse_what_does_not_fit(self):
        how = {"confidence": 0.9, "resamples": 500, "seed": 1}
        generator = np.random.default_rng(9)
        a, b = generator.integers(0, 3, (2, 3, 10)).astype(float)
        totals = generator.integers(3, 6, (2, 3, 10)).astype(float)
        whole = hierarchical_ratio_interval((a, totals[0]), (b, totals[1]), **how)
        padded = [np.insert(each, [0, 5, 10], 0.0, axis=1) for each in (a, totals[0], b, totals[1])]
        assert hierarchical_ratio_interval(tuple(padded[:2]), tuple(padded[2:]), **how) == whole
        some = totals[0].copy()
        some[1, 4] = 0
        with pytest.raises(ValueError, match="in some seeds alone"):
            hierarchical_ratio_interval((a, some), (b, totals[1]), **how)
        with pytest.raises(ValueError, match="finite and"):
            hierarchical_ratio_interval((a * np.nan, totals[0]), (b, totals[1]), **how)
        with pytest.raises(StudyError, match=r"1 seed\(s\)"):
            hierarchical_ratio_interval((a[:1], totals[0, :1]), (b[:1], totals[1, :1]), **how)
        assert hierarchical_ratio_interval((a, totals[0]), (a, totals[0]), **how).method == "constant"

    def test_each_axis_counts(self):
        """Seeds alike leave the chance of the examples, examples alike that of the seeds; neither has no width."""
        generator = np.random.default_rng(3)
        of_seed, of_example = generator.normal(size=(6, 1)), generator.normal(size=(1, 50))
        only_seeds = hierarchical(np.repeat(of_seed, 50, axis=1))
        only_examples = hierarchical(np.repeat(of_example, 6, axis=0))
        assert only_seeds.high - only_seeds.low == pytest.approx(3.7 * of_seed.std() / np.sqrt(6), rel=0.15)
        assert only_examples.high - only_examples.low == pytest.approx(3.92 * of_example.std() / np.sqrt(50), rel=0.15)

    def test_axes_are_seeds_then_examples(self):
        differences = np.random.default_rng(4).normal(size=(3, 40))
        with pytest.raises(ValueError, match="examples"):
            hierarchical(differences, np.ones(3))
        with pytest.raises(ValueError, match="seeds, examples"):
            hierarchical(differences[0])

    def test_totals_of_one_are_the_default(self):
        differences = np.random.default_rng(5).normal(size=(3, 40))
        assert hierarchical(differences) == hierarchical(differences, np.ones(40))

    def test_examples_that_are_not_scored_change_nothing(self):
        differences = np.random.default_rng(6).normal(size=(4, 30))
        padded = np.insert(differences, [0, 7, 30], 0.0, axis=1)
        totals = np.insert(np.full(30, 2.0), [0, 7, 30], 0.0)
        assert hierarchical(padded, totals) == hierarchical(differences, np.full(30, 2.0))

    def test_chunks_do_not_change_the_distribution(self, monkeypatch):
        differences = np.random.default_rng(7).normal(size=(5, 40))
        whole = hierarchical(differences, resamples=20_000)
        monkeypatch.setattr(statistics, "_CHUNK", 300)  # 7 rows, and a rest
        in_chunks = hierarchical(differences, resamples=20_000)
        assert (in_chunks.low, in_chunks.high) == pytest.approx((whole.low, whole.high), abs=0.02)

    def test_same_arguments_same_interval(self):
        differences = np.random.default_rng(8).normal(size=(4, 30))
        assert (
            hierarchical(differences, seed=1) == hierarchical(differences, seed=1) != hierarchical(differences, seed=2)
        )

    def test_covers_the_true_mean_of_crossed_effects(self):
        generator = np.random.default_rng(9)
        covered = []
        for _ in range(200):
            values = 0.2 + generator.normal(size=(10, 1)) + 3 * generator.normal(size=(1, 60))
            interval = hierarchical(values + generator.normal(size=(10, 60)), resamples=300)
            covered.append(interval.low <= 0.2 <= interval.high)
        assert 0.89 <= np.mean(covered) <= 0.99  # seeds alone, or examples alone, would cover less than .85

    def test_equal_differences_per_scored_position_are_constant(self):
        totals = np.array([1.0, 4.0, 2.0])
        interval = hierarchical(0.1 * np.tile(totals, (3, 1)), totals)
        assert interval.method == "constant"
        assert interval.low == interval.high == pytest.approx(0.1)

    def test_width_zero_is_an_error_where_values_differ(self):
        with pytest.raises(StudyError, match="width 0"):
            hierarchical([[1.0, 2.0], [3.0, 5.0]], resamples=1)

    @pytest.mark.parametrize("shape", [(1, 10), (10, 1)])
    def test_refuses_one_seed_and_one_example(self, shape):
        with pytest.raises(StudyError, match=r"1 (seed|scored test example)"):
            hierarchical(np.ones(shape))

    @pytest.mark.parametrize(
        ("differences", "totals"),
        [
            ([[1.0, np.nan], [0.0, 0.0]], [1.0, 1.0]),
            ([[1.0, 2.0], [0.0, 0.0]], [1.0, -1.0]),
            ([[1.0, 2.0], [0.0, 0.0]], [1.0, np.inf]),
            ([[1.0, 2.0, 1.0], [0.0, 0.0, 0.0]], [1.0, 0.0, 1.0]),
        ],
    )
    def test_refuses_numbers_that_make_no_sense(self, differences, totals):
        with pytest.raises(ValueError, match=r"finite|without scored positions"):
            hierarchical(differences, totals)


class TestSignFlip:
    @given(st.lists(st.integers(-6, 6), min_size=2, max_size=9))
    @settings(deadline=None)
    def test_is_the_share_of_all_assignments(self, differences):
        """Integers: no rounding in the oracle, and many ties and zeros."""
        sums = [
            abs(sum(sign * value for sign, value in zip(signs, differences, strict=True)))
            for signs in itertools.product([1, -1], repeat=len(differences))
        ]
        expected = np.mean([total >= abs(sum(differences)) for total in sums])
        assert sign_flip_p(np.array(differences) / 10) == pytest.approx(expected, abs=1e-12)  # / 10: now with rounding

    @pytest.mark.parametrize("seeds", [2, 3, 7, 10])
    def test_agrees_with_scipy(self, seeds):
        differences = np.random.default_rng(seeds).normal(0.4, 1, size=seeds)
        exact = stats.permutation_test(
            (differences,), np.mean, permutation_type="samples", n_resamples=np.inf, vectorized=True
        )
        assert sign_flip_p(differences) == pytest.approx(exact.pvalue, rel=1e-9)

    @pytest.mark.parametrize("seeds", [21, 30, MOST_SEEDS])
    def test_of_signed_ranks_is_wilcoxons_exact_test(self, seeds):
        """The signed-rank test is the sign-flip test of ranks: an oracle where nobody can list 2^seeds assignments."""
        generator = np.random.default_rng(seeds)
        ranks = (np.arange(seeds) + 1) * np.where(generator.random(seeds) < 0.7, 1, -1)
        assert sign_flip_p(ranks) == pytest.approx(stats.wilcoxon(ranks, method="exact").pvalue, rel=1e-9)

    @pytest.mark.parametrize("seeds", [2, 5, 10, 31])
    def test_one_sign_gives_the_smallest_p(self, seeds):
        differences = np.random.default_rng(1).uniform(0.1, 1, size=seeds)
        assert sign_flip_p(differences) == sign_flip_p(-differences) == smallest_p(seeds)

    def test_smallest_p_of_the_design(self):
        assert smallest_p(5) == 0.0625
        assert smallest_p(10) == pytest.approx(0.002, abs=5e-5)

    @pytest.mark.parametrize("values", [[0.0] * 6, [1e-16, -1e-16, 2e-16, 1e-16, 1e-16, 1e-16]])
    def test_no_difference_but_rounding_is_no_evidence(self, values):
        assert sign_flip_p(values) == 1.0

    def test_rounding_does_not_break_ties(self):
        """Sums equal in decimal but not in binary: every assignment of equal size counts."""
        differences = [0.8 - 0.7, 0.7 - 0.6, 0.3 - 0.2, 0.1 - 0.2]
        assert sign_flip_p(differences) == 10 / 16

    def test_refuses_one_seed_with_its_smallest_p(self):
        with pytest.raises(StudyError, match=r"1 seed.*smallest p is 1;.*2 or more"):
            sign_flip_p([0.3])

    def test_refuses_more_seeds_than_it_can_count(self):
        with pytest.raises(StudyError, match=f"at most {MOST_SEEDS}"):
            sign_flip_p(np.ones(MOST_SEEDS + 1))


class TestHolm:
    @given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
    @settings(deadline=None)
    def test_is_the_closure_of_bonferroni(self, p_values):
        """Marcus, Peritz & Gabriel (1976): reject a hypothesis if every intersection that holds it is rejected."""
        size = len(p_values)
        subsets = [subset for count in range(1, size + 1) for subset in itertools.combinations(range(size), count)]
        expected = [
            max(min(1.0, len(subset) * min(p_values[i] for i in subset)) for subset in subsets if index in subset)
            for index in range(size)
        ]
        assert holm(p_values) == pytest.approx(expected)

    def test_of_an_empty_family_is_empty(self):
        assert holm([]).shape == (0,)

    @pytest.mark.parametrize("value", [np.nan, -0.1, 1.1])
    def test_refuses_what_is_no_probability(self, value):
        with pytest.raises(ValueError, match="between 0 and 1"):
            holm([0.01, value])


class TestReachable:
    @pytest.mark.parametrize("alpha", [0.05, 0.01, 1 / 8])
    def test_agrees_with_the_best_case(self, alpha):
        """The clearest results there can be: all seeds on one side, in every comparison of the family."""
        for comparisons, seeds in itertools.product(range(1, 8), range(2, 12)):
            best = holm([sign_flip_p(np.ones(seeds))] * comparisons).min()
            if best <= alpha:
                assert reachable(comparisons, seeds, alpha) == best
            else:
                with pytest.raises(StudyError, match=re.escape(f"is {best:.3g}, above alpha {alpha:g}")) as refusal:
                    reachable(comparisons, seeds, alpha)
                enough = int(re.search(r"set seeds to (\d+) or more", str(refusal.value)).group(1))
                assert reachable(comparisons, enough, alpha) <= alpha
                assert comparisons * smallest_p(enough - 1) > alpha

    def test_without_declared_comparisons_two_seeds_do(self):
        assert reachable(0, 2, 0.05) == 0.5

    @pytest.mark.parametrize("comparisons", [0, 1, 3])
    def test_refuses_one_seed(self, comparisons):
        with pytest.raises(StudyError, match="1 seed"):
            reachable(comparisons, 1, 0.05)

    def test_refuses_before_training_what_the_test_would_refuse_after_it(self):
        with pytest.raises(StudyError, match=f"at most {MOST_SEEDS}"):
            reachable(1, MOST_SEEDS + 1, 0.05)


class TestEquivalence:
    @given(
        st.lists(st.integers(-50, 50), min_size=2, max_size=12).filter(lambda values: len(set(values)) > 1),
        st.integers(1, 60),
    )
    @settings(deadline=None)
    def test_is_the_larger_of_two_one_sided_t_tests(self, thousandths, margin):
        differences = np.array(thousandths) / 1000
        above = stats.ttest_1samp(differences, -margin / 1000, alternative="greater").pvalue
        below = stats.ttest_1samp(differences, margin / 1000, alternative="less").pvalue
        assert equivalence_p(differences, margin / 1000) == pytest.approx(max(above, below), rel=1e-6, abs=1e-12)

    @pytest.mark.parametrize("margin", [0.0105, 0.0113])
    def test_rejects_where_the_90_percent_interval_lies_within_the_margin(self, margin):
        """The test and the interval of twice its level say the same (Schuirmann 1987)."""
        differences = np.array([-0.004, 0.009, 0.011, 0.002, 0.013])
        interval = stats.ttest_1samp(differences, 0).confidence_interval(0.90)
        inside = -margin < interval.low and interval.high < margin
        assert (equivalence_p(differences, margin) < 0.05) == inside

    @pytest.mark.parametrize(("value", "p"), [(0.0, 0.0), (0.004, 0.0), (-0.004, 0.0), (0.005, 1.0), (-0.006, 1.0)])
    def test_equal_differences_are_inside_or_outside(self, value, p):
        assert equivalence_p([value] * 3, 0.005) == p

    def test_a_difference_of_the_margin_is_not_inside_by_rounding(self):
        assert 0.3 - 0.2 < 0.1
        assert equivalence_p([0.3 - 0.2] * 3, 0.1) == 1.0

    @pytest.mark.parametrize("margin", [0.0, -0.01, float("nan")])
    def test_refuses_a_margin_without_room(self, margin):
        with pytest.raises(StudyError, match="margin"):
            equivalence_p([0.1, 0.2], margin)

    def test_refuses_one_seed(self):
        with pytest.raises(StudyError, match="1 seed"):
            equivalence_p([0.0], 0.01)


class TestEffects:
    @given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=10))
    def test_superiority_counts_wins_and_half_the_ties_of_partners(self, pairs):
        a, b = np.array(pairs).T / 10
        expected = sum((x > y) + (x == y) / 2 for x, y in pairs) / len(pairs)
        assert probability_of_superiority(a, b) == pytest.approx(expected)
        assert probability_of_superiority(b, a) == pytest.approx(1 - expected)

    def test_superiority_pairs_by_seed(self):
        assert probability_of_superiority([1.0, 2.0, 3.0], [0.9, 1.9, 2.9]) == 1.0
        with pytest.raises(ValueError, match="paired"):
            probability_of_superiority([1.0, 2.0, 3.0], [1.0, 2.0])

    def test_superiority_takes_rounding_for_a_tie(self):
        assert probability_of_superiority([0.1 + 0.2, 0.5], [0.3, 0.5]) == 0.5

    def test_standardised_effect_is_t_over_the_root_of_seeds(self):
        generator = np.random.default_rng(2)
        a, b = generator.normal(size=(2, 9))
        assert standardised_effect(a - b) == pytest.approx(stats.ttest_rel(a, b).statistic / 3)

    @pytest.mark.parametrize(("value", "effect"), [(0.0, 0.0), (0.2, np.inf), (-0.2, -np.inf)])
    def test_standardised_effect_without_spread(self, value, effect):
        assert standardised_effect([value] * 3) == effect


class TestVerdict:
    @pytest.mark.parametrize(
        ("metric", "effect", "p", "p_equivalence", "expected"),
        [
            ("accuracy", 0.1, 0.01, None, "a"),
            ("accuracy", -0.1, 0.01, None, "b"),
            ("nats", 0.1, 0.01, None, "b"),
            ("nats", -0.1, 0.01, None, "a"),
            ("accuracy", 0.1, 0.05, None, "a"),  # the level itself rejects
            ("accuracy", 0.001, 0.01, 0.01, "a"),  # a difference, however small
            ("accuracy", 0.001, 0.06, 0.05, "equivalent"),
            ("nats", 0.001, 0.06, 0.01, "equivalent"),
            ("accuracy", 0.001, 0.06, 0.06, "inconclusive"),
            ("accuracy", 0.001, 0.06, None, "inconclusive"),
        ],
    )
    def test_of_both_tests(self, metric, effect, p, p_equivalence, expected):
        assert verdict(metric, effect, p, 0.05, p_equivalence) == expected

    @pytest.mark.parametrize("numbers", [(np.nan, 0.5, None), (0.1, np.nan, None), (0.1, 0.5, np.nan)])
    def test_of_nan_nothing_is_said(self, numbers):
        effect, p, p_equivalence = numbers
        with pytest.raises(ValueError, match="nothing can be said of NaN"):
            verdict("accuracy", effect, p, 0.05, p_equivalence)

    def test_refuses_a_metric_without_direction(self):
        with pytest.raises(StudyError, match=r"'bleu'.*accuracy, nats"):
            verdict("bleu", 0.1, 0.01, 0.05)
