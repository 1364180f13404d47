from __future__ import annotations

from bench.report.headline import headlines, void_warning
from tests.report.rows import row, table, void_row


def test_one_verdict_for_all_cells() -> None:
    rows = table(row("a"), row("b"))
    assert headlines(rows) == ["dict vs list: EQUIVALENT in all 2 cells (margin ±1.5 %)"]
    assert headlines(table(row("a"))) == ["dict vs list: EQUIVALENT in the only cell (margin ±1.5 %)"]


def test_mixed_verdicts_are_counted_worst_first() -> None:
    rows = table(row("a"), row("b"), row("c", verdict="INCONCLUSIVE"), row("d", verdict="SLOWER"))
    assert headlines(rows) == [
        "dict vs list: SLOWER in 1 of 4 cells, EQUIVALENT in 2 and INCONCLUSIVE in 1 (margin ±1.5 %)"
    ]


def test_each_candidate_has_its_line_and_the_canary_none() -> None:
    rows = table(row("a", candidate="list", canary=True), row("a"), row("a", candidate="deque", verdict="FASTER"))
    assert [line.split(":")[0] for line in headlines(rows)] == ["dict vs list", "deque vs list"]


def test_run_with_a_canary_alone_says_so() -> None:
    assert headlines(table(row("a", canary=True))) == ["Nothing but the baseline was measured"]


def test_void_is_loud_and_absent_otherwise() -> None:
    assert void_warning(table(row("a"))) == ""
    assert void_warning(table(row("a"), void_row("b", "x"))).startswith("VOID: 1 of 2 comparisons cannot be trusted")
