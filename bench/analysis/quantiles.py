"""How the distribution of a step's time shifts: its quantiles in both arms, and the effect on each over pairs.

A mean can stay while the slowest steps change; this shows it. Nothing here is judged.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from bench.analysis import statistics
from bench.analysis.load import ARMS, Run
from bench.analysis.metrics import GATING, SERVE
from bench.analysis.slices import slices_of
from bench.units import NS_PER_US

LEVELS = (0.5, 0.9, 0.99)
COLUMNS = ["quantile", "baseline_us", "candidate_us", "effect_pct", "low_pct", "high_pct", "num_pairs", "num_steps"]


def quantile_shift(run: Run, comparison_id: str) -> pd.DataFrame:
    """A row for each of LEVELS; times of the gating clock in µs a step, effects in %, negative = candidate faster.

    A pair's quantile is taken over its judged steps in undisturbed slices, by linear interpolation; the effect is the
    Hodges–Lehmann estimate of the pairs' log-ratios with its exact 95 % signed-rank interval. `num_steps` is that of
    the shortest pair: p99 of fewer than a hundred steps is close to their maximum. Empty where no steps were saved.
    """
    if run.comparison(comparison_id).tier == SERVE:  # its steps differ between the arms; requests have quantiles
        return pd.DataFrame(columns=COLUMNS)
    column = GATING[run.comparison(comparison_id).tier].column
    steps = _undisturbed(run, comparison_id, run.steps_of(comparison_id, ["pair", "arm", "slice", column]))
    if steps.empty:
        return pd.DataFrame(columns=COLUMNS)
    by_pair = steps.groupby(["pair", "arm"])[column]
    fewest = int(by_pair.size().min())
    rows = []
    for level in LEVELS:
        arms = (by_pair.quantile(level) / NS_PER_US).unstack("arm").reindex(columns=ARMS).dropna()
        rows.append({"quantile": level, "num_steps": fewest} | _shift(arms[ARMS[0]], arms[ARMS[1]]))
    return pd.DataFrame(rows, columns=COLUMNS)


def _undisturbed(run: Run, comparison_id: str, steps: pd.DataFrame) -> pd.DataFrame:
    """The steps of undisturbed slices; a step outside the steady phase is in none."""
    slices = slices_of(run, comparison_id)
    kept = slices.baseline.loc[slices.undisturbed, ["pair", "slice"]]
    return steps.merge(kept, on=["pair", "slice"])


def _shift(baseline: pd.Series, candidate: pd.Series) -> dict[str, float]:
    usable = (baseline > 0) & (candidate > 0)
    scores = np.log(candidate[usable].to_numpy(dtype=np.float64) / baseline[usable].to_numpy(dtype=np.float64))
    low, high = statistics.signed_rank_interval(scores)
    return {
        "baseline_us": float(baseline.median()),
        "candidate_us": float(candidate.median()),
        "effect_pct": 100 * math.expm1(statistics.hodges_lehmann(scores)),
        "low_pct": 100 * math.expm1(low),
        "high_pct": 100 * math.expm1(high),
        "num_pairs": scores.size,
    }
