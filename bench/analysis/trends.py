"""What the history of one comparison shows: its runs in order, where its level changed, and whether that is news.

Only runs of one environment and one trace are a series.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bench.analysis.change_points import Change, change_points
from bench.analysis.history import SERIES
from bench.errors import EXIT_DONE, EXIT_REGRESSION

RECENT = 7  # runs: a week of nights in which a change is news and not history


@dataclass(frozen=True)
class Trend:
    """One series, oldest run first, with its changes; effects in %, negative = candidate faster."""

    environment: str
    cell: str
    baseline: str
    candidate: str
    canary: bool
    runs: pd.DataFrame
    changes: tuple[Change, ...]

    def news(self, recent: int = RECENT) -> Change | None:
        """The last change, if it came with one of the `recent` last runs."""
        if not self.changes or self.changes[-1].index < len(self.runs) - recent:
            return None
        return self.changes[-1]


def trends(history: pd.DataFrame) -> list[Trend]:
    """A Trend for each series of `history` (`bench.analysis.history.HISTORY`), in its order.

    A change counts from half the margin on: less does not matter, and would be asked about every night.
    """
    found = []
    for key, runs in history.groupby([*SERIES, "canary"], sort=False):
        runs = runs.reset_index(drop=True)
        environment, cell, baseline, candidate, _ = (str(part) for part in key[:-1])
        least = float(runs["margin_pct"].iloc[-1]) / 2
        changes = change_points(runs["effect_pct"].to_numpy(dtype=np.float64), least)
        found.append(Trend(environment, cell, baseline, candidate, bool(key[-1]), runs, tuple(changes)))
    return found


def exit_code(found: list[Trend], recent: int = RECENT) -> int:
    """EXIT_REGRESSION where a candidate became slower lately; what became faster, and canaries, are told only."""
    slower = [one for one in found if not one.canary and (news := one.news(recent)) and news.shift > 0]
    return EXIT_REGRESSION if slower else EXIT_DONE
