"""Everything that is estimated for one metric of one comparison.

Fractions of the baseline inside, negative = candidate faster; percentages and verdicts are made by the callers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bench.analysis import statistics
from bench.analysis.slices import Slices, Times
from bench.analysis.statistics import UNBOUNDED, Components, Floats, Interval, PairScores
from bench.units import NS_PER_US

Score = Literal["median", "sums"]


@dataclass(frozen=True)
class Estimate:
    """One metric's figures; effects and intervals are fractions, `sd` is that of the log-ratio, times are µs a step."""

    num_pairs: int
    num_slices: int
    baseline_us: float
    candidate_us: float
    effect: float
    interval: Interval
    interval90: Interval
    all_slices: float
    other_score: float
    score: Score
    t_interval: Interval
    bca_interval: Interval
    p_value: float
    sd: float
    detectable: float
    pairs_to_settle: int

    @property
    def difference_us(self) -> float:
        """The effect in µs a step; negative = candidate faster."""
        return self.baseline_us * self.effect


def estimate(slices: Slices, column: str, margin: float) -> Estimate:
    """The figures of `column` over the undisturbed slices; nan where there is no pair to tell.

    Judged on the median of a pair's slices, unless the sums differ from it by more than half the margin: then the
    cost sits in few slices, and the sums judge. A metric that some slices do not spend time in is judged on sums too.
    """
    times = slices.times(column)
    scored = statistics.pair_scores(times.baseline_ns, times.candidate_ns, times.pair)
    score = _judging_score(times, scored, margin)
    judging, beside = (scored.sums, scored.medians) if score == "sums" else (scored.medians, scored.sums)
    judging = judging[np.isfinite(judging)]
    everything = slices.times(column, everything=True)
    unfiltered = statistics.pair_scores(everything.baseline_ns, everything.candidate_ns, everything.pair)
    sd = statistics.pair_sd(judging)
    return Estimate(
        num_pairs=judging.size,
        num_slices=times.pair.size,
        baseline_us=_us_a_step(times, times.baseline_ns),
        candidate_us=_us_a_step(times, times.candidate_ns),
        effect=_centre(judging),
        interval=_fractions(statistics.signed_rank_interval(judging, 0.95)),
        interval90=_fractions(statistics.signed_rank_interval(judging, 0.90)),
        all_slices=_centre(unfiltered.sums if score == "sums" else unfiltered.medians),
        other_score=_centre(beside),
        score=score,
        t_interval=_fractions(statistics.t_interval(judging)),
        bca_interval=_fractions(statistics.bca_interval(judging)),
        p_value=statistics.signed_rank_p(judging),
        sd=sd,
        detectable=_fraction(statistics.minimum_detectable_effect(sd, judging.size)),
        pairs_to_settle=statistics.pairs_to_settle(statistics.hodges_lehmann(judging), sd, math.log1p(margin)),
    )


def zygote_spread(slices: Slices, column: str) -> Components:
    """Spread of the median scores of `column` within one zygote and between zygotes, on the log scale."""
    times = slices.times(column)
    scored = statistics.pair_scores(times.baseline_ns, times.candidate_ns, times.pair)
    zygotes = slices.baseline.groupby("pair")["zygote"].first()
    return statistics.variance_components(scored.medians, zygotes.reindex(scored.pairs).to_numpy())


def _judging_score(times: Times, scored: PairScores, margin: float) -> Score:
    if not (times.baseline_ns.all() and times.candidate_ns.all()):
        return "sums"
    return "sums" if abs(_centre(scored.medians) - _centre(scored.sums)) > margin / 2 else "median"


def _us_a_step(times: Times, spent_ns: Floats) -> float:
    if times.pair.size == 0:
        return math.nan
    _, place = np.unique(times.pair, return_inverse=True)
    means = np.bincount(place, weights=spent_ns) / np.bincount(place, weights=times.num_steps)
    return float(np.median(means)) / NS_PER_US


def _centre(scores: Floats) -> float:
    return _fraction(statistics.hodges_lehmann(scores[np.isfinite(scores)]))


def _fractions(interval: Interval) -> Interval:
    low, high = interval
    return (_fraction(low), _fraction(high)) if interval != UNBOUNDED else UNBOUNDED


def _fraction(score: float) -> float:
    return math.expm1(score)
