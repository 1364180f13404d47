"""Verdict rows made by hand, for tables and pages whose text is checked letter by letter."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from bench.records import COMPARISONS


def row(cell: str = "replay-steady-decode-n256", **changes: Any) -> dict[str, Any]:
    """One verdict row; figures that are not named are nan, counts 0 and words empty."""
    blank = {"string": "", "int64": 0, "float64": math.nan, "bool": False}
    whole = {column.name: blank[column.type] for column in COMPARISONS} | {
        "cell": cell,
        "comparison": f"{cell}--dict",
        "tier": "replay",
        "baseline": "list",
        "candidate": "dict",
        "metric": "scheduler",
        "clock": "cpu",
        "gating": True,
        "num_pairs": 20,
        "baseline_us": 3050.0,
        "difference_us": -9.5,
        "effect_pct": -0.31,
        "low_pct": -0.62,
        "high_pct": 0.1,
        "mde_pct": 0.35,
        "margin_pct": 1.5,
        "verdict": "EQUIVALENT",
        "reason": "90 % interval [-0.52, +0.02] % inside ±1.5 %",
    }
    return whole | changes


def void_row(cell: str, reason: str) -> dict[str, Any]:
    """One comparison that cannot be trusted."""
    figures = ("baseline_us", "difference_us", "effect_pct", "low_pct", "high_pct", "mde_pct")
    return row(cell, verdict="VOID", reason=reason, num_pairs=0, **dict.fromkeys(figures, math.nan))


def table(*rows: dict[str, Any]) -> pd.DataFrame:
    """The rows as `compare` would return them."""
    return pd.DataFrame(list(rows))
