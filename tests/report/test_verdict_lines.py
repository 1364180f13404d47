from __future__ import annotations

import math

import pytest

from bench.report.verdict_lines import strip, verdict_lines
from tests.report.rows import row, table, void_row


@pytest.mark.parametrize(
    ("effect", "low", "high", "drawn"),
    [
        (0.0, -0.7, 0.7, "····┊·──●──·┊····"),
        (1.5, 0.7, 2.2, "····┊···│·──●──··"),
        (9.0, 8.0, 10.0, "····┊···│···┊···▶"),
        (-9.0, -20.0, 0.0, "◀────────···┊····"),
        (0.0, -math.inf, math.inf, "····┊···●···┊····"),
        (math.nan, math.nan, math.nan, ""),
    ],
)
def test_interval_is_drawn_between_two_margins(effect: float, low: float, high: float, drawn: str) -> None:
    assert strip(effect, low, high, 1.5) == drawn


def test_line_holds_figures_with_units_and_signs() -> None:
    (line,) = verdict_lines(table(row()))
    assert (line.effect, line.interval, line.difference, line.baseline, line.detectable) == (
        "-0.31 %",
        "[-0.62, +0.10] %",
        "-9.50 µs",
        "3.05 ms",
        "0.35 %",
    )


def test_void_line_holds_dashes() -> None:
    (line,) = verdict_lines(table(void_row("a", "why")))
    assert {line.effect, line.interval, line.difference, line.baseline, line.detectable} == {"–"}


def test_unbounded_interval_is_a_dash() -> None:
    (line,) = verdict_lines(table(row(low_pct=-math.inf, high_pct=math.inf)))
    assert line.interval == "–"
