"""The rows that carry verdicts, as text for pages: the figures, the reason, and a drawing of the interval in letters.

The terminal's table is in `bench.report.tables`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from bench.report.content import VerdictLine
from bench.report.headline import verdict_rows
from bench.report.tables import candidate_label, detectable
from bench.report.text import LINE_LENGTH, printable
from bench.units import format_interval, format_percent, format_signed_us, format_us

STRIP_HALF = 8  # letters on either side of 0; the margin is half way to the end

Row = Mapping[Hashable, Any]


def verdict_lines(comparisons: pd.DataFrame) -> tuple[VerdictLine, ...]:
    """One line a comparison, in the table's order; effects negative = candidate faster."""
    return tuple(_line(row) for row in verdict_rows(comparisons).to_dict("records"))


def _line(row: Row) -> VerdictLine:
    return VerdictLine(
        cell=printable(row["cell"]),
        candidate=candidate_label(row),
        verdict=row["verdict"],
        effect=format_percent(row["effect_pct"] / 100),
        interval=format_interval(row["low_pct"] / 100, row["high_pct"] / 100),
        difference=format_signed_us(row["difference_us"]),
        baseline=format_us(row["baseline_us"]),
        detectable=detectable(row),
        pairs=str(row["num_pairs"]),
        reason=printable(row["reason"], LINE_LENGTH),
        strip=strip(row["effect_pct"], row["low_pct"], row["high_pct"], row["margin_pct"]),
    )


def strip(effect: float, low: float, high: float, margin: float) -> str:
    """An interval drawn in letters from -2 to +2 margins: `····┊··─●─··┊····`; `◀` and `▶` lie beyond the ends.

    `┊` marks the margin, `│` zero, `●` the estimate; empty without an estimate.
    """
    if not math.isfinite(effect):
        return ""
    letters = ["·"] * (2 * STRIP_HALF + 1)
    for place, mark in ((-margin, "┊"), (0.0, "│"), (margin, "┊")):
        letters[_place(place, margin)] = mark
    if math.isfinite(low) and math.isfinite(high):
        first, last = _place(low, margin), _place(high, margin)
        letters[first : last + 1] = "─" * (last + 1 - first)
    beyond = abs(effect) > 2 * margin
    letters[_place(effect, margin)] = ("◀" if effect < 0 else "▶") if beyond else "●"
    return "".join(letters)


def _place(value: float, margin: float) -> int:
    return STRIP_HALF + max(-STRIP_HALF, min(STRIP_HALF, round(value / margin * STRIP_HALF / 2)))
