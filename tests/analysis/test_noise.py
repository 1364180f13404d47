from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.analysis.comparisons import compare
from bench.analysis.load import Run, load_run
from bench.analysis.noise import noise_sessions, unfit_host
from tests.analysis.run_folder import Planned, change_manifest, write_run

FIT = {"slice_us": 2000.0, "spread_pct": 0.5, "disturbed_pct": 0.1, "timer_ns": 50, "cpu_timer_ns": 200, "unfit": []}
UNFIT = FIT | {"disturbed_pct": 40.0, "unfit": ["40.0 % of slices lost the core"]}


def with_noise(folder: Path, noise: Any) -> Run:
    write_run(folder, [Planned()], with_steps=False)
    change_manifest(folder, lambda manifest: manifest["host"].update(noise=noise))
    return load_run(folder)


def test_a_fit_machine_leaves_the_verdict_alone(tmp_path: Path) -> None:
    run = with_noise(tmp_path / "run", [FIT])
    assert compare(run).query("gating").iloc[0]["verdict"] == "EQUIVALENT"


def test_a_machine_that_was_not_fit_forbids_one_and_says_why(tmp_path: Path) -> None:
    row = compare(with_noise(tmp_path / "run", [FIT, UNFIT])).query("gating").iloc[0]
    assert row["verdict"] == "INCONCLUSIVE"
    assert "not fit before the first pair: 40.0 % of slices lost the core" in row["reason"]
    assert row["pairs_needed"] == -1


def test_servers_have_cores_of_their_own(tmp_path: Path) -> None:
    run = with_noise(tmp_path / "run", [UNFIT])
    assert unfit_host(run, "engine")
    assert not unfit_host(run, "serve")


@pytest.mark.parametrize("noise", ["loud", [3], [{"slice_us": "x"}], [FIT | {"unfit": 3}], None])
def test_what_another_program_wrote_there_is_no_score(tmp_path: Path, noise: Any) -> None:
    run = with_noise(tmp_path / "run", noise)
    assert noise_sessions(run.manifest) == ()
    assert unfit_host(run, "replay") == ""
