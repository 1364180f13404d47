"""When the figures are looked at, and how sure each look must be: fixed before the first pair is measured.

A run that looks twice and says SLOWER or FASTER when either look shows it would cry wolf more often than one that
looks once. So each look spends a part of the error: O'Brien and Fleming (1979) in spirit, two looks only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd

from bench.analysis.statistics import MIN_PAIRS

GATE_P = 0.05  # over all verdicts of a run, by Holm


@dataclass(frozen=True)
class Tails:
    """One-sided error of one look: of a difference where there is none, and of EQUIVALENT at the margin."""

    difference: float
    equivalence: float

    @property
    def level(self) -> float:
        """Confidence level of the interval that judges a difference, 0 to 1."""
        return 1 - 2 * self.difference

    @property
    def equivalence_level(self) -> float:
        """Confidence level of the interval that must lie inside the margin, 0 to 1."""
        return 1 - 2 * self.equivalence

    @property
    def fewest_pairs(self) -> int:
        """With fewer, the widest signed-rank interval there is does not hold `level`."""
        return max(MIN_PAIRS, math.ceil(-math.log2(min(self.difference, self.equivalence)) - 1e-9))


ONE_LOOK = Tails(difference=0.025, equivalence=0.05)
TWO_LOOKS = (Tails(difference=0.002, equivalence=0.01), Tails(difference=0.0085, equivalence=0.04))
"""Over both looks: at most 1.05 % on either side for a difference, 5 % for EQUIVALENT."""


def tails_of(look: int, *, looks_twice: bool) -> Tails:
    """What look 1 or 2 may spend, in a run that planned one look or two."""
    return TWO_LOOKS[look - 1] if looks_twice else ONE_LOOK


def regressions(comparisons: pd.DataFrame) -> list[str]:
    """The comparisons that are SLOWER, and stay so when it counts how many were judged side by side."""
    return [*comparisons.loc[(comparisons["verdict"] == "SLOWER") & (comparisons["p_holm"] <= GATE_P), "comparison"]]


def unsettled(comparisons: pd.DataFrame) -> list[str]:
    """The comparisons that more pairs could settle: what a second look is for."""
    rows = comparisons[comparisons["gating"] & ~comparisons["canary"]]
    return [*rows.loc[(rows["verdict"] == "INCONCLUSIVE") & (rows["pairs_needed"] > 0), "comparison"]]
