from __future__ import annotations

import itertools
import math

import numpy as np
import pragmastat
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

from bench.analysis import statistics


def normal(count: int, seed: int = 1, centre: float = 0.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(centre, 0.009, count)


def interval_by_enumeration(scores: np.ndarray, level: float) -> tuple[float, float]:
    """Independent of the subject: all 2^n sign patterns in place of the recursion, ranks in place of Walsh averages."""
    n = scores.size
    counts = np.bincount([int(np.dot(range(1, n + 1), signs)) for signs in itertools.product((0, 1), repeat=n)])
    critical = [w for w in range(counts.size) if counts[: w + 1].sum() / 2**n <= (1 - level) / 2]
    if not critical:
        return -math.inf, math.inf
    averages = sorted((scores[i] + scores[j]) / 2 for i in range(n) for j in range(i, n))
    return averages[critical[-1]], averages[-critical[-1] - 1]


def test_pair_scores_are_worked_by_hand() -> None:
    baseline = np.array([100.0, 100.0, 100.0, 200.0, 200.0])
    candidate = np.array([110.0, 121.0, 100.0, 100.0, 400.0])
    scores = statistics.pair_scores(baseline, candidate, np.array([3, 3, 3, 7, 7]))
    assert scores.pairs.tolist() == [3, 7]
    assert scores.medians == pytest.approx([math.log(1.1), 0.0])
    assert scores.sums == pytest.approx([math.log(331 / 300), math.log(500 / 400)])


def test_slice_without_time_counts_in_the_sums_only() -> None:
    scores = statistics.pair_scores(np.array([0.0, 100.0]), np.array([50.0, 100.0]), np.array([0, 0]))
    assert scores.medians == pytest.approx([0.0])
    assert scores.sums == pytest.approx([math.log(1.5)])


def test_pair_that_never_takes_time_has_no_score() -> None:
    scores = statistics.pair_scores(np.zeros(2), np.zeros(2), np.array([0, 0]))
    assert np.isnan(scores.medians).all()
    assert np.isnan(scores.sums).all()


def test_hodges_lehmann_is_worked_by_hand() -> None:
    # averages of 1, 2, 9: 1, 1.5, 2, 5, 5.5, 9
    assert statistics.hodges_lehmann(np.array([9.0, 1.0, 2.0])) == 3.5


@pytest.mark.parametrize("count", [1, 2, 3, 7, 20, 61])
def test_hodges_lehmann_agrees_with_pragmastat(count: int) -> None:
    scores = normal(count)
    assert statistics.hodges_lehmann(scores) == pytest.approx(pragmastat.center(scores), abs=1e-15)


@pytest.mark.parametrize("count", range(1, 13))
@pytest.mark.parametrize("level", [0.90, 0.95, 0.99])
def test_signed_rank_interval_agrees_with_enumeration(count: int, level: float) -> None:
    scores = normal(count, seed=count)
    assert statistics.signed_rank_interval(scores, level) == pytest.approx(interval_by_enumeration(scores, level))


@pytest.mark.parametrize(("count", "critical"), [(6, 0), (8, 3), (10, 8), (20, 52), (30, 137)])
def test_critical_values_are_those_of_published_tables(count: int, critical: int) -> None:
    scores = normal(count)
    assert statistics.signed_rank_interval(scores)[0] == statistics.walsh_averages(scores)[critical]


def test_pragmastat_bounds_are_one_rank_narrower_than_exact() -> None:
    # the reason why the interval is not taken from there: at 6 pairs its 95 % bounds cover 93.75 %
    scores = np.array([-5.0, -1.0, 2.0, 4.0, 8.0, 16.0])
    averages = statistics.walsh_averages(scores)
    bounds = pragmastat.center_bounds(scores, 0.05)
    assert (bounds.lower, bounds.upper) == pytest.approx((averages[1], averages[-2]))
    assert statistics.signed_rank_interval(scores) == (averages[0], averages[-1])


def test_five_pairs_have_no_interval_of_95_percent_but_one_of_90() -> None:
    scores = normal(5)
    assert statistics.signed_rank_interval(scores, 0.95) == (-math.inf, math.inf)
    assert statistics.signed_rank_interval(scores, 0.90) == (scores.min(), scores.max())
    assert statistics.MIN_PAIRS == 6


def test_interval_of_many_pairs_goes_over_into_the_normal_approximation() -> None:
    exact = statistics._lower_rank(statistics.MAX_EXACT, 0.025)
    beyond = statistics._lower_rank(statistics.MAX_EXACT + 1, 0.025)
    mean_step = statistics.MAX_EXACT / 2  # the mean of W moves by this much per pair, its deviation hardly
    assert beyond - exact == pytest.approx(mean_step, abs=25)


def test_interval_covers_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(14_781)
    trials, tail = 2000, 0.025
    for count in (6, 20):
        held = 0
        for _ in range(trials):
            low, high = statistics.signed_rank_interval(rng.normal(0.01, 0.009, count))
            held += low <= 0.01 <= high
        masses = np.cumsum(statistics._signed_rank_masses(count))
        promised = 1 - 2 * masses[masses <= tail][-1]
        assert stats.binomtest(held, trials, promised).pvalue > 0.001


def test_identical_variants_raise_false_alarms_at_the_nominal_rate() -> None:
    rng = np.random.default_rng(46_112)
    trials = 2000
    alarms = sum(statistics.signed_rank_p(rng.normal(0, 0.009, 20)) < 0.05 for _ in range(trials))
    assert stats.binomtest(alarms, trials, 0.05).pvalue > 0.001


def test_interval_excludes_zero_exactly_where_the_test_is_significant() -> None:
    for seed in range(200):
        scores = normal(12, seed, centre=0.005)
        low, high = statistics.signed_rank_interval(scores)
        assert (low > 0 or high < 0) == (statistics.signed_rank_p(scores) <= 0.05)


@pytest.mark.parametrize("count", [6, 20, 600])
def test_p_value_is_that_of_scipy(count: int) -> None:
    scores = normal(count, centre=0.004)
    assert statistics.signed_rank_p(scores) == pytest.approx(stats.wilcoxon(scores).pvalue, rel=1e-6)


def test_t_interval_is_that_of_scipy() -> None:
    scores = normal(20, centre=0.01)
    expected = stats.ttest_1samp(scores, 0).confidence_interval(0.95)
    assert statistics.t_interval(scores) == pytest.approx((expected.low, expected.high))


def test_bca_interval_repeats_and_lies_near_the_t_interval() -> None:
    scores = normal(40, centre=0.01)
    assert statistics.bca_interval(scores) == statistics.bca_interval(scores)
    assert statistics.bca_interval(scores) == pytest.approx(statistics.t_interval(scores), abs=0.001)


def test_detectable_effect_has_power_of_80_percent() -> None:
    effect = statistics.minimum_detectable_effect(0.009, 20)
    assert TTestPower().power(effect / 0.009, 20, 0.05) == pytest.approx(0.8, abs=1e-4)
    found = [stats.ttest_1samp(normal(20, seed, effect), 0).pvalue < 0.05 for seed in range(2000)]
    assert stats.binomtest(sum(found), 2000, 0.8).pvalue > 0.001


def test_pairs_to_settle_gives_the_promised_chance_of_equivalence() -> None:
    needed = statistics.pairs_to_settle(0.005, 0.03, 0.015)
    settled = 0
    for seed in range(500):
        scores = np.random.default_rng(seed).normal(0.005, 0.03, needed)
        low, high = statistics.t_interval(scores, 0.90)
        settled += low > -0.015 and high < 0.015
    assert settled / 500 == pytest.approx(0.8, abs=0.06)


def test_pairs_to_settle_grows_without_end_at_the_margin() -> None:
    counts = [statistics.pairs_to_settle(effect, 0.009, 0.015) for effect in (0.0, 0.01, 0.014, 0.015 - 1e-6)]
    assert counts == sorted(counts)
    assert counts[-1] == statistics.MAX_PAIRS_NEEDED
    assert statistics.pairs_to_settle(-0.05, 0.009, 0.015) == statistics.MIN_PAIRS


def test_zero_spread_gives_points_and_a_detectable_effect_of_zero() -> None:
    scores = np.full(8, 0.02)
    for interval in (statistics.signed_rank_interval, statistics.t_interval, statistics.bca_interval):
        assert interval(scores) == pytest.approx((0.02, 0.02))
    assert statistics.signed_rank_p(scores) == 2**-7
    assert statistics.signed_rank_p(np.zeros(8)) == 1.0
    assert statistics.minimum_detectable_effect(statistics.pair_sd(scores), 8) == 0.0
    assert statistics.pairs_to_settle(0.0, 0.0, 0.015) == statistics.MIN_PAIRS


def test_one_pair_has_an_estimate_and_nothing_else() -> None:
    scores = np.array([0.01])
    assert statistics.hodges_lehmann(scores) == 0.01
    assert statistics.signed_rank_interval(scores) == (-math.inf, math.inf)
    assert np.isnan([*statistics.t_interval(scores), *statistics.bca_interval(scores)]).all()
    assert math.isnan(statistics.pair_sd(scores))
    assert math.isnan(statistics.minimum_detectable_effect(statistics.pair_sd(scores), 1))
    assert statistics.pairs_to_settle(0.01, math.nan, 0.015) == statistics.MIN_PAIRS


def test_two_pairs_have_finite_classical_intervals() -> None:
    scores = np.array([0.0, 0.01])
    assert statistics.signed_rank_interval(scores) == (-math.inf, math.inf)
    assert np.isfinite(statistics.t_interval(scores)).all()
    assert statistics.minimum_detectable_effect(0.01, 2) == pytest.approx(0.1155, abs=1e-3)


@pytest.mark.parametrize("scores", [np.array([]), np.array([0.1, np.nan, 0.2]), np.array([0.1, np.inf])])
def test_nothing_is_told_from_no_scores_or_from_scores_that_are_not_finite(scores: np.ndarray) -> None:
    assert math.isnan(statistics.hodges_lehmann(scores))
    assert math.isnan(statistics.signed_rank_p(scores))
    for interval in (statistics.signed_rank_interval, statistics.t_interval, statistics.bca_interval):
        assert np.isnan(interval(scores)).all()


def test_variance_components_find_the_planted_spreads() -> None:
    rng = np.random.default_rng(5)
    zygotes = np.repeat(np.arange(200), 6)
    scores = rng.normal(0, 0.011, zygotes.size) + rng.normal(0, 0.005, 200)[zygotes]
    found = statistics.variance_components(scores, zygotes)
    assert found.within_sd == pytest.approx(0.011, rel=0.05)
    assert found.between_sd == pytest.approx(0.005, rel=0.15)
    assert found.intraclass == pytest.approx(0.25 / 1.46, rel=0.3)


def test_variance_components_need_two_zygotes_and_a_zygote_of_two_pairs() -> None:
    for zygotes in (np.zeros(4, dtype=np.int64), np.arange(4)):
        assert math.isnan(statistics.variance_components(normal(4), zygotes).within_sd)


def test_adjusted_p_values_are_worked_by_hand() -> None:
    adjusted = statistics.benjamini_hochberg(np.array([0.01, np.nan, 0.04, 0.03]))
    assert adjusted[[0, 2, 3]] == pytest.approx([0.03, 0.04, 0.04])
    assert math.isnan(adjusted[1])
