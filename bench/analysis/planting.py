"""Effects of a known size, planted by work that was really done: 101 slices of the candidate for 100 of the baseline.

Both arms of an identical pair run every slice. Of each unit of `100 / percent` slices and one more, the baseline is
not charged for the one more, drawn at random; the candidate is. So it did exactly that much more work, in its own
steps, spread as a change of the step's own cost would be.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from bench.analysis.slices import Slices
from bench.errors import ConfigError

SUMMED = ("num_steps", "cpu_ns", "wall_ns")


def slices_a_unit(percent: float) -> int:
    """Baseline slices for each further one of the candidate; raises ConfigError where that is no whole number."""
    unit = round(100 / percent) if percent > 0 else 0
    if unit < 1 or abs(unit * percent - 100) > 1e-6:
        raise ConfigError(f"an effect of {percent:g} % cannot be planted exactly; 100 / it must be a whole number")
    return unit


def plant(slices: Slices, percent: float, seed: int) -> Slices:
    """A slice a unit, with SUMMED, pair and zygote; units are made of undisturbed slices of one pair, in their order.

    What is left over at a pair's end is dropped; a pair with fewer slices than a unit has is gone.
    """
    unit = slices_a_unit(percent)
    rng = np.random.default_rng([seed, unit])
    kept = np.flatnonzero(slices.undisturbed)
    pairs = slices.baseline["pair"].to_numpy()[kept]
    arms: tuple[list[pd.DataFrame], list[pd.DataFrame]] = ([], [])
    for pair in np.unique(pairs):
        mine = kept[pairs == pair]
        num_units = len(mine) // (unit + 1)
        places = mine[: num_units * (unit + 1)].reshape(num_units, unit + 1)
        charged = np.ones_like(places, dtype=np.bool_)
        charged[np.arange(num_units), rng.integers(0, unit + 1, size=num_units)] = False
        baseline = _sums(slices.baseline, places, charged)
        arms[0].append(baseline)
        arms[1].append(_sums(slices.candidate, places, np.ones_like(charged)).assign(num_steps=baseline["num_steps"]))
    baseline, candidate = (pd.concat(parts, ignore_index=True) if parts else _empty() for parts in arms)
    return Slices(baseline, candidate, np.ones(len(baseline), dtype=np.bool_))


def _sums(arm: pd.DataFrame, places: np.ndarray, charged: np.ndarray) -> pd.DataFrame:
    columns = {name: np.where(charged, arm[name].to_numpy()[places], 0).sum(axis=1) for name in SUMMED}
    owner = arm[["pair", "zygote"]].iloc[places[:, 0]].reset_index(drop=True)
    return owner.assign(**columns)


def _empty() -> pd.DataFrame:
    return pd.DataFrame(columns=["pair", "zygote", *SUMMED])
