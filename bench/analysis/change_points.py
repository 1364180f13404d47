"""Where the level of a series of effects changed: segments by dynamic programming, then a test of each border.

Numbers in, changes out; which runs they are and what follows is the business of `bench.analysis.trends`.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import ruptures
from scipy import stats

from bench.analysis.statistics import Floats

MIN_RUNS = 10  # fewer say too little about how much runs differ by themselves
MIN_SEGMENT = 3  # one odd run is no new level
PENALTY = 6.0  # times variance times log n for each border: Yao (1988) takes 1; more, because every night asks again
ALPHA = 1e-4  # of the test of one border: about one false alarm in 10,000 nights of normal noise (docs/history.md)


@dataclass(frozen=True)
class Change:
    """The level is `before` up to run `index` and `after` from it on, in the unit of the series."""

    index: int
    before: float
    after: float
    p_value: float

    @property
    def shift(self) -> float:
        """How far the level moved; positive = the candidate became slower."""
        return self.after - self.before


def change_points(effects: Floats, least_shift: float) -> list[Change]:
    """The changes of level in `effects` of `(num_runs,)`, first to last, that move it by at least `least_shift`.

    Segments minimise the squared error plus PENALTY for each border (Killick, Fearnhead and Eckley 2012, exact); a
    border stays if the t test of its two neighbours gives less than ALPHA. Assumes independent runs of one spread; an
    empty list means that no change is shown, not that there is none. Fewer than MIN_RUNS runs show nothing.
    """
    if effects.size < MIN_RUNS:
        return []
    noise = _noise(effects)
    search = ruptures.KernelCPD(kernel="linear", min_size=MIN_SEGMENT).fit(effects.reshape(-1, 1))
    edges = [0, *search.predict(pen=PENALTY * noise**2 * math.log(effects.size))]
    segments = [effects[first:after] for first, after in itertools.pairwise(edges)]
    freedom = effects.size - len(segments)
    left = math.sqrt(sum(float(((one - one.mean()) ** 2).sum()) for one in segments) / freedom)
    changes = [
        _change(index, before, after, max(noise, left), freedom)
        for index, before, after in zip(edges[1:], segments, segments[1:], strict=False)
    ]
    return [one for one in changes if one.p_value < ALPHA and abs(one.shift) >= least_shift]


def _noise(effects: Floats) -> float:
    """Spread of a run from the median difference of neighbours, which a change of level hardly moves."""
    differences = np.abs(np.diff(effects))
    spread = float(np.median(differences)) / (math.sqrt(2) * float(stats.norm.ppf(0.75)))
    return max(spread, 1e-9)


def _change(index: int, before: Floats, after: Floats, noise: float, freedom: int) -> Change:
    error = noise * math.sqrt(1 / before.size + 1 / after.size)
    levels = float(before.mean()), float(after.mean())
    p_value = 2 * float(stats.t.sf(abs(levels[1] - levels[0]) / error, freedom))
    return Change(int(index), *levels, p_value)
