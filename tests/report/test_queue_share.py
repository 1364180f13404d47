from __future__ import annotations

from pathlib import Path

from bench.analysis.comparisons import compare
from bench.analysis.load import Run
from bench.report.comment import render_comment
from bench.report.compose import summary
from bench.report.queue_share import queue_notes, queue_share
from tests.analysis.test_queue_share import counted


def test_each_cell_has_its_bound_and_its_operations(tmp_path: Path) -> None:
    run = counted(tmp_path / "run", 1, 2)
    (section,) = queue_share(run, compare(run))
    bounds, operations = section.tables
    assert [row[0] for row in bounds.rows] == ["replay-steady-decode-n256", "replay-abort-storm-n64"]
    assert bounds.rows[0][1] == "12.8 µs"
    assert bounds.rows[0][3] == "0.46 %"
    assert bounds.rows[0][4:] == ("–", "–")
    assert operations.rows[1] == ("replay-steady-decode-n256", "visit", "256", "30 ns", "7.68 µs")


def test_the_bound_stands_beside_the_verdicts_in_one_sentence(tmp_path: Path) -> None:
    run = counted(tmp_path / "run", 1)
    note = "Even a queue that costs nothing would save at most 0.46 % (replay-steady-decode-n256) of a step's"
    (found,) = queue_notes(run, compare(run))
    assert found == f"{note} scheduler time."
    assert "Even a queue that costs nothing" in render_comment(summary(run, compare(run)), 1.5)


def test_several_cells_give_the_range_from_the_least_to_the_most(tmp_path: Path) -> None:
    run = counted(tmp_path / "run", 1, 2)
    (found,) = queue_notes(run, compare(run))
    assert "between 0.46 % (replay-steady-decode-n256) and 1.8" in found


def test_a_run_without_counts_says_nothing(typical_run: Run) -> None:
    comparisons = compare(typical_run)
    assert queue_share(typical_run, comparisons) == ()
    assert queue_notes(typical_run, comparisons) == ()
