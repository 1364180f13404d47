from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest

from bench.analysis.amdahl import amdahl, exposed
from tests.report.rows import row, table

ENGINE = "engine-steady-decode-n256"


def replay(effect: float, low: float, high: float, workload: str = "steady-decode") -> dict[str, Any]:
    return row(workload=workload, num_running=256, effect_pct=effect, low_pct=low, high_pct=high)


def engine(
    effect: float, low: float, high: float, *, workload: str = "steady-decode", idle_us: float = 0.0
) -> list[dict[str, Any]]:
    """An engine's verdict row and its parts: 20 % of a step of 5 ms is the scheduler's."""
    common = {"cell": ENGINE, "comparison": f"{ENGINE}--dict", "tier": "engine", "workload": workload}
    common |= {"num_running": 256, "clock": "wall"}
    parts = {"scheduler": 1000.0, "idle": idle_us}
    judged = row(**common | {"metric": "step", "baseline_us": 5000.0}, effect_pct=effect, low_pct=low, high_pct=high)
    return [
        *(row(**common | {"metric": name, "baseline_us": time, "gating": False}) for name, time in parts.items()),
        judged,
    ]


def checked(*rows: dict[str, Any]) -> pd.Series:
    found = amdahl(table(*rows))
    assert len(found) == 1
    return found.iloc[0]


def test_a_part_changes_the_whole_by_its_share() -> None:
    found = checked(replay(-10.0, -12.0, -8.0), *engine(-2.1, -2.5, -1.7))
    assert found["share_pct"] == pytest.approx(20.0)
    assert found["predicted_pct"] == pytest.approx(-2.0)
    assert (found["predicted_low_pct"], found["predicted_high_pct"]) == pytest.approx((-2.4, -1.6))
    assert found["agree"] == "yes"


def test_intervals_that_do_not_meet_disagree() -> None:
    assert checked(replay(-10.0, -12.0, -8.0), *engine(1.0, 0.5, 1.5))["agree"] == "no"


def test_what_a_scheduler_saves_while_its_engine_waits_saves_nothing() -> None:
    found = checked(replay(-10.0, -12.0, -8.0), *engine(0.0, -0.1, 0.1, idle_us=1000.0))
    assert found["waits_pct"] == pytest.approx(20.0)
    assert (found["predicted_low_pct"], found["predicted_pct"], found["predicted_high_pct"]) == (0.0, 0.0, 0.0)
    assert found["agree"] == "yes"


def test_a_loss_shows_as_far_as_it_is_longer_than_the_wait() -> None:
    assert exposed(0.25, 0.20) == pytest.approx(0.05)
    assert exposed(0.15, 0.20) == 0.0
    assert exposed(0.15, 0.01) == exposed(0.15, 0.0) == 0.15


def test_an_engine_whose_workload_was_not_replayed_has_no_prediction() -> None:
    found = checked(replay(-10.0, -12.0, -8.0, workload="abort-storm"), *engine(-2.0, -3.0, -1.0))
    assert math.isnan(found["predicted_pct"])
    assert found["agree"] == ""


def test_too_few_pairs_for_an_interval_agree_with_nothing() -> None:
    found = checked(replay(-10.0, -math.inf, math.inf), *engine(-2.0, -3.0, -1.0))
    assert found["agree"] == ""


@pytest.mark.parametrize(
    ("replayed", "run", "is_found"),
    [
        ("steady-decode", "steady-decode, sync, simulated model 5ms", True),
        ("steady-decode, async", "steady-decode, async, simulated model 5ms", True),
        ("steady-decode, sync", "steady-decode", True),
        ("steady-decode", "steady-decode, async, simulated model 5ms", False),
    ],
)
def test_a_replay_stands_for_the_engines_of_its_scheduler(replayed: str, run: str, is_found: bool) -> None:
    found = checked(replay(-10.0, -12.0, -8.0, workload=replayed), *engine(-2.0, -3.0, -1.0, workload=run))
    assert (not math.isnan(found["predicted_pct"])) == is_found


def test_a_run_without_engines_has_nothing_to_check() -> None:
    assert amdahl(table(replay(-10.0, -12.0, -8.0))).empty
