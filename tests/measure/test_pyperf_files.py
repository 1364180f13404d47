from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyperf
import pytest


def test_there_is_one_file_for_each_variant_of_each_comparison(finished_run: Path) -> None:
    cell = "replay-single-abort-n16"
    names = {path.name for path in (finished_run / "pyperf").iterdir()}
    assert names == {f"{cell}--{label}.json" for label in ("dict-baseline", "dict", "aa-baseline", "aa-candidate")}


def test_values_are_seconds_a_step(finished_run: Path) -> None:
    benchmark = pyperf.Benchmark.load(str(finished_run / "pyperf" / "replay-single-abort-n16--dict.json"))
    slices = pd.read_parquet(finished_run / "pairs" / "replay-single-abort-n16--dict--p000.parquet")
    mine = slices[slices["arm"] == "candidate"]
    expected = mine["cpu_ns"] / mine["num_steps"] / 1e9
    assert benchmark.get_runs()[0].values == pytest.approx(tuple(expected), rel=1e-9)
    assert benchmark.get_nrun() == 2


@pytest.mark.parametrize("command", ["stats", "hist", "check"])
def test_pyperf_itself_reads_them(finished_run: Path, command: str) -> None:
    file = finished_run / "pyperf" / "replay-single-abort-n16--dict.json"
    done = subprocess.run(
        [sys.executable, "-m", "pyperf", command, str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
