from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench.traces.workloads.evidence import missed
from bench.traces.workloads.workload import Counter

STEADY = slice(1, 11)  # ten steps
OPTIONS: dict[str, Any] = {"storm": 8, "period": 5, "calls": "one"}


def found(counter: Counter, **counts: int | list[int]) -> list[str]:
    readings = {name: np.zeros(12, dtype=np.int64) for name in ("aborted", "preempted", "running", "scheduled_tokens")}
    for name, values in counts.items():
        readings[name][STEADY] = values
    return missed((counter,), OPTIONS, readings, STEADY)


def steps(number: int, value: int = 1) -> list[int]:
    return [value] * number + [0] * (10 - number)


def test_share_below_is_told_with_its_figure_and_one_step_is_stood() -> None:
    counter = Counter("preempted", 1, 0.3)
    assert found(counter, preempted=steps(3)) == found(counter, preempted=steps(2)) == []
    assert found(counter, preempted=steps(1)) == [
        "preempted ≥ 1 in 10.0 % of 10 steady steps; expected preempted ≥ 1 in ≥ 30 % of steady steps"
    ]


def test_share_above_is_told_too() -> None:
    counter = Counter("aborted", 1, 0, 0)
    assert found(counter, aborted=steps(1)) == []
    assert found(counter, aborted=steps(2)) == [
        "aborted ≥ 1 in 20.0 % of 10 steady steps; expected aborted ≥ 1 in 0 % of steady steps"
    ]


def test_steps_outside_the_steady_phase_do_not_count() -> None:
    readings = {"aborted": np.array([9] + [0] * 10 + [9]), "running": np.ones(12)}
    assert missed((Counter("aborted", 1, 0, 0),), OPTIONS, readings, STEADY) == []
    mask = np.ones(12, dtype=bool)
    assert len(missed((Counter("aborted", 1, 0, 0),), OPTIONS, readings, mask)) == 1


def test_threshold_may_be_an_option_and_only_steps_with_any_are_looked_at() -> None:
    counter = Counter("aborted", "storm", 0.9, of_those_with_any=True)
    assert found(counter, aborted=steps(3, 8)) == []
    assert found(counter, aborted=[8, 7, 7] + [0] * 7) == [
        "aborted ≥ 8 in 33.3 % of 3 steps with aborted; expected aborted ≥ storm in ≥ 90 % of steps with aborted"
    ]
    assert found(counter) == [
        "aborted is 0 in all 10 steady steps; expected aborted ≥ storm in ≥ 90 % of steps with aborted"
    ]


def test_bounds_may_be_a_share_of_a_period() -> None:
    counter = Counter("aborted", 1, 0.8, 1.2, per="period")
    assert found(counter, aborted=steps(2)) == []
    assert len(found(counter, aborted=steps(4))) == 1
    assert found(counter, aborted=steps(1)) == []  # two were expected, and one less is stood
    assert len(found(counter, aborted=steps(0))) == 1


def test_prefilled_tokens_are_those_beyond_one_for_each_running_request() -> None:
    counter = Counter("prefilled", 1, 0.5)
    assert found(counter, running=4, scheduled_tokens=[5] * 5 + [4] * 5) == []
    assert len(found(counter, running=4, scheduled_tokens=[3] * 6 + [5] * 3 + [4])) == 1


@pytest.mark.parametrize(("calls", "expected"), [("one", 1), ("each", 0)])
def test_counter_may_hold_for_one_value_of_an_option_only(calls: str, expected: int) -> None:
    assert len(found(Counter("preempted", 1, 1, when=("calls", "one")), preempted=0)) == 1
    readings = {"preempted": np.zeros(10), "running": np.ones(10)}
    counter = Counter("preempted", 1, 1, when=("calls", "one"))
    assert len(missed((counter,), {"calls": calls}, readings, slice(None))) == expected


def test_counter_may_hold_from_a_size_on_only() -> None:
    counter = Counter("preempted", 1, 0.9, from_running=48)
    assert found(counter, running=47) == []
    assert len(found(counter, running=48)) == 1


def test_claims_are_told_in_words() -> None:
    assert Counter("aborted", 1, 0.8, 1.2, per="period").text() == "aborted ≥ 1 in 80 to 120 % / period of steady steps"
    assert Counter("waiting", 1, 0.2, when=("process", "ramp")).text() == (
        "waiting ≥ 1 in ≥ 20 % of steady steps (process=ramp)"
    )
    assert Counter("preempted", 1, 0.3, from_running=48).text().endswith("steady steps (from 48 running on)")
