"""What a run says in a sentence: one line for each candidate, VOID first.

Takes the analysed table only; tables and pages put it above everything else.
"""

from __future__ import annotations

import pandas as pd

from bench.report.text import listed, printable

WORST_FIRST = ("VOID", "SLOWER", "INCONCLUSIVE", "FASTER", "EQUIVALENT")  # what a reader must look at first
ORDER = ("VOID", "SLOWER", "FASTER", "EQUIVALENT", "INCONCLUSIVE")


def verdict_rows(comparisons: pd.DataFrame, *, canaries: bool = True) -> pd.DataFrame:
    """The rows that carry verdicts, in their order, with or without the comparisons of the baseline with itself."""
    rows = comparisons[comparisons["gating"]]
    return rows if canaries else rows[~rows["canary"]]


def headlines(comparisons: pd.DataFrame) -> list[str]:
    """One line a candidate: `dict vs list: EQUIVALENT in 9 of 10 cells, INCONCLUSIVE in 1 (margin ±1.5 %)`."""
    rows = verdict_rows(comparisons, canaries=False)
    if rows.empty:
        return ["Nothing but the baseline was measured"]
    groups = rows.groupby(["candidate", "baseline"], sort=False)
    return [_headline(str(candidate), str(baseline), group) for (candidate, baseline), group in groups]


def _headline(candidate: str, baseline: str, rows: pd.DataFrame) -> str:
    counts = rows["verdict"].value_counts()
    found = [verdict for verdict in ORDER if verdict in counts.index]
    names = f"{printable(candidate)} vs {printable(baseline)}"
    margin = f"margin ±{rows['margin_pct'].iloc[0]:g} %"
    if len(found) == 1:
        where = "the only cell" if len(rows) == 1 else f"all {len(rows)} cells"
        return f"{names}: {found[0]} in {where} ({margin})"
    parts = [f"{verdict} in {counts[verdict]}" for verdict in found]
    parts[0] += f" of {len(rows)} cells"
    return f"{names}: {listed(parts)} ({margin})"


def void_warning(comparisons: pd.DataFrame) -> str:
    """A loud sentence where any comparison is VOID, otherwise empty."""
    rows = verdict_rows(comparisons)
    void = int((rows["verdict"] == "VOID").sum())
    if not void:
        return ""
    return f"VOID: {void} of {len(rows)} comparisons cannot be trusted; their times say nothing about speed"
