from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bench.analysis.load import Run, load_run
from bench.analysis.timeline import timeline
from tests.analysis.run_folder import Planned, write_run


def test_every_step_has_a_row_with_both_arms(typical_run: Run) -> None:
    steps = timeline(typical_run, "replay-abort-storm-n256--dict")
    assert steps.index.tolist() == list(range(74))
    assert (steps["num_pairs"] == 20).all()
    assert (steps["candidate_us"] / steps["baseline_us"]).median() == pytest.approx(0.96, abs=0.01)


def test_phases_and_events_are_those_of_the_trace(typical_run: Run) -> None:
    steps = timeline(typical_run, "replay-abort-storm-n256--dict")
    assert steps["phase"].drop_duplicates().tolist() == ["admission", "warmup", "steady", "drain"]
    assert steps.index[steps["aborted"] > 0].tolist() == [9, 20, 31, 42, 53, 64]
    assert steps["preempted"].sum() == 0


def test_engine_tier_shows_the_whole_step(typical_run: Run) -> None:
    assert timeline(typical_run, "engine-steady-decode-n256--dict")["baseline_us"].min() > 40_000


def test_run_without_steps_has_an_empty_timeline(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", (Planned(pairs=1),))
    shutil.rmtree(folder / "steps")
    assert timeline(load_run(folder), "replay-steady-decode-n256--dict").empty
