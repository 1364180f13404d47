"""The table that a terminal shows at the end of a run.

Fixed width, the same text for the same figures; pages have tables of their own.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd
from tabulate import tabulate

from bench.analysis.metrics import SERVE
from bench.report.headline import headlines, verdict_rows, void_warning
from bench.report.text import LINE_LENGTH, clip, printable
from bench.units import SIGN_RULE, format_interval, format_percent, format_us

WIDTH = 110  # columns of the widest line of text
TABLE_WIDTH = 132  # a row may be wider: names of cells end in what tells them apart, a simulated model among it
HEADERS = ("cell", "candidate", "baseline", "effect", "95 % interval", "MDE", "pairs", "verdict")
ALIGNED = ("left", "left", "right", "right", "right", "right", "right", "left")
CANDIDATE_WIDTH = 14
CANARY_LABEL = "A/A"

Row = Mapping[Hashable, Any]


def verdict_table(comparisons: pd.DataFrame) -> str:
    """The verdicts of `comparisons` (`bench.records.COMPARISONS`) as text of at most TABLE_WIDTH columns.

    A row a comparison, baseline time and MDE (smallest effect that the pairs would show) beside each; below it the
    sign rule, the margin, and why a verdict is missing. Negative = candidate faster.
    """
    rows = verdict_rows(comparisons).to_dict("records")
    parts = [_table(rows), "\n".join(_notes(comparisons))]
    reasons = [_reason(row) for row in rows if row["verdict"] in ("VOID", "INCONCLUSIVE")]
    if reasons:
        parts.append("\n".join(reasons))
    parts.append("\n".join(_wrapped(line, "  ") for line in _conclusions(comparisons)))
    return "\n\n".join(parts)


def _table(rows: list[dict[Hashable, Any]]) -> str:
    cells = [_cells(row) for row in rows]
    widths = [max(len(line[place]) for line in (HEADERS, *cells)) for place in range(len(HEADERS))]
    room = TABLE_WIDTH - sum(widths[1:]) - 2 * (len(widths) - 1)
    shown = [HEADERS, *((clip(first, room), *others) for first, *others in cells)]
    return tabulate(shown, tablefmt="plain", disable_numparse=True, colalign=ALIGNED)


def _cells(row: Row) -> tuple[str, ...]:
    return (
        printable(row["cell"]),
        candidate_label(row, CANDIDATE_WIDTH),
        format_us(row["baseline_us"]),
        format_percent(row["effect_pct"] / 100),
        format_interval(row["low_pct"] / 100, row["high_pct"] / 100),
        detectable(row),
        str(row["num_pairs"]),
        row["verdict"],
    )


def candidate_label(row: Row, width: int = 80) -> str:
    """The candidate's SPEC in at most `width` characters, or `A/A` for the baseline compared with itself."""
    return CANARY_LABEL if row["canary"] else printable(row["candidate"], width)


def detectable(row: Row) -> str:
    """The minimum detectable effect without a sign: `0.35 %`."""
    return f"{row['mde_pct']:.2f} %" if math.isfinite(row["mde_pct"]) else "–"


def _notes(comparisons: pd.DataFrame) -> list[str]:
    margin = f"{comparisons['margin_pct'].iloc[0]:g}"
    served = "; serve: TPOT" if (comparisons["tier"] == SERVE).any() else ""
    return [
        f"effect and interval: {SIGN_RULE}; margin ±{margin} %; baseline: time a step{served}",
        "MDE: smallest true effect that these pairs would show in 80 of 100 runs; A/A: the baseline with itself",
    ]


def _reason(row: Row) -> str:
    who = f"{row['verdict']} {printable(row['cell'])}, {candidate_label(row)}"
    return _wrapped(f"{who}: {printable(row['reason'], LINE_LENGTH)}", "    ")


def _conclusions(comparisons: pd.DataFrame) -> list[str]:
    warning = void_warning(comparisons)
    return [*([warning] if warning else []), *headlines(comparisons)]


def _wrapped(line: str, indent: str) -> str:
    return textwrap.fill(line, WIDTH, subsequent_indent=indent, break_on_hyphens=False)
