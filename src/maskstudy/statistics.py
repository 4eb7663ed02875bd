"""Intervals, exact tests and verdicts over paired seeds.

The unit of replication is the seed. `differences` holds one value a seed, mask a minus mask b (or model minus ideal
observer) under the same seed, in the units of the metric; nothing here knows a file, a task or a model.
"""

import itertools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maskstudy.errors import StudyError

# Every metric of the study, in the order of its tables. A task has some of them.
HIGHER_IS_BETTER = {"accuracy": True, "nats": False, "per": False, "wer": False}

# Metrics are of order 1, so values that differ by less than this differ by rounding alone (0.8 - 0.7 is not 0.7 - 0.6).
ROUNDING = 1e-12
_DECIMALS = 12
MOST_SEEDS = 40  # the sign-flip test lists 2^(seeds / 2) sums: a million, 8 MB, at 40 seeds
_CHUNK = 1 << 20  # resampled values held at once

Verdict = Literal["a", "b", "equivalent", "inconclusive"]


@dataclass(frozen=True)
class Interval:
    """An interval and how it came about.

    Attributes:
        low: lower end, in the units of the metric.
        high: upper end.
        method: `BCa`, `percentile` (where BCa degenerates), `hierarchical`, or `constant` (all values are equal, so
            that resampling has nothing to show and the width is 0).
    """

    low: float
    high: float
    method: str


def bca_interval(differences: ArrayLike, confidence: float, resamples: int, seed: int) -> Interval:
    """Bootstrap interval of the mean over seeds, bias-corrected and accelerated (BCa).

    Efron, "Better Bootstrap Confidence Intervals", JASA 82 (1987); Efron & Tibshirani, "An Introduction
    to the Bootstrap" (1993), section 14.3. Where BCa degenerates (no resampled mean on one side of the mean), the
    interval is the percentile one (section 13.3) of the same resamples.

    Args:
        differences: `[seeds]`.
        confidence: coverage, 0.95 for a 95 % interval.
        resamples: number of bootstrap resamples.
        seed: of the resampling; equal arguments give equal intervals.

    Raises:
        StudyError: fewer than two seeds, or an interval of width 0 though the values differ.
    """
    # Here and not above: scipy.stats takes most of a second, and the checks before training need none of it.
    from scipy.stats import DegenerateDataWarning, bootstrap

    values = _over_seeds(differences)
    if np.ptp(values) <= ROUNDING:
        return Interval(float(values.mean()), float(values.mean()), "constant")

    def mean(sample: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
        # A resample that holds the same seeds in another order must tie with the sample: BCa's bias counts the means
        # below the observed one, and of 3 seeds a fifth of all resamples would fall on either side by rounding.
        return np.round(sample.mean(axis=axis), _DECIMALS)

    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        warnings.simplefilter("ignore", DegenerateDataWarning)  # answered below by the percentile interval
        result = bootstrap(
            (values,),
            mean,
            confidence_level=confidence,
            n_resamples=resamples,
            method="BCa",
            rng=np.random.default_rng(seed),
        )
    low, high = (float(end) for end in result.confidence_interval)
    if np.isfinite(low) and np.isfinite(high):
        return _of_some_width(Interval(low, high, "BCa"))
    return _percentile_interval(result.bootstrap_distribution, confidence, "percentile")


def hierarchical_interval(
    differences: ArrayLike,
    totals: ArrayLike | None = None,
    *,
    confidence: float,
    resamples: int,
    seed: int,
) -> Interval:
    """Bootstrap interval that carries the chance of the seeds and that of the test examples.

    Every seed is scored on the same examples: the two axes are crossed, and each resample draws the seed axis and
    the example axis independently, with replacement (the pigeonhole bootstrap; Owen, "The Pigeonhole Bootstrap",
    Annals of Applied Statistics 1 (2007)). The statistic is a ratio of sums,
    `sum(differences) / (seeds * sum(totals))`, the difference per scored position; the ends are percentiles.

    Args:
        differences: `[seeds, examples]`, summed over the scored positions of each example.
        totals: `[examples]`, scored positions of each example; 1 each where left out. Examples without any carry no
            difference and are left out.
        confidence: coverage, 0.95 for a 95 % interval.
        resamples: number of bootstrap resamples.
        seed: of the resampling; equal arguments give equal intervals.

    Raises:
        StudyError: fewer than two seeds or two scored examples, or an interval of width 0 though the values differ.
        ValueError: the axes do not fit, or the numbers are not finite, or an example that is not scored differs.
    """
    values = np.asarray(differences, dtype=np.float64)
    if values.ndim != 2:
        raise ValueError(f"differences must be [seeds, examples], not of shape {values.shape}")
    weights = np.ones(values.shape[1]) if totals is None else np.asarray(totals, dtype=np.float64)
    if weights.shape != values.shape[1:]:
        raise ValueError(f"totals must be [examples] = {values.shape[1:]}, not of shape {weights.shape}")
    if not (np.isfinite(values).all() and np.isfinite(weights).all()) or (weights < 0).any():
        raise ValueError("differences must be finite, totals finite and not negative")
    if np.any(values[:, weights == 0]):
        raise ValueError("an example without scored positions has a difference")
    values, weights = values[:, weights > 0], weights[weights > 0]
    seeds, examples = values.shape
    _refuse_too_few(seeds)
    if examples < 2:
        raise StudyError(f"{examples} scored test example(s): an interval needs two or more; enlarge the test split")

    ratio = values.sum() / (seeds * weights.sum())
    if np.abs(values - ratio * weights).max() <= ROUNDING * weights.max():
        return Interval(float(ratio), float(ratio), "constant")
    ratios = np.empty(resamples)
    for part, seed_counts, example_counts in _crossed_resamples(seed, resamples, seeds, examples):
        # einsum rather than @: the order of BLAS's sums, and so the last bit, follows the number of threads.
        by_seed = np.einsum("re,se->rs", example_counts, values)  # [rows, seeds]
        summed = np.einsum("rs,rs->r", seed_counts, by_seed)  # [rows]
        ratios[part] = summed / (seeds * np.einsum("re,e->r", example_counts, weights))
    return _percentile_interval(ratios, confidence, "hierarchical")


def hierarchical_ratio_interval(
    a: tuple[ArrayLike, ArrayLike],
    b: tuple[ArrayLike, ArrayLike],
    *,
    confidence: float,
    resamples: int,
    seed: int,
) -> Interval:
    """`hierarchical_interval` for ratios whose totals differ between seeds and masks, such as phoneme error rates.

    What an answer is compared with, and so how long it is, depends on the answer. The statistic is the mean over seeds
    of `sum(a) / sum(totals of a) - sum(b) / sum(totals of b)`; seeds and examples are drawn as there, both sides alike.

    Args:
        a: sums and totals, `[seeds, examples]` each, of one mask. Examples whose totals are all 0 are left out.
        b: the same of the other, of the same seeds and examples.
        confidence: coverage, 0.95 for a 95 % interval.
        resamples: number of bootstrap resamples.
        seed: of the resampling; equal arguments give equal intervals.

    Raises:
        StudyError: fewer than two seeds or two scored examples, or an interval of width 0 though the values differ.
        ValueError: the axes do not fit, or a number is not finite, or an example has a total on one side alone.
    """
    values = np.stack([np.asarray(each, dtype=np.float64) for each in (*a, *b)])
    if values.ndim != 3 or not np.isfinite(values).all():
        raise ValueError(f"sums and totals must be finite and [seeds, examples] each, not together {values.shape}")
    counted = (values[1::2] > 0).any(axis=(0, 1))
    if not (values[1::2][:, :, counted] > 0).all() or np.any(values[:, :, ~counted]):
        raise ValueError("an example has a total in some seeds alone, or a sum without one")
    values = values[:, :, counted]
    seeds, examples = values.shape[1:]
    _refuse_too_few(seeds)
    if examples < 2:
        raise StudyError(f"{examples} scored test example(s): an interval needs two or more; enlarge the test split")
    if np.array_equal(values[:2], values[2:]):
        return Interval(0.0, 0.0, "constant")
    differences = np.empty(resamples)
    for part, seed_counts, example_counts in _crossed_resamples(seed, resamples, seeds, examples):
        summed = np.einsum("re,kse->krs", example_counts, values)  # [4, rows, seeds]
        by_seed = summed[0] / summed[1] - summed[2] / summed[3]  # [rows, seeds]
        differences[part] = np.einsum("rs,rs->r", seed_counts, by_seed) / seeds
    return _percentile_interval(differences, confidence, "hierarchical")


def sign_flip_p(differences: ArrayLike) -> float:
    """Exact two-sided p of the sign-flip permutation test of a mean paired difference of 0.

    Under the null hypothesis the two masks are exchangeable within a seed, so every one of the 2^seeds sign
    assignments is equally likely; p is the share of assignments whose |sum| is at least the observed one (Fisher,
    "The Design of Experiments" (1935), section 21). Sums within rounding of the observed one count as ties, so that
    the observed assignment always counts. All assignments are counted without listing them: the signed sums of one
    half of the seeds are looked up in the sorted signed sums of the other half.

    Args:
        differences: `[seeds]`.

    Raises:
        StudyError: fewer than 2 or more than `MOST_SEEDS` seeds.
    """
    values = _over_seeds(differences)
    _refuse_too_many(len(values))
    threshold = abs(values.sum()) - len(values) * ROUNDING
    if threshold <= 0:
        return 1.0
    half = len(values) // 2
    first, second = _signed_sums(values[:half]), np.sort(_signed_sums(values[half:]))
    below = int(np.searchsorted(second, threshold - first).sum())
    at_least = len(first) * len(second) - below
    return float(2 * at_least / 2 ** len(values))  # as many sums are at most -threshold, by symmetry


def smallest_p(seeds: int) -> float:
    """The smallest p that the two-sided sign-flip test over `seeds` seeds can give: 2 / 2^seeds, all signs equal."""
    return 2.0 ** (1 - seeds)


def reachable(comparisons: int, seeds: int, alpha: float, key: str = "seeds") -> float:
    """Check, before training, that the declared comparisons can reach `alpha` at all.

    Holm multiplies the smallest p of the family by its size, so no corrected p can be below
    `comparisons * smallest_p(seeds)`.

    Args:
        comparisons: size of the declared family; 0 where everything is exploratory.
        seeds: runs of each cell.
        alpha: level of the family.
        key: of the config, where the number of seeds stands.

    Returns:
        The smallest p that a comparison can reach, after Holm's correction.

    Raises:
        StudyError: fewer than 2 or more than `MOST_SEEDS` seeds, or `alpha` is out of reach.
    """
    _refuse_too_few(seeds)
    _refuse_too_many(seeds)
    smallest = min(1.0, max(1, comparisons) * smallest_p(seeds))
    if comparisons and smallest > alpha:
        enough = next(number for number in itertools.count(seeds + 1) if comparisons * smallest_p(number) <= alpha)
        raise StudyError(
            f"config.yaml: with {key}: {seeds} the smallest p of {comparisons} declared comparison(s) after Holm's "
            f"correction is {smallest:.3g}, above alpha {alpha:g}; set {key} to {enough} or more, or declare fewer"
        )
    return smallest


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Holm's step-down correction of a family of p values.

    Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of Statistics 6 (1979): the
    k-th smallest of m values times (m - k + 1), never below the one before it, at most 1.

    Args:
        p_values: `[comparisons]`, in any order.

    Returns:
        `[comparisons]` corrected values, in the order given.

    Raises:
        ValueError: a value is no probability.
    """
    values = np.asarray(p_values, dtype=np.float64)
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError(f"p values must lie between 0 and 1, not {values.tolist()}")
    order = np.argsort(values, kind="stable")
    corrected = np.empty_like(values)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1)))
    return corrected


def equivalence_p(differences: ArrayLike, margin: float) -> float:
    """p of two one-sided paired t tests (TOST): is the mean difference inside (-margin, margin)?

    Schuirmann, "A Comparison of the Two One-Sided Tests Procedure and the Power Approach for Assessing the
    Equivalence of Average Bioavailability", Journal of Pharmacokinetics and Biopharmaceutics 15 (1987). The p is the
    larger one of "mean <= -margin" and "mean >= margin". Where all differences are equal the t statistic is infinite:
    p is 0 inside the margin and 1 elsewhere.

    Args:
        differences: `[seeds]`.
        margin: the largest difference that does not matter, in the units of the metric.

    Raises:
        StudyError: fewer than two seeds, or a margin that is not above 0.
    """
    from scipy.special import stdtr  # here, so that the check of a config does not wait for it

    values = _over_seeds(differences)
    if not margin > 0:
        raise StudyError(f"margin {margin}: an equivalence margin must be above 0; mend it in config.yaml")
    mean = values.mean()
    if np.ptp(values) <= ROUNDING:
        return 0.0 if abs(mean) < margin - ROUNDING else 1.0
    error = values.std(ddof=1) / np.sqrt(len(values))
    return float(stdtr(len(values) - 1, (abs(mean) - margin) / error))  # the nearer margin has the larger p


def probability_of_superiority(a: ArrayLike, b: ArrayLike) -> float:
    """Share of seeds in which `a` is above `b`, ties counted half.

    The dependent-groups form of the probability of superiority (Grissom & Kim, "Effect Sizes for Research" (2012),
    chapter 5): each value is compared with its own partner, never with another seed's.

    Args:
        a: `[seeds]`, larger is better.
        b: `[seeds]`, the same seeds in the same order.

    Raises:
        StudyError: fewer than two seeds.
        ValueError: the two do not have the same seeds.
    """
    if np.shape(a) != np.shape(b):
        raise ValueError(f"a and b must be paired by seed, not of shapes {np.shape(a)} and {np.shape(b)}")
    differences = _over_seeds(np.subtract(a, b))
    return float(np.mean(np.where(np.abs(differences) <= ROUNDING, 0.5, differences > 0)))


def standardised_effect(differences: ArrayLike) -> float:
    """Mean paired difference in units of its own standard deviation over seeds (Cohen's d_z).

    Cohen, "Statistical Power Analysis for the Behavioral Sciences" (1988), section 2.3.5; Lakens, Frontiers in
    Psychology 4:863 (2013). Where all differences are equal it is 0 for no difference, else infinite.

    Args:
        differences: `[seeds]`.

    Raises:
        StudyError: fewer than two seeds.
    """
    values = _over_seeds(differences)
    mean = float(values.mean())
    if np.ptp(values) <= ROUNDING:
        return 0.0 if abs(mean) <= ROUNDING else float(np.copysign(np.inf, mean))
    return float(mean / values.std(ddof=1))


def verdict(metric: str, effect: float, p: float, alpha: float, p_equivalence: float | None = None) -> Verdict:
    """What may be said of a comparison.

    Args:
        metric: a name in `HIGHER_IS_BETTER`, which says whose win a positive effect is.
        effect: mean difference, mask a minus mask b.
        p: of the difference; corrected by Holm where the comparison is declared.
        alpha: level of both tests.
        p_equivalence: of the equivalence test; None where no margin is declared.

    Returns:
        `a` or `b`, the better mask, if there is a difference; `equivalent` if the difference lies inside the margin;
        else `inconclusive`: the absence of evidence is not evidence of absence (Altman & Bland, BMJ 311:485 (1995)).

    Raises:
        StudyError: a metric whose direction is not known.
        ValueError: the effect or a p is NaN, which is no evidence of anything, not even of too little of it.
    """
    if metric not in HIGHER_IS_BETTER:
        raise StudyError(f"metric {metric!r}: unknown; use one of {', '.join(HIGHER_IS_BETTER)}")
    if np.isnan([effect, p, 0.0 if p_equivalence is None else p_equivalence]).any():
        raise ValueError(f"effect {effect}, p {p}, p of equivalence {p_equivalence}: nothing can be said of NaN")
    if p <= alpha:
        return "a" if (effect > 0) == HIGHER_IS_BETTER[metric] else "b"
    if p_equivalence is not None and p_equivalence <= alpha:
        return "equivalent"
    return "inconclusive"


def _over_seeds(differences: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(differences, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"expected one value a seed, [seeds], not the shape {values.shape}")
    _refuse_too_few(len(values))
    if not np.isfinite(values).all():
        raise ValueError(f"values over seeds must be finite, not {values.tolist()}")
    return values


def _refuse_too_few(seeds: int) -> None:
    if seeds < 2:
        raise StudyError(
            f"{seeds} seed(s): nothing can be said over seeds, the smallest p is {min(1.0, smallest_p(seeds)):g}; "
            "set seeds in config.yaml to 2 or more"
        )


def _refuse_too_many(seeds: int) -> None:
    if seeds > MOST_SEEDS:
        raise StudyError(f"{seeds} seeds: the exact test takes at most {MOST_SEEDS}; lower seeds in config.yaml")


def _signed_sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sums of `values` under all of their sign assignments, `[2^values]`."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    return sums


def _crossed_resamples(
    seed: int, resamples: int, seeds: int, examples: int
) -> Iterator[tuple[slice, NDArray[np.float64], NDArray[np.float64]]]:
    """Resamples of both axes, some at a time: which they are, and how often each seed and each example is drawn."""
    generator = np.random.default_rng(seed)
    chunk = max(1, _CHUNK // examples)
    for start in range(0, resamples, chunk):
        rows = min(chunk, resamples - start)
        seed_counts = _resample_counts(generator, rows, seeds)  # [rows, seeds]
        example_counts = _resample_counts(generator, rows, examples)  # [rows, examples]
        yield slice(start, start + rows), seed_counts, example_counts


def _resample_counts(generator: np.random.Generator, rows: int, size: int) -> NDArray[np.float64]:
    """How often each of `size` things is drawn in `size` draws with replacement: multinomial, `[rows, size]`."""
    draws = generator.integers(size, size=(rows, size), dtype=np.int32)
    # One bincount over all rows, each in its own range: several times faster than Generator.multinomial.
    flat = (draws + size * np.arange(rows, dtype=np.int64)[:, None]).ravel()
    return np.bincount(flat, minlength=rows * size).reshape(rows, size).astype(np.float64)


def _percentile_interval(distribution: NDArray[np.float64], confidence: float, method: str) -> Interval:
    tail = (1 - confidence) / 2
    low, high = np.quantile(distribution, [tail, 1 - tail])
    return _of_some_width(Interval(float(low), float(high), method))


def _of_some_width(interval: Interval) -> Interval:
    if not interval.high > interval.low:
        raise StudyError(
            f"{interval.method} interval [{interval.low:g}, {interval.high:g}] has width 0 though the values differ; "
            "raise statistics.resamples in config.yaml"
        )
    return interval
