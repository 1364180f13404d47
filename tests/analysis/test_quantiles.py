from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.analysis.load import Run, load_run
from bench.analysis.quantiles import LEVELS, quantile_shift
from tests.analysis.run_folder import Planned, write_run


def test_planted_effect_shifts_every_quantile(typical_run: Run) -> None:
    table = quantile_shift(typical_run, "replay-abort-storm-n1024--dict")
    assert list(table["quantile"]) == list(LEVELS)
    assert table["effect_pct"].to_numpy() == pytest.approx(-12, abs=0.7)
    assert (table["low_pct"] < table["effect_pct"]).all()
    assert (table["high_pct"] > table["effect_pct"]).all()
    assert set(table["num_pairs"]) == {20}
    assert set(table["num_steps"]) == {60}


def test_quantile_of_a_pair_is_that_of_its_judged_steps(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", (Planned(pairs=1),))
    file = next((folder / "steps").iterdir())
    steps = pq.read_table(file).to_pandas()
    steady = steps["phase"] == "steady"
    steps["cpu_ns"] = np.where(steady, 1000 * (1 + steps["step"] - 8), 10**12)
    pq.write_table(pa.Table.from_pandas(steps, preserve_index=False), file)
    table = quantile_shift(load_run(folder), "replay-steady-decode-n256--dict")
    assert table["baseline_us"].to_numpy() == pytest.approx([30.5, 54.1, 59.41])
    assert table["effect_pct"].to_numpy() == pytest.approx(0)


def test_tail_alone_shows_in_its_own_quantile(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", (Planned(pairs=6, sd=0.0001),))
    for file in (folder / "steps").iterdir():
        steps = pq.read_table(file).to_pandas()
        worst = (steps["arm"] == "candidate") & steps["step"].isin([20, 40])
        steps.loc[worst, "cpu_ns"] *= 2
        pq.write_table(pa.Table.from_pandas(steps, preserve_index=False), file)
    table = quantile_shift(load_run(folder), "replay-steady-decode-n256--dict").set_index("quantile")
    assert abs(table.loc[0.5, "effect_pct"]) < 0.5
    assert table.loc[0.99, "effect_pct"] > 80


def test_disturbed_slices_do_not_count(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", (Planned(pairs=1, disturbed=0.5),))
    assert quantile_shift(load_run(folder), "replay-steady-decode-n256--dict")["num_steps"].iloc[0] < 60


def test_run_without_steps_has_no_quantiles(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", (Planned(pairs=2),))
    shutil.rmtree(folder / "steps")
    assert quantile_shift(load_run(folder), "replay-steady-decode-n256--dict").empty
