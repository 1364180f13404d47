"""The slices of one comparison, both arms side by side, and the rule that leaves disturbed ones out.

What is computed from them is the business of `bench.analysis.estimates`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bench.analysis.load import ARMS, Run
from bench.analysis.statistics import Floats
from bench.units import NS_PER_MS

# A slice in which the kernel took the core away, fetched a page from disk, or another guest ran has measured the host.
# Fixed before any measurement and blind to the arm: both arms leave with the slice, whichever was disturbed. In the
# engine tier the model's own threads take the one core from each other in every step, so switches tell nothing.
DISTURBANCES = {
    "replay": ("involuntary_switches", "major_faults", "steal_ms"),
    "engine": ("major_faults", "steal_ms"),
}
# What a long slice of the replay tier may bear, since it cannot run for a third of a second without the kernel's own
# work: so many a ms of the slice, rounded down. One of less than 20 ms bears no switch, of less than 200 ms no tick
# (10 ms) of steal.
BORNE_A_MS = {"replay": {"involuntary_switches": 1 / 20, "steal_ms": 1 / 20}}


@dataclass(frozen=True)
class Times:
    """One metric over slices, each array `(num_slices,)`: pair number, steps, and time of each arm in ns."""

    pair: NDArray[np.int64]
    num_steps: NDArray[np.int64]
    baseline_ns: Floats
    candidate_ns: Floats


@dataclass(frozen=True)
class Slices:
    """Both arms of every slice in the same order; `undisturbed` is true where the rule keeps both."""

    baseline: pd.DataFrame
    candidate: pd.DataFrame
    undisturbed: NDArray[np.bool_]

    @property
    def excluded(self) -> float:
        """Share of the slices that the rule leaves out, 0 to 1."""
        return float((~self.undisturbed).mean()) if self.undisturbed.size else 0.0

    def times(self, column: str, *, everything: bool = False) -> Times:
        """One column of `bench.records.PAIRS`, of the undisturbed slices or of `everything`."""
        kept = np.ones_like(self.undisturbed) if everything else self.undisturbed
        return Times(
            self.baseline["pair"].to_numpy()[kept],
            self.baseline["num_steps"].to_numpy()[kept],
            self.baseline[column].to_numpy(dtype=np.float64)[kept],
            self.candidate[column].to_numpy(dtype=np.float64)[kept],
        )

    def takes_time(self, column: str) -> bool:
        """False where neither arm ever spent time in `column`, as in `finish_ns` of a workload without aborts."""
        return bool(self.baseline[column].any() or self.candidate[column].any())


def slices_of(run: Run, comparison_id: str) -> Slices:
    """The slices of one comparison, ordered by pair and slice; `load_run` has made sure that both arms have each."""
    rows = run.pairs_of(comparison_id)
    tier = run.comparison(comparison_id).tier
    counted = DISTURBANCES.get(tier, ())  # the serve tier has requests, not slices
    baseline, candidate = (rows[rows["arm"] == arm].reset_index(drop=True) for arm in ARMS)
    length_ms = (baseline["step_ns"].to_numpy() + candidate["step_ns"].to_numpy()) / 2 / NS_PER_MS
    undisturbed = np.ones(len(baseline), dtype=np.bool_)
    for column in counted:
        borne = np.floor(BORNE_A_MS.get(tier, {}).get(column, 0.0) * length_ms)
        undisturbed &= (baseline[column].to_numpy() <= borne) & (candidate[column].to_numpy() <= borne)
    return Slices(baseline, candidate, undisturbed)
