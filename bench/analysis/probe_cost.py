"""What the step probe itself costs, by number of running requests, from steps that ran with it and without it."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from scipy import stats

from bench.analysis.admission import read_table
from bench.analysis.load import Run
from bench.analysis.raw_tables import check_columns, check_total, frame
from bench.analysis.statistics import Floats
from bench.records import PROBE
from bench.units import NS_PER_US

CLAIM_FACTOR = 5  # an effect below so many times the probe's cost may be the probe's
COLUMNS = ["num_running", "num_pairs", "cost_us", "low_us", "high_us"]


def probe_costs(run: Run) -> pd.DataFrame:
    """A row for each size that was measured: cost_us a step with its 95 % interval; columns COLUMNS.

    The median of the differences of neighbouring steps in thread CPU time; an interval that includes 0 says that the
    cost is lost in what else tells two steps apart.
    """
    files = sorted((run.path / "probe").glob("*.parquet"))
    check_total(files, sum(check_columns(file, PROBE) for file in files), run.bounds.total_rows)
    table = frame([read_table(file, PROBE, run.bounds) for file in files], PROBE)
    table["cost_us"] = (table["with_ns"] - table["without_ns"]) / NS_PER_US
    rows = []
    for num_running, group in table.groupby("num_running"):
        cost = group["cost_us"].to_numpy(dtype=np.float64)
        rows.append((num_running, cost.size, float(np.median(cost)), *median_interval(cost)))
    return pd.DataFrame(rows, columns=COLUMNS)


def median_interval(values: Floats, level: float = 0.95) -> tuple[float, float]:
    """An interval for the median from two of the ordered `values`, of at least `level`; nan with too few of them.

    Binomial (David and Nagaraja, Order Statistics, 2003, section 7.1): no assumption about the distribution.
    """
    place = int(stats.binom.ppf((1 - level) / 2, values.size, 0.5)) - 1
    if place < 0:
        return math.nan, math.nan
    ordered = np.sort(values)
    return float(ordered[place]), float(ordered[values.size - 1 - place])


def cost_share(costs: pd.DataFrame, num_running: int, step_us: float, figure: str = "cost_us") -> float:
    """The probe's cost, or an end of its interval, as a fraction of a step of `step_us`; nan for a size without one."""
    mine = costs.loc[costs["num_running"] == num_running, figure]
    return float(mine.iloc[0]) / step_us if len(mine) and step_us > 0 else math.nan


def is_below_claim(effect: float, share: float) -> bool:
    """True where an effect (a fraction) is too small to be claimed against a probe that costs up to `share`."""
    return math.isfinite(share) and math.isfinite(effect) and abs(effect) < CLAIM_FACTOR * max(0.0, share)
