from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bench.analysis.comparisons import compare
from bench.analysis.latencies import replay_values, served_pair_effects
from bench.analysis.load import load_run
from bench.analysis.metrics import GATING, METRICS, SERVE, TPOT
from bench.records import COMPARISONS
from tests.analysis.served_folder import GAP_MS, MS, SERVED, TTFT_MS, write_served_run

EVEN = (0.0,) * 8
SLOWER = (0.040, 0.041, 0.042, 0.043, 0.044, 0.045, 0.046, 0.047)


def figures(folder: Path) -> pd.DataFrame:
    return compare(load_run(folder)).set_index("metric")


def test_values_are_those_worked_by_hand(tmp_path: Path) -> None:
    run = load_run(write_served_run(tmp_path / "run", (0.1,)))
    baseline, candidate = (replay_values(run, SERVED.id).loc[(0, arm)] / MS for arm in ("baseline", "candidate"))
    assert baseline["tpot"] == pytest.approx(GAP_MS)
    assert candidate["tpot"] == pytest.approx(1.1 * GAP_MS)
    assert baseline["ttft"] == baseline["ttft_p50"] == baseline["ttft_p99"] == pytest.approx(TTFT_MS)
    assert baseline["itl"] == pytest.approx(GAP_MS)
    assert candidate["itl_p99"] == pytest.approx(1.1 * GAP_MS)
    # Six clients stay for 11 tokens: 40 ms, ten gaps, and 1 ms to the end. Those that hang up have no E2EL.
    assert baseline["e2el"] == pytest.approx(141.0)
    # The last request is due at 175 ms and ends 141 ms later; 6 x 11 + 2 x 3 tokens come, six requests are good.
    assert baseline["throughput"] == pytest.approx(316 / 72)
    assert baseline["goodput"] == pytest.approx(316 / 6)
    assert baseline["cpu_ns"] * MS == pytest.approx(500_000)


def test_a_slower_candidate_is_positive_in_every_latency_and_in_throughput(tmp_path: Path) -> None:
    rows = figures(write_served_run(tmp_path / "run", SLOWER))
    for metric in ("tpot", "tpot_p50", "tpot_p99", "itl", "e2el", "throughput", "goodput", "scheduler"):
        assert rows.loc[metric, "low_pct"] > 0, metric
    assert rows.loc["ttft", "effect_pct"] == pytest.approx(0, abs=1e-9)


def test_the_verdict_is_on_mean_tpot_by_the_common_rule(tmp_path: Path) -> None:
    rows = figures(write_served_run(tmp_path / "slow", SLOWER))
    assert rows[rows["gating"]].index.tolist() == ["tpot"]
    assert (rows.loc["tpot", "clock"], rows.loc["tpot", "score"]) == ("wall", "mean")
    assert rows.loc["tpot", "verdict"] == "SLOWER"
    assert rows.loc["tpot", "effect_pct"] == pytest.approx(4.35, abs=0.05)
    assert rows.loc["tpot", ["baseline_us", "num_pairs", "num_slices"]].tolist() == [pytest.approx(10_000), 8, 128]
    assert figures(write_served_run(tmp_path / "even", EVEN)).loc["tpot", "verdict"] == "EQUIVALENT"
    few = figures(write_served_run(tmp_path / "few", EVEN[:3], SERVED)).loc["tpot"]
    assert few["verdict"] == "INCONCLUSIVE"
    assert "needs at least 6" in few["reason"]


def test_more_than_the_whole_scheduler_takes_is_not_its_doing(tmp_path: Path) -> None:
    row = figures(write_served_run(tmp_path / "run", [5 * effect for effect in SLOWER])).loc["tpot"]
    assert row["verdict"] == "INCONCLUSIVE"
    assert "would be SLOWER, but TPOT differs by +2.17 ms and the whole scheduler takes" in row["reason"]


def test_rows_have_the_columns_of_the_contract_in_the_order_of_the_tier(tmp_path: Path) -> None:
    table = compare(load_run(write_served_run(tmp_path / "run", EVEN)))
    assert table.columns.tolist() == [column.name for column in COMPARISONS]
    shown = [metric.name for metric in METRICS[SERVE] if metric.name != "finish"]  # no step spent time in it
    assert table["metric"].tolist() == shown


def test_objectives_decide_what_is_good(tmp_path: Path) -> None:
    strict = load_run(write_served_run(tmp_path / "strict", (0.1,), tpot_slo_ms=10.5))
    values = replay_values(strict, SERVED.id)["goodput"]
    assert values[(0, "baseline")] / MS == pytest.approx(316 / 6)
    assert math.isnan(values[(0, "candidate")])  # none was good: a pair without a ratio
    rows = figures(tmp_path / "strict")
    assert "goodput" not in rows.index
    late = load_run(write_served_run(tmp_path / "late", (0.1,), ttft_slo_ms=39))
    assert replay_values(late, SERVED.id)["goodput"].isna().all()


def test_effects_of_single_pairs_are_in_the_order_measured(tmp_path: Path) -> None:
    run = load_run(write_served_run(tmp_path / "run", SLOWER))
    effects = served_pair_effects(run, SERVED.id, TPOT)
    assert effects["pair"].tolist() == [*range(8)]
    assert np.allclose(effects["effect_pct"], [100 * one for one in SLOWER], atol=1e-4)
    assert effects["zygote"].tolist() == [0] * 8


def test_a_comparison_without_a_pair_has_one_row_that_says_so(tmp_path: Path) -> None:
    failed = replace(SERVED, status="failed", message="the baseline's server ended before it served")
    (row,) = compare(load_run(write_served_run(tmp_path / "run", (), failed))).to_dict("records")
    assert (row["metric"], row["verdict"]) == ("tpot", "INCONCLUSIVE")
    assert "server ended before it served" in row["reason"]


def test_mean_tpot_gates_the_tier() -> None:
    assert GATING[SERVE] == METRICS[SERVE][0] == TPOT
