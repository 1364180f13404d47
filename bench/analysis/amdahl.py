"""What the replay tier's effect lets expect of a whole engine's step, and whether the engine agrees.

Amdahl (1967): a change of a part changes the whole by its share. Where the engine waits for a model that runs beside
the scheduler, what the scheduler saves is waited for, and what it costs is hidden until the wait is used up.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from bench.manifest import SIMULATED_MODEL

WAITING = 0.05  # of the step: an engine that waits longer than this is bound by its model

COLUMNS = [
    "cell", "comparison", "candidate", "num_running", "step_us", "share_pct", "waits_pct",
    "replay_pct", "predicted_pct", "predicted_low_pct", "predicted_high_pct",
    "observed_pct", "observed_low_pct", "observed_high_pct", "verdict", "agree",
]  # fmt: skip

Row = Mapping[Hashable, Any]


def amdahl(comparisons: pd.DataFrame) -> pd.DataFrame:
    """A row for each engine comparison with figures: columns COLUMNS, effects in % of the step, negative = faster.

    `agree` is "yes" or "no" by whether the two 95 % intervals overlap, and empty where the run has no replay of the
    same workload, size and candidate, or too few pairs for an interval.
    """
    judged = comparisons[comparisons["gating"] & ~comparisons["canary"] & (comparisons["num_pairs"] > 0)]
    replays = {_key(row): row for row in judged[judged["tier"] == "replay"].to_dict("records")}
    engines = judged[judged["tier"] == "engine"].to_dict("records")
    rows = [_row(comparisons, engine, replays.get(_key(engine))) for engine in engines]
    return pd.DataFrame(rows, columns=COLUMNS)


def exposed(change: float, waits: float) -> float:
    """What of a scheduler's `change` reaches the step, both as fractions of it, where the engine `waits` so long."""
    return max(0.0, change - waits) if waits > WAITING else change


def _key(row: Row) -> tuple[str, int, str]:
    """What a replay and an engine that belong together share; a simulated model and plain sync are not told apart."""
    workload = re.sub(rf", {SIMULATED_MODEL} [^,]*|, sync\b", "", row["workload"])
    return workload, row["num_running"], row["candidate"]


def _row(comparisons: pd.DataFrame, engine: Row, replay: Row | None) -> dict[str, Any]:
    mine = comparisons[(comparisons["comparison"] == engine["comparison"]) & (comparisons["clock"] == "wall")]
    times = dict(zip(mine["metric"], mine["baseline_us"], strict=True))
    step = engine["baseline_us"]
    share, waits = times.get("scheduler", 0.0) / step, times.get("idle", 0.0) / step
    row = {name: engine[name] for name in ("cell", "comparison", "candidate", "num_running", "verdict")}
    row |= {"step_us": step, "share_pct": 100 * share, "waits_pct": 100 * waits}
    row |= {f"observed{end}": engine[name] for end, name in _ENDS.items()}
    if replay is None:
        return row | {"agree": ""}
    predicted = {f"predicted{end}": 100 * exposed(share * replay[name] / 100, waits) for end, name in _ENDS.items()}
    return row | {"replay_pct": replay["effect_pct"]} | predicted | {"agree": _agree(row | predicted)}


_ENDS = {"_pct": "effect_pct", "_low_pct": "low_pct", "_high_pct": "high_pct"}


def _agree(row: Mapping[str, Any]) -> str:
    ends = [row[f"{side}_{end}_pct"] for side in ("predicted", "observed") for end in ("low", "high")]
    if not all(math.isfinite(end) for end in ends):
        return ""
    predicted_low, predicted_high, observed_low, observed_high = ends
    return "yes" if predicted_low <= observed_high and observed_low <= predicted_high else "no"
