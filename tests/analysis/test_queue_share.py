from __future__ import annotations

from pathlib import Path

import pytest

from bench.analysis.comparisons import compare
from bench.analysis.load import Run, load_run
from bench.analysis.queue_share import OPERATIONS, SHARES, queue_operations, queue_shares
from tests.analysis.run_folder import CANARY, Planned, change_manifest, write_run

VISITS = {"length": [257.0, 20.0], "visit": [256.0, 30.0]}


def counted(folder: Path, *comparisons: int) -> Run:
    """A run of the canary and one candidate in one cell, and one in another; those places have a counted queue."""

    def count(manifest: dict) -> None:
        for place in comparisons:
            manifest["comparisons"][place].update(queue_ns_a_step=12_820.0, queue_operations=VISITS)

    write_run(folder, (CANARY, Planned(), Planned(workload="abort-storm", num_running=64)), with_steps=False)
    change_manifest(folder, count)
    return load_run(folder)


def test_a_cell_that_was_counted_twice_has_one_row(tmp_path: Path) -> None:
    run = counted(tmp_path / "run", 0, 1)
    comparisons = compare(run)
    (row,) = queue_shares(run, comparisons).to_dict("records")
    times = comparisons[comparisons["gating"] & (comparisons["cell"] == row["cell"])]["baseline_us"]
    assert row["cell"] == "replay-steady-decode-n256"
    assert row["queue_us"] == pytest.approx(12.82)
    assert row["step_us"] == pytest.approx(times.median())
    assert row["share_pct"] == pytest.approx(100 * 12.82 / times.median())


def test_operations_are_listed_with_their_products(tmp_path: Path) -> None:
    table = queue_operations(counted(tmp_path / "run", 1))
    assert list(table["operation"]) == ["length", "visit"]
    assert list(table["us_a_step"]) == pytest.approx([5.14, 7.68])


def test_a_run_without_counts_has_empty_tables(tmp_path: Path) -> None:
    run = counted(tmp_path / "run")
    assert list(queue_shares(run, compare(run))) == SHARES
    assert queue_shares(run, compare(run)).empty
    assert list(queue_operations(run)) == OPERATIONS
    assert queue_operations(run).empty


def test_a_cell_that_was_counted_and_never_timed_is_left_out(tmp_path: Path) -> None:
    planned = Planned(pairs=0, status="failed", message="lost")
    write_run(tmp_path / "run", (planned,))
    change_manifest(tmp_path / "run", lambda m: m["comparisons"][0].update(queue_ns_a_step=1.0))
    run = load_run(tmp_path / "run")
    assert queue_shares(run, compare(run)).empty
