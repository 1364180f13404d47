"""`calibrate` with real, very small gates; what its figures mean is tested in tests/analysis/test_calibration.py."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from bench.calibrate import Calibration, calibrate
from bench.cli import cli
from bench.errors import ConfigError, RunFolderError
from bench.measure.progress import Reporter
from bench.options import Experiment


def experiment(**changes: object) -> Experiment:
    table: dict[str, object] = {
        "candidates": ["list"],
        "measure": {"pairs": 6, "zygotes": 1, "forks": 2, "slice_ms": 0.1, "canary": False},
        "verdict": {"max_excluded_pct": 100.0},
        "cells": [{"workloads": ["steady-decode"], "num_running": [8], "options": {"steps": 40}}],
    }
    return Experiment.model_validate(table | changes)


def test_gates_are_kept_and_gone_on_with(tmp_path: Path) -> None:
    asked, folder = Calibration(experiment(), (20.0,)), tmp_path / "calibration"
    calibrate(asked, folder, 1, Reporter())
    first = (folder / "gates" / "g0000.parquet").read_bytes()
    files = calibrate(asked, folder, 2, Reporter())
    assert (folder / "gates" / "g0000.parquet").read_bytes() == first
    gates = pd.read_csv(folder / "gates.csv")
    assert [*gates["gate"]] == [0, 0, 1, 1]
    assert [*gates["planted_pct"]] == [0, 20, 0, 20]
    assert (gates["num_pairs"] > 0).all()
    assert {path.name for path in files} >= {"calibration.json", "calibration.md", "calibration.png"}
    assert not [*(folder / "running").iterdir()]
    with pytest.raises(RunFolderError, match="planted_pct differs"):
        calibrate(Calibration(experiment(), (10.0,)), folder, 2, Reporter())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"candidates": ["dict"]}, "candidates must name it"),
        ({"measure": {"canary": True}}, "canary must be false"),
        ({"cells": [{"workloads": ["steady-decode"], "num_running": [8, 16]}]}, "exactly one cell"),
        ({"cells": [{"workloads": ["steady-decode"], "num_running": [8], "tier": "engine"}]}, "replay tier"),
    ],
)
def test_what_is_no_gate_is_refused(changes: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        calibrate(Calibration(experiment(**changes), (1.0,)), tmp_path / "out", 1, Reporter())
    assert not (tmp_path / "out").exists()


def test_impossible_effects_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be planted"):
        calibrate(Calibration(experiment(), (-1.0,)), tmp_path / "out", 1, Reporter())
    with pytest.raises(ConfigError, match="twice"):
        calibrate(Calibration(experiment(), (1.0, 1.0)), tmp_path / "out", 1, Reporter())


def test_another_folder_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(RunFolderError, match="not empty"):
        calibrate(Calibration(experiment(), (20.0,)), tmp_path, 1, Reporter())


def test_percentages_are_numbers() -> None:
    result = CliRunner().invoke(cli, ["calibrate", "--planted", "1,much"])
    assert result.exit_code == 2
    assert "expected numbers like 0.5,1,2,5" in result.output
