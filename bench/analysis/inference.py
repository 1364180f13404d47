"""From the scores of pairs to an effect with its intervals: the same for every metric of every tier.

A score is log(candidate / baseline); what comes out is a fraction of the baseline, negative = candidate faster.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from bench.analysis import statistics
from bench.analysis.looks import ONE_LOOK, Tails
from bench.analysis.statistics import UNBOUNDED, Floats, Interval


@dataclass(frozen=True)
class Inference:
    """Effect and intervals as fractions; `sd` is that of the log-ratios.

    `judged` and `equivalence` are the intervals at the levels of the look; with one look, the 95 % and the 90 % one.
    """

    num_pairs: int
    effect: float
    interval: Interval
    interval90: Interval
    judged: Interval
    equivalence: Interval
    t_interval: Interval
    bca_interval: Interval
    p_value: float
    sd: float
    detectable: float
    pairs_to_settle: int


def infer(scores: Floats, margin: float, tails: Tails = ONE_LOOK) -> Inference:
    """What `(num_pairs,)` finite scores say; nan where there is no pair to tell."""
    sd, centre = statistics.pair_sd(scores), statistics.hodges_lehmann(scores)
    return Inference(
        num_pairs=scores.size,
        effect=math.expm1(centre),
        interval=_signed_rank(scores, 0.95),
        interval90=_signed_rank(scores, 0.90),
        judged=_signed_rank(scores, tails.level),
        equivalence=_signed_rank(scores, tails.equivalence_level),
        t_interval=fractions(statistics.t_interval(scores)),
        bca_interval=fractions(statistics.bca_interval(scores)),
        p_value=statistics.signed_rank_p(scores),
        sd=sd,
        detectable=math.expm1(statistics.minimum_detectable_effect(sd, scores.size)),
        pairs_to_settle=statistics.pairs_to_settle(centre, sd, math.log1p(margin)),
    )


def fractions(interval: Interval) -> Interval:
    """An interval of scores as fractions of the baseline."""
    low, high = interval
    return (math.expm1(low), math.expm1(high)) if interval != UNBOUNDED else UNBOUNDED


def _signed_rank(scores: Floats, level: float) -> Interval:
    return fractions(statistics.signed_rank_interval(scores, level))
