"""Everything that is estimated for one metric of one comparison.

Fractions of the baseline inside, negative = candidate faster; percentages and verdicts are made by the callers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bench.analysis import statistics
from bench.analysis.inference import Inference, infer
from bench.analysis.looks import ONE_LOOK, Tails
from bench.analysis.slices import Slices, Times
from bench.analysis.statistics import Components, Floats, PairScores
from bench.units import NS_PER_US

Score = Literal["median", "sums", "mean", "p50", "p99"]  # the last three: latencies of the serve tier


@dataclass(frozen=True)
class Estimate(Inference):
    """One metric's figures: what its pairs say, and the times, in µs a step, that they were made of."""

    num_slices: int
    baseline_us: float
    candidate_us: float
    all_slices: float
    other_score: float
    score: Score

    @property
    def difference_us(self) -> float:
        """The effect in µs a step; negative = candidate faster."""
        return self.baseline_us * self.effect


def estimate(slices: Slices, column: str, margin: float, tails: Tails = ONE_LOOK) -> Estimate:
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
    return Estimate(
        **vars(infer(judging, margin, tails)),
        num_slices=times.pair.size,
        baseline_us=_us_a_step(times, times.baseline_ns),
        candidate_us=_us_a_step(times, times.candidate_ns),
        all_slices=_centre(unfiltered.sums if score == "sums" else unfiltered.medians),
        other_score=_centre(beside),
        score=score,
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
    return math.expm1(statistics.hodges_lehmann(scores[np.isfinite(scores)]))
