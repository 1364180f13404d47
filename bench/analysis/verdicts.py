"""The rule that turns figures into one of five words, with its reason in one line.

Effects, limits and margins are fractions of the baseline; negative means that the candidate is faster.
Where the figures come from is the business of `bench.analysis.comparisons`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from bench.analysis.looks import ONE_LOOK, Tails
from bench.analysis.statistics import MAX_PAIRS_NEEDED, MIN_PAIRS, Interval
from bench.manifest import Verdict
from bench.units import format_interval, format_percent

MORE_PAIRS_DO_NOT_HELP = -1  # what `pairs_needed` says where the doubt is not one of too few pairs


@dataclass(frozen=True)
class Evidence:
    """What one comparison showed; `void`, `failed`, `mixed` (hosts) and `unfit` (machine) are messages, or empty.

    `interval` and `equivalence` have the levels of `tails`, which are those of the look.
    """

    num_pairs: int
    effect: float = math.nan
    interval: Interval = (math.nan, math.nan)
    equivalence: Interval = (math.nan, math.nan)
    tails: Tails = ONE_LOOK
    other_clock: Interval | None = None
    excluded: float = 0.0
    pairs_to_settle: int = MIN_PAIRS
    void: str = ""
    failed: str = ""
    mixed: str = ""
    unfit: str = ""


@dataclass(frozen=True)
class Limits:
    """What was fixed before measuring: the smallest difference that matters and the largest share excluded."""

    margin: float
    max_excluded: float


@dataclass(frozen=True)
class Ruling:
    """A verdict, why, and the pairs that would settle it: 0 settled, -1 where more pairs do not help."""

    verdict: Verdict
    reason: str
    pairs_needed: int = MORE_PAIRS_DO_NOT_HELP


def judge(evidence: Evidence, limits: Limits) -> Ruling:
    """The verdict on `evidence`: whatever forbids one first, then the rule on estimate and limits.

    VOID where decisions were not proven equal or a health check failed. SLOWER where the interval lies above 0 and the
    estimate above the margin, FASTER the mirror. EQUIVALENT where the interval for it lies inside the margin: two
    one-sided tests (Schuirmann 1987). Everything else is INCONCLUSIVE. The levels are those of the look
    (`bench.analysis.looks`): 95 % and 90 % where there is one.
    """
    for obstacle in (_void, _failed, _mixed, _too_many_excluded, _unfit, _too_few_pairs, _clocks_disagree):
        ruling = obstacle(evidence, limits)
        if ruling is not None:
            return ruling
    return _by_rule(evidence, limits)


def _void(evidence: Evidence, limits: Limits) -> Ruling | None:
    return Ruling("VOID", evidence.void) if evidence.void else None


def _failed(evidence: Evidence, limits: Limits) -> Ruling | None:
    return Ruling("INCONCLUSIVE", evidence.failed) if evidence.failed else None


def _mixed(evidence: Evidence, limits: Limits) -> Ruling | None:
    return Ruling("INCONCLUSIVE", evidence.mixed) if evidence.mixed else None


def _too_many_excluded(evidence: Evidence, limits: Limits) -> Ruling | None:
    if evidence.excluded <= limits.max_excluded:
        return None
    shares = f"{100 * evidence.excluded:.0f} % of slices were disturbed, {100 * limits.max_excluded:.0f} % are allowed"
    return Ruling("INCONCLUSIVE", f"{shares}; measure on a quieter machine")


def _unfit(evidence: Evidence, limits: Limits) -> Ruling | None:
    return Ruling("INCONCLUSIVE", evidence.unfit) if evidence.unfit else None


def _too_few_pairs(evidence: Evidence, limits: Limits) -> Ruling | None:
    fewest = evidence.tails.fewest_pairs
    if evidence.num_pairs >= fewest:
        return None
    level = _level(evidence.tails.level)
    reason = f"{count(evidence.num_pairs, 'pair')} analysed; an exact {level} interval needs at least {fewest}"
    return Ruling("INCONCLUSIVE", reason, max(fewest, evidence.pairs_to_settle))


def _clocks_disagree(evidence: Evidence, limits: Limits) -> Ruling | None:
    if evidence.other_clock is None or side(evidence.interval) * side(evidence.other_clock) != -1:
        return None
    intervals = f"CPU {format_interval(*evidence.interval)}, wall {format_interval(*evidence.other_clock)}"
    return Ruling("INCONCLUSIVE", f"the two clocks disagree on who is faster: {intervals}")


def _by_rule(evidence: Evidence, limits: Limits) -> Ruling:
    margin, effect = limits.margin, evidence.effect
    figures = f"{format_percent(effect)}, {_level(evidence.tails.level)} interval {format_interval(*evidence.interval)}"
    low, high = evidence.equivalence
    if side(evidence.interval) == 1 and effect > margin:
        return Ruling("SLOWER", f"{figures}; above 0, and above the margin of {100 * margin:g} %", 0)
    if side(evidence.interval) == -1 and effect < -margin:
        return Ruling("FASTER", f"{figures}; below 0, and below the margin of -{100 * margin:g} %", 0)
    if -margin < low and high < margin:
        known = "" if side(evidence.interval) == 0 else "; a difference, but too small to matter"
        level = _level(evidence.tails.equivalence_level)
        inside = f"{level} interval {format_interval(low, high)} inside ±{100 * margin:g} %"
        return Ruling("EQUIVALENT", f"{inside}{known}", 0)
    needed = min(MAX_PAIRS_NEEDED, max(evidence.pairs_to_settle, evidence.num_pairs + 1))
    return Ruling("INCONCLUSIVE", f"{figures} {_doubt(evidence, limits)}; {_advice(needed)}", needed)


def _doubt(evidence: Evidence, limits: Limits) -> str:
    margin = f"{100 * limits.margin:g} %"
    if side(evidence.interval) == 0:
        return f"holds 0 and reaches past the margin of ±{margin}"
    return f"excludes 0, but whether the difference exceeds the margin of {margin} is open"


def _level(level: float) -> str:
    return f"{100 * level:g} %"


def _advice(needed: int) -> str:
    if needed >= MAX_PAIRS_NEEDED:
        return f"{MAX_PAIRS_NEEDED} pairs or more would be needed"
    return f"about {needed} pairs would settle it"


def doubts_canary(ruling: Ruling, evidence: Evidence, limits: Limits) -> str:
    """Why the comparison of the baseline with itself casts doubt on its job, or an empty string if it is clean.

    Not clean: it was not measured, it is void, it is judged SLOWER or FASTER, or its interval excludes 0 with an
    estimate past half the margin.
    """
    if evidence.void or evidence.failed or evidence.num_pairs == 0:
        return ruling.reason
    shows = side(evidence.interval) != 0 and abs(evidence.effect) > limits.margin / 2
    if ruling.verdict in ("SLOWER", "FASTER") or shows:
        return f"{format_percent(evidence.effect)} {format_interval(*evidence.interval)} between identical schedulers"
    return ""


def withhold(ruling: Ruling, doubt: str) -> Ruling:
    """The ruling of a comparison whose A/A canary raised `doubt`: what was settled becomes INCONCLUSIVE."""
    if not doubt or ruling.verdict in ("VOID", "INCONCLUSIVE"):
        return ruling
    reason = f"would be {ruling.verdict}, but the A/A canary is not clean: {doubt}"
    return replace(ruling, verdict="INCONCLUSIVE", reason=reason, pairs_needed=MORE_PAIRS_DO_NOT_HELP)


def side(interval: Interval) -> int:
    """1 where the interval lies above 0, -1 below, and 0 where it holds 0 or is unknown."""
    low, high = interval
    return int(low > 0) - int(high < 0)


def count(number: int, noun: str) -> str:
    """`1 pair`, `2 pairs`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
