"""Effects of a known size, planted by work that was really done: 101 slices of the candidate for 100 of the baseline.

Both arms of an identical pair run every slice. Some slices are set aside: nobody is charged for what the baseline did
in them, and what the candidate did in one is spread over the slices around it, `percent` of it on each, as a change of
the step's own cost would be. So each slice of the candidate costs exactly that much more than it did, in steps of its
own.

The slices set aside are those of median cost in their pair, since a pair is scored by the median of its slices. Slices
drawn at random cost as much as the mean of all, which few dear ones raise: the effect would be larger than it is said.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bench.analysis.slices import Slices
from bench.errors import ConfigError

TIMES = ("cpu_ns", "wall_ns")
MOST = 100.0  # %: each slice once more


def check_effect(percent: float) -> None:
    """Raise ConfigError for an effect that cannot be planted: no work can be taken away, and only done once more."""
    if not 0 < percent <= MOST:
        raise ConfigError(f"an effect of {percent:g} % cannot be planted, expected more than 0 and up to {MOST:g}")


def plant(slices: Slices, percent: float) -> Slices:
    """The undisturbed slices of both arms, less those set aside, with the candidate's TIMES raised by `percent`."""
    check_effect(percent)
    kept = np.flatnonzero(slices.undisturbed)
    pairs = slices.baseline["pair"].to_numpy()[kept]
    rows, donors = [], []
    for pair in np.unique(pairs):
        mine = kept[pairs == pair]
        num_aside = math.ceil(len(mine) * percent / (100 + percent))
        aside = _of_median_cost(slices.candidate["cpu_ns"].to_numpy()[mine], num_aside)
        charged = np.delete(mine, aside)
        rows.append(charged)
        donors.append(mine[aside][np.arange(len(charged)) * num_aside // max(1, len(charged))])
    places, donor = (np.concatenate(parts) if parts else np.array([], dtype=np.intp) for parts in (rows, donors))
    baseline, candidate = (arm.iloc[places].reset_index(drop=True) for arm in (slices.baseline, slices.candidate))
    further = {
        name: candidate[name].to_numpy() + percent / 100 * slices.candidate[name].to_numpy()[donor] for name in TIMES
    }
    return Slices(baseline, pd.DataFrame(candidate.assign(**further)), np.ones(len(places), dtype=np.bool_))


def _of_median_cost(costs: NDArray[np.float64], number: int) -> NDArray[np.intp]:
    """The places of the `number` middle ones of `costs`, in the order of `costs`."""
    first = (len(costs) - number) // 2
    return np.sort(np.argsort(costs, kind="stable")[first : first + number])
