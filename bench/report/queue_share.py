"""What any other queue could save at most: the share of a step that operations on RUNNING take, cell by cell.

The arithmetic is in `bench.analysis.queue_share`.
"""

from __future__ import annotations

import pandas as pd

from bench.analysis.load import Run
from bench.analysis.queue_share import queue_operations, queue_shares
from bench.report.cells import DASH, engine_step_us
from bench.report.content import Section, Table
from bench.report.text import printable
from bench.units import format_us

TITLE = "What a free queue would save"
METHOD = (
    "Operations on RUNNING were counted in an untimed replay of the baseline's steady steps, and each kind was timed "
    "in a loop on the same queue at its length. A queue whose operations cost nothing would save all of it and no more."
)


def queue_share(run: Run, comparisons: pd.DataFrame) -> tuple[Section, ...]:
    """The section of what was counted, or none where nothing was."""
    shares = queue_shares(run, comparisons)
    return (Section(TITLE, (METHOD,), (_shares(shares, comparisons), _operations(run))),) if len(shares) else ()


def queue_notes(run: Run, comparisons: pd.DataFrame) -> tuple[str, ...]:
    """The bound in a sentence, to stand beside the verdicts; empty where nothing was counted."""
    shares = queue_shares(run, comparisons).sort_values("share_pct", kind="stable")
    if shares.empty:
        return ()
    low, high = (f"{row['share_pct']:.2f} % ({printable(row['cell'])})" for row in _ends(shares))
    found = high if len(shares) == 1 else f"between {low} and {high}"
    return (f"Even a queue that costs nothing would save at most {found} of a step's scheduler time.",)


def _ends(shares: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    return shares.iloc[0], shares.iloc[-1]


def _shares(shares: pd.DataFrame, comparisons: pd.DataFrame) -> Table:
    rows = []
    for row in shares.to_dict("records"):
        engine_us = engine_step_us(comparisons, {**row, "tier": "replay"})
        of_engine = f"{100 * row['queue_us'] / engine_us:.2f} %" if engine_us > 0 else DASH
        times = (format_us(row["queue_us"]), format_us(row["step_us"]), f"{row['share_pct']:.2f} %")
        rows.append((printable(row["cell"]), *times, format_us(engine_us), of_engine))
    headers = ("cell", "queue operations", "scheduler's step", "saves at most", "engine step", "at most of it")
    note = f"times a step; engine step: the same workload and size in the engine tier, {DASH} if not measured"
    return Table(headers, tuple(rows), ("left", "right", "right", "right", "right", "right"), note)


def _operations(run: Run) -> Table:
    rows = tuple(
        (printable(row["cell"]), printable(row["operation"]), f"{row['a_step']:.4g}", f"{row['ns']:.3g} ns",
         format_us(row["us_a_step"]))
        for row in queue_operations(run).to_dict("records")
    )  # fmt: skip
    headers = ("cell", "operation", "times a step", "one takes", "a step")
    note = "visit: read at a position; comparison: looked at in a search; rebuild: asked for in a filtering pass"
    return Table(headers, rows, ("left", "left", "right", "right", "right"), note)
