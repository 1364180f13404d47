from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from bench.analysis.load import Run
from bench.analysis.scaling import COSTS, CURVE, crossovers, pair_costs, points, slopes


def line(slope: float, sizes: tuple[int, ...] = (64, 256, 1024), pairs: int = 8, noise: float = 0.0) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    rows = [
        ("replay", "steady-decode", "list", "update", size, 5 + slope * size + rng.normal(0, noise))
        for size in sizes
        for _ in range(pairs)
    ]
    return pd.DataFrame(rows, columns=COSTS)


def test_slope_of_a_line_is_found_exactly() -> None:
    (row,) = slopes(line(0.25)).to_dict("records")
    assert row["slope_us"] == pytest.approx(0.25)
    assert (row["low_us"], row["high_us"]) == pytest.approx((0.25, 0.25))
    assert row["num_sizes"] == 3


def test_slope_interval_holds_the_truth_under_noise() -> None:
    (row,) = slopes(line(0.25, noise=10)).to_dict("records")
    assert row["low_us"] < 0.25 < row["high_us"]
    assert row["high_us"] - row["low_us"] < 0.05


def test_one_size_has_no_slope() -> None:
    assert math.isnan(slopes(line(0.25, sizes=(64,))).loc[0, "slope_us"])


def test_point_is_the_centre_over_pairs() -> None:
    table = points(line(0.25, noise=1.0))
    assert table["num_running"].tolist() == [64, 256, 1024]
    assert ((table["low_us"] <= table["cost_us"]) & (table["cost_us"] <= table["high_us"])).all()
    assert table["cost_us"].tolist() == pytest.approx([21, 69, 261], abs=1.5)


def test_costs_of_a_run_hold_no_canary_and_nothing_void(typical_run: Run) -> None:
    costs = pair_costs(typical_run)
    assert "finish-wave" not in set(costs["workload"])
    steady = costs[(costs["workload"] == "steady-decode") & (costs["num_running"] == 256) & (costs["tier"] == "replay")]
    assert len(steady) == 20 * 2 * 3  # pairs, arms, functions: the canary would double the baseline


def test_function_that_never_runs_has_neither_point_nor_slope(typical_run: Run) -> None:
    costs = pair_costs(typical_run)
    for table in (points(costs), slopes(costs)):
        assert set(table.loc[table["function"] == "finish", "workload"]) == {"abort-storm"}
        assert set(table.loc[table["function"] == "model", "tier"]) == {"engine"}


def test_run_without_measurements_has_empty_tables() -> None:
    empty = pd.DataFrame(columns=COSTS)
    assert points(empty).empty
    assert list(slopes(empty).columns)[:4] == CURVE


def judged(effects: list[float], half: float = 0.5) -> pd.DataFrame:
    sizes = [64 * 2**number for number in range(len(effects))]
    return pd.DataFrame(
        {
            "tier": "replay",
            "workload": "abort-storm",
            "candidate": "dict",
            "gating": True,
            "canary": False,
            "num_pairs": 20,
            "num_running": sizes,
            "effect_pct": effects,
            "low_pct": [effect - half for effect in effects],
            "high_pct": [effect + half for effect in effects],
        }
    )


def test_crossover_lies_on_the_line_between_two_sizes() -> None:
    assert crossovers(judged([2.0, 2.0, -6.0]))["num_running"].tolist() == [128 + 128 * 2 / 8]


def test_change_of_sign_within_the_noise_is_no_crossover() -> None:
    assert math.isnan(crossovers(judged([2.0, 0.1, -0.1])).loc[0, "num_running"])


def test_single_size_has_no_row() -> None:
    assert crossovers(judged([2.0])).empty
