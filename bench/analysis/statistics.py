"""Arithmetic on the log-ratios of pairs: arrays in, numbers out, no file and no clock.

A score is log(candidate / baseline) of one pair, so negative means that the candidate is faster.
What a number means for the verdict is the business of `bench.analysis.verdicts`.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

Floats = NDArray[np.float64]
Interval = tuple[float, float]

MIN_PAIRS = 6  # with 5, the widest signed-rank interval there is covers 93.75 %, so none holds 95 %
MAX_EXACT = 500  # beyond it the signed-rank distribution is normal to four digits in the tail
MAX_PAIRS_NEEDED = 10_000  # as many as an experiment may ask for
POWER = 0.80  # chance of finding the smallest effect that is called detectable
BOOTSTRAP_RESAMPLES = 4_999  # odd, so that the 2.5 % and 97.5 % points are resamples
BOOTSTRAP_SEED = 14_781  # fixed: the same raw files give the same bytes
NO_INTERVAL: Interval = (math.nan, math.nan)
UNBOUNDED: Interval = (-math.inf, math.inf)


@dataclass(frozen=True)
class PairScores:
    """Two scores of each pair, `(num_pairs,) float64`, ordered by pair number."""

    pairs: NDArray[np.int64]
    medians: Floats
    sums: Floats


@dataclass(frozen=True)
class Components:
    """Standard deviations of a pair's score within one zygote and between zygotes, on the score's scale."""

    within_sd: float
    between_sd: float

    @property
    def intraclass(self) -> float:
        """Correlation of two pairs of one zygote, 0 to 1; nan where nothing varies."""
        total = self.within_sd**2 + self.between_sd**2
        return self.between_sd**2 / total if total > 0 else math.nan


def pair_scores(baseline_ns: Floats, candidate_ns: Floats, pair: NDArray[np.int64]) -> PairScores:
    """Score each pair by the median of its slices' log-ratios and by the log-ratio of its summed times.

    All three arrays are `(num_slices,)`, a row a slice. A slice that took no time in either arm has no ratio and
    counts in the sums only; where nothing is left to divide, the score is nan. Assumes the same steps in both arms.
    """
    numbers, place = np.unique(pair, return_inverse=True)
    usable = (baseline_ns > 0) & (candidate_ns > 0)
    medians = np.full(numbers.size, math.nan)
    sums = np.full(numbers.size, math.nan)
    for index in range(numbers.size):
        mine = place == index
        ratios = np.log(candidate_ns[mine & usable] / baseline_ns[mine & usable])
        baseline_sum, candidate_sum = baseline_ns[mine].sum(), candidate_ns[mine].sum()
        if ratios.size:
            medians[index] = np.median(ratios)
        if baseline_sum > 0 and candidate_sum > 0:
            sums[index] = math.log(candidate_sum / baseline_sum)
    return PairScores(numbers.astype(np.int64), medians, sums)


def walsh_averages(scores: Floats) -> Floats:
    """The n(n+1)/2 averages of two scores, each with itself included, in ascending order."""
    first, second = np.triu_indices(scores.size)
    return np.sort((scores[first] + scores[second]) / 2)


def hodges_lehmann(scores: Floats) -> float:
    """The median of the Walsh averages: Hodges and Lehmann (1963). Assumes a symmetric distribution; nan if empty."""
    return float(np.median(walsh_averages(scores))) if _is_usable(scores, 1) else math.nan


def signed_rank_interval(scores: Floats, level: float = 0.95) -> Interval:
    """The interval for the centre that inverts Wilcoxon's signed-rank test: Hollander and Wolfe, section 3.3.

    Covers at least `level` for any continuous symmetric distribution: exactly up to MAX_EXACT pairs, by the normal
    approximation beyond. Too few pairs for the level give (-inf, inf), the only interval that keeps the promise.
    """
    if not _is_usable(scores, 1):
        return NO_INTERVAL
    rank = _lower_rank(scores.size, round((1 - level) / 2, 12))
    if rank == 0:
        return UNBOUNDED
    averages = walsh_averages(scores)
    return float(averages[rank - 1]), float(averages[averages.size - rank])


@functools.lru_cache(maxsize=256)
def _lower_rank(num_pairs: int, tail: float) -> int:
    """The largest k with P(W < k) at most `tail`: the k-th Walsh average from either end bounds the interval."""
    if num_pairs <= MAX_EXACT:
        return int(np.searchsorted(np.cumsum(_signed_rank_masses(num_pairs)), tail * (1 + 1e-12), side="right"))
    mean = num_pairs * (num_pairs + 1) / 4
    sd = math.sqrt(num_pairs * (num_pairs + 1) * (2 * num_pairs + 1) / 24)
    return max(0, math.floor(mean + 0.5 + float(stats.norm.ppf(tail)) * sd))


def _signed_rank_masses(num_pairs: int) -> Floats:
    """P(W = w) for w = 0 … n(n+1)/2 when each of the ranks 1 … n counts with probability one half."""
    masses = np.zeros(num_pairs * (num_pairs + 1) // 2 + 1)
    masses[0] = 1.0
    for rank in range(1, num_pairs + 1):
        without = masses / 2
        masses = without.copy()
        masses[rank:] += without[:-rank]
    return masses


def signed_rank_p(scores: Floats) -> float:
    """Two-sided p value of Wilcoxon's (1945) signed-rank test of centre 0; 1.0 where every score is 0.

    Not significant means that these pairs do not show an effect, not that there is none.
    """
    if not _is_usable(scores, 1):
        return math.nan
    nonzero = scores[scores != 0]
    if nonzero.size == 0:
        return 1.0
    method: Literal["exact", "approx"] = "exact" if nonzero.size <= MAX_EXACT else "approx"
    return float(stats.wilcoxon(nonzero, method=method).pvalue)


def t_interval(scores: Floats, level: float = 0.95) -> Interval:
    """Student's (1908) interval for the mean. Assumes a normal distribution; nan with fewer than two pairs."""
    if not _is_usable(scores, 2):
        return NO_INTERVAL
    half = float(stats.t.ppf((1 + level) / 2, scores.size - 1)) * pair_sd(scores) / math.sqrt(scores.size)
    mean = float(scores.mean())
    return mean - half, mean + half


def bca_interval(scores: Floats, level: float = 0.95) -> Interval:
    """The BCa bootstrap interval for the mean: Efron (1987). Too narrow below about 20 pairs.

    Zero spread gives a point; fewer than two pairs, or too few distinct ones for the correction, give nan.
    """
    if not _is_usable(scores, 2):
        return NO_INTERVAL
    if np.ptp(scores) == 0:
        return float(scores[0]), float(scores[0])
    with np.errstate(all="ignore"):
        result = stats.bootstrap(
            (scores,),
            np.mean,
            n_resamples=BOOTSTRAP_RESAMPLES,
            confidence_level=level,
            method="BCa",
            rng=np.random.default_rng(BOOTSTRAP_SEED),
        )
    return float(result.confidence_interval.low), float(result.confidence_interval.high)


def pair_sd(scores: Floats) -> float:
    """Standard deviation of the scores with n - 1; nan with fewer than two pairs."""
    return float(scores.std(ddof=1)) if _is_usable(scores, 2) else math.nan


def minimum_detectable_effect(sd: float, num_pairs: int) -> float:
    """The true score that a two-sided 5 % t test of `num_pairs` pairs finds in 80 of 100 runs; 0 for zero spread.

    Cohen (1988), chapter 2, by the noncentral t distribution. Assumes normal scores; nan with fewer than two pairs.
    """
    if num_pairs < 2 or not math.isfinite(sd):
        return math.nan
    return sd * _detectable_shift(num_pairs)


@functools.lru_cache(maxsize=256)
def _detectable_shift(num_pairs: int) -> float:
    return float(TTestPower().solve_power(nobs=num_pairs, alpha=0.05, power=POWER, alternative="two-sided"))


def pairs_to_settle(estimate: float, sd: float, margin: float) -> int:
    """Pairs that give FASTER, SLOWER or EQUIVALENT in 80 of 100 runs if the true score is `estimate`.

    Inside the margin it plans the 90 % interval of the equivalence test (Schuirmann 1987), outside it the 95 %
    interval against 0; both by t quantiles. At least MIN_PAIRS, and MAX_PAIRS_NEEDED stands for that many or more.
    """
    if not (math.isfinite(estimate) and math.isfinite(sd)):
        return MIN_PAIRS
    inside = abs(estimate) < margin
    gap, tail = (margin - abs(estimate), 0.95) if inside else (abs(estimate), 0.975)

    def settles(num_pairs: int) -> bool:
        quantiles = float(stats.t.ppf(tail, num_pairs - 1) + stats.t.ppf(POWER, num_pairs - 1))
        return quantiles * sd <= gap * math.sqrt(num_pairs)

    low, high = MIN_PAIRS, MAX_PAIRS_NEEDED
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if settles(middle) else (middle + 1, high)
    return low


def variance_components(scores: Floats, zygotes: NDArray[np.int64]) -> Components:
    """Spread of scores within and between zygotes: one-way random effects by the moments of Searle (1971, chapter 9).

    Both arrays are `(num_pairs,)`. nan without two zygotes or without a zygote of two pairs; a negative estimate is 0.
    """
    _, place, counts = np.unique(zygotes, return_inverse=True, return_counts=True)
    groups, total = counts.size, scores.size
    if groups < 2 or total == groups or not _is_usable(scores, 2):
        return Components(math.nan, math.nan)
    means = np.bincount(place, weights=scores) / counts
    within = float(((scores - means[place]) ** 2).sum()) / (total - groups)
    between = float((counts * (means - scores.mean()) ** 2).sum()) / (groups - 1)
    typical = (total - float((counts**2).sum()) / total) / (groups - 1)
    return Components(math.sqrt(within), math.sqrt(max(0.0, (between - within) / typical)))


def benjamini_hochberg(p_values: Floats) -> Floats:
    """p values of `(num_tests,)` adjusted for looking at all of them: Benjamini and Hochberg (1995); nan stays nan."""
    adjusted = np.full(p_values.size, math.nan)
    known = np.isfinite(p_values)
    if known.any():
        adjusted[known] = multipletests(p_values[known], method="fdr_bh")[1]
    return adjusted


def holm(p_values: Floats) -> Floats:
    """p values of `(num_tests,)` adjusted so that one false alarm among all is rare: Holm (1979); nan stays nan."""
    adjusted = np.full(p_values.size, math.nan)
    known = np.isfinite(p_values)
    if known.any():
        adjusted[known] = multipletests(p_values[known], method="holm")[1]
    return adjusted


def _is_usable(scores: Floats, least: int) -> bool:
    return scores.size >= least and bool(np.isfinite(scores).all())
