"""What a step costs against the number of running requests: the points, their slopes, and where two variants cross.

Wall time of each scheduler function; the ratios that carry verdicts are in `bench.analysis.comparisons`.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from scipy import stats

from bench.analysis import statistics
from bench.analysis.load import Run
from bench.analysis.metrics import FUNCTIONS, SERVE
from bench.analysis.slices import slices_of
from bench.analysis.verdicts import side
from bench.units import NS_PER_US

CURVE = ["tier", "workload", "variant", "function"]
POINT = [*CURVE, "num_running"]
COSTS = [*POINT, "cost_us"]


def pair_costs(run: Run) -> pd.DataFrame:
    """Mean wall time a step in µs, a row for each pair, arm and function; columns COSTS, disturbed slices left out.

    The baseline compared with itself is left out, comparisons that are void or failed too.
    """
    frames = [
        _costs_of(run, record.id, record.tier).assign(
            tier=record.tier, workload=record.workload, num_running=record.num_running
        )
        for record in run.manifest.comparisons
        if record.tier != SERVE
        and not record.canary
        and record.status in ("measured", "partial")
        and record.parity
        and record.parity.alike
    ]
    return pd.concat(frames, ignore_index=True)[COSTS] if frames else pd.DataFrame(columns=COSTS)


def _costs_of(run: Run, comparison_id: str, tier: str) -> pd.DataFrame:
    slices = slices_of(run, comparison_id)
    frames = []
    for arm in (slices.baseline, slices.candidate):
        kept = arm[slices.undisturbed]
        sums = kept.groupby(["pair", "variant"])[["num_steps", *(part.column for part in FUNCTIONS[tier])]].sum()
        for part in FUNCTIONS[tier]:
            cost = sums[part.column] / sums["num_steps"] / NS_PER_US
            frames.append(cost.rename("cost_us").reset_index().assign(function=part.name))
    return pd.concat(frames, ignore_index=True)


def points(costs: pd.DataFrame) -> pd.DataFrame:
    """Hodges–Lehmann centre of `costs` over pairs with its exact 95 % interval: cost_us, low_us, high_us, num_pairs.

    A row for each of POINT, in the order of first appearance; functions that never take time are left out.
    """
    rows = []
    for key, group in costs.groupby(POINT, sort=False):
        means = group["cost_us"].to_numpy(dtype=np.float64)
        low, high = statistics.signed_rank_interval(means)
        centre = statistics.hodges_lehmann(means)
        rows.append(
            dict(zip(POINT, key, strict=True))
            | {"cost_us": centre, "low_us": low, "high_us": high, "num_pairs": means.size}
        )
    table = pd.DataFrame(rows, columns=[*POINT, "cost_us", "low_us", "high_us", "num_pairs"])
    return table[table.groupby(CURVE, sort=False)["cost_us"].transform("max") > 0].reset_index(drop=True)


def slopes(costs: pd.DataFrame) -> pd.DataFrame:
    """µs a step for each further running request, with a 95 % t interval: slope_us, low_us, high_us, num_sizes.

    Ordinary least squares over pairs (Draper and Smith, chapter 1). Assumes a straight line and equal spread, so it
    is a description and carries no verdict; nan with fewer than two sizes or three pairs.
    """
    rows = []
    for key, group in costs.groupby(CURVE, sort=False):
        if group["cost_us"].any():
            sizes = group["num_running"].to_numpy(dtype=np.float64)
            fit = _fit(sizes, group["cost_us"].to_numpy(dtype=np.float64))
            rows.append(dict(zip(CURVE, key, strict=True)) | fit | {"num_sizes": np.unique(sizes).size})
    return pd.DataFrame(rows, columns=[*CURVE, "slope_us", "low_us", "high_us", "num_sizes"])


def _fit(sizes: statistics.Floats, costs: statistics.Floats) -> dict[str, float]:
    if np.unique(sizes).size < 2 or sizes.size < 3:
        return {"slope_us": math.nan, "low_us": math.nan, "high_us": math.nan}
    line = stats.linregress(sizes, costs)
    half = float(stats.t.ppf(0.975, sizes.size - 2)) * float(line.stderr)
    slope = float(line.slope)
    return {"slope_us": slope, "low_us": slope - half, "high_us": slope + half}


def crossovers(comparisons: pd.DataFrame) -> pd.DataFrame:
    """Where the faster variant changes as RUNNING grows: columns tier, workload, candidate, num_running.

    Between two neighbouring sizes whose verdict rows have effects of opposite sign, both with 95 % intervals that
    exclude 0, on the straight line between them; nan means none in range. A row for each curve of at least two sizes.
    """
    judged = comparisons[comparisons["gating"] & ~comparisons["canary"] & (comparisons["num_pairs"] > 0)]
    rows = []
    for key, group in judged.groupby(["tier", "workload", "candidate"], sort=False):
        if group["num_running"].nunique() > 1:
            rows.append((*key, _crossing(group.sort_values("num_running"))))
    return pd.DataFrame(rows, columns=["tier", "workload", "candidate", "num_running"])


def _crossing(curve: pd.DataFrame) -> float:
    effects, sizes = curve["effect_pct"].to_numpy(), curve["num_running"].to_numpy()
    sides = [side(interval) for interval in zip(curve["low_pct"], curve["high_pct"], strict=True)]
    for left in range(len(sides) - 1):
        if sides[left] * sides[left + 1] == -1:
            share = effects[left] / (effects[left] - effects[left + 1])
            return float(sizes[left] + share * (sizes[left + 1] - sizes[left]))
    return math.nan
