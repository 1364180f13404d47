from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from bench.analysis.load import load_run
from bench.analysis.probe_cost import cost_share, is_below_claim, median_interval, probe_costs
from bench.errors import RunFolderError
from bench.records import PROBE
from tests.analysis.run_folder import write_run, write_table


def write_probe(folder: Path, num_running: int, cost_ns: int, pairs: int = 101) -> None:
    """Steps whose differences lie evenly around `cost_ns`."""
    without = np.full(pairs, 1_000_000)
    rows = {
        "num_running": np.full(pairs, num_running),
        "pair": np.arange(pairs),
        "with_ns": without + cost_ns + 1000 * (np.arange(pairs) - pairs // 2),
        "without_ns": without,
    }
    write_table(folder / "probe" / f"probe-n{num_running}.parquet", [rows], PROBE)


def test_the_cost_is_the_median_difference_with_its_interval(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", with_steps=False)
    write_probe(folder, 256, 9_000)
    write_probe(folder, 64, 4_000)
    costs = probe_costs(load_run(folder))
    assert [*costs["num_running"]] == [64, 256]
    assert [*costs["cost_us"]] == [4.0, 9.0]
    assert (costs["low_us"] < costs["cost_us"]).all()
    assert (costs["cost_us"] < costs["high_us"]).all()
    assert cost_share(costs, 256, 3000.0) == pytest.approx(0.003)
    assert math.isnan(cost_share(costs, 1024, 3000.0))


def test_a_run_that_never_measured_it_has_no_cost(tmp_path: Path) -> None:
    assert probe_costs(load_run(write_run(tmp_path / "run", with_steps=False))).empty


def test_a_damaged_table_is_refused_by_name(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", with_steps=False)
    (folder / "probe").mkdir()
    (folder / "probe" / "probe-n64.parquet").write_bytes(b"no table")
    with pytest.raises(RunFolderError, match=r"probe-n64\.parquet: not a readable Parquet file"):
        probe_costs(load_run(folder))


@pytest.mark.parametrize("size", [6, 7, 30, 101])
def test_the_interval_of_a_median_holds_it_as_often_as_it_says(size: int) -> None:
    low, high = median_interval(np.arange(size, dtype=np.float64))
    below = int(low)  # values under the lower end
    assert high == size - 1 - low
    assert 1 - 2 * stats.binom.cdf(below, size, 0.5) >= 0.95
    assert 1 - 2 * stats.binom.cdf(below + 1, size, 0.5) < 0.95


def test_too_few_values_have_no_interval() -> None:
    assert all(math.isnan(end) for end in median_interval(np.arange(5, dtype=np.float64)))


def test_a_claim_must_be_five_times_the_probes_cost() -> None:
    assert is_below_claim(-0.004, 0.001)
    assert not is_below_claim(-0.006, 0.001)
    assert not is_below_claim(0.0, -0.001)
    assert not is_below_claim(0.001, math.nan)
