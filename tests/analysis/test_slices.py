from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.analysis.load import Run, load_run
from bench.analysis.slices import slices_of
from tests.analysis.run_folder import NUM_SLICES, STEPS_PER_SLICE, Planned, change_pair, write_run

ID = "replay-steady-decode-n256--dict"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", (Planned(pairs=1),))


def disturb(folder: Path, arm: str, column: str, value: Any) -> Run:
    change_pair(
        folder,
        lambda table: table.assign(
            **{column: np.where((table["arm"] == arm) & (table["slice"] == 3), value, table[column])}
        ),
    )
    return load_run(folder)


def test_arms_stand_side_by_side(folder: Path) -> None:
    slices = slices_of(load_run(folder), ID)
    assert slices.baseline["slice"].tolist() == slices.candidate["slice"].tolist() == list(range(NUM_SLICES))
    assert slices.times("cpu_ns").num_steps.tolist() == [STEPS_PER_SLICE] * NUM_SLICES


@pytest.mark.parametrize("arm", ["baseline", "candidate"])
@pytest.mark.parametrize(("column", "value"), [("involuntary_switches", 1), ("major_faults", 1), ("steal_ms", 0.1)])
def test_disturbed_slice_leaves_with_both_members(folder: Path, arm: str, column: str, value: Any) -> None:
    slices = slices_of(disturb(folder, arm, column, value), ID)
    assert np.flatnonzero(~slices.undisturbed).tolist() == [3]
    assert slices.excluded == pytest.approx(1 / NUM_SLICES)
    assert slices.times("cpu_ns").baseline_ns.size == NUM_SLICES - 1
    assert slices.times("cpu_ns", everything=True).baseline_ns.size == NUM_SLICES


@pytest.mark.parametrize(
    ("column", "borne", "too_much"),
    [("involuntary_switches", 15, 16), ("steal_ms", 10.0, 20.0), ("major_faults", 0, 1)],
)
def test_a_long_slice_bears_what_no_long_slice_is_without(
    folder: Path, column: str, borne: float, too_much: float
) -> None:
    def made(value: float) -> Run:
        change_pair(folder, lambda table: table.assign(step_ns=300_000_000))
        return disturb(folder, "candidate", column, value)

    assert slices_of(made(borne), ID).undisturbed.all()
    assert np.flatnonzero(~slices_of(made(too_much), ID).undisturbed).tolist() == [3]


@pytest.mark.parametrize("column", ["minor_faults", "gc_collections"])
def test_what_belongs_to_the_program_excludes_nothing(folder: Path, column: str) -> None:
    assert slices_of(disturb(folder, "candidate", column, 5), ID).undisturbed.all()


def test_part_that_never_runs_takes_no_time(folder: Path) -> None:
    slices = slices_of(load_run(folder), ID)
    assert not slices.takes_time("finish_ns")
    assert slices.takes_time("update_ns")


def test_switches_between_the_models_own_threads_exclude_nothing(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "engine", (Planned(tier="engine", pairs=1),))
    engine = "engine-steady-decode-n256--dict"
    assert slices_of(disturb(folder, "baseline", "involuntary_switches", 6), engine).undisturbed.all()
    assert not slices_of(disturb(folder, "baseline", "steal_ms", 10.0), engine).undisturbed.all()


def test_comparison_without_pairs_has_no_slices(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "empty", (Planned(pairs=0, status="planned"),))
    slices = slices_of(load_run(folder), ID)
    assert slices.undisturbed.size == 0
    assert slices.excluded == 0.0
