from __future__ import annotations

import numpy as np
import pytest

from bench.analysis.change_points import MIN_RUNS, change_points
from tests.analysis.histories import stepped

LEAST = 0.75  # half the default margin, in %
SERIES = 100


def found_after(effects: np.ndarray, at: int) -> int | None:
    """Runs since the step when it is first told, asking after every run as a nightly job does."""
    for known in range(at + 1, len(effects) + 1):
        if any(abs(change.index - at) <= 1 for change in change_points(effects[:known], LEAST)):
            return known - at
    return None


@pytest.mark.parametrize("sd", [0.3, 0.5])
def test_step_of_three_percent_at_run_30_is_found_within_5_runs(sd: float) -> None:
    waits = [found_after(stepped(40, 30, 3.0, sd, seed), 30) for seed in range(SERIES)]
    assert all(wait is not None and wait <= 5 for wait in waits)


def test_step_is_nearly_always_found_within_5_runs_where_runs_differ_by_0_8_percent() -> None:
    waits = [found_after(stepped(40, 30, 3.0, 0.8, seed), 30) for seed in range(SERIES)]
    assert sum(wait is not None and wait <= 5 for wait in waits) >= 0.95 * SERIES


def false_alarms(effects: np.ndarray) -> int:
    """Different changes that are told over the whole life of a series, asked after every run."""
    told = {change.index for known in range(1, len(effects) + 1) for change in change_points(effects[:known], LEAST)}
    return len(told)


@pytest.mark.parametrize("sd", [0.5, 1.0])
def test_at_most_one_false_alarm_in_100_runs(sd: float) -> None:
    alarms = [false_alarms(stepped(100, 100, 0.0, sd, 1000 + seed)) for seed in range(SERIES)]
    assert np.mean(alarms) < 0.1
    assert np.mean([count <= 1 for count in alarms]) > 0.97


def test_heavy_tails_alarm_more_often_but_stay_below_one_in_100_runs() -> None:
    rng = np.random.default_rng(5)
    alarms = [false_alarms(0.6 * rng.standard_t(4, 100) / np.sqrt(2)) for _ in range(SERIES)]
    assert np.mean(alarms) < 0.5


def test_change_says_where_and_from_what_to_what() -> None:
    (change,) = change_points(stepped(60, 25, -4.0, 0.4, 7), LEAST)
    assert change.index == 25
    assert change.before == pytest.approx(0, abs=0.3)
    assert change.after == pytest.approx(-4, abs=0.3)
    assert change.shift == change.after - change.before
    assert change.p_value < 1e-6


def test_two_changes_are_two() -> None:
    effects = stepped(60, 20, 3.0, 0.4, 3)
    effects[40:] -= 5.0
    assert [change.index for change in change_points(effects, LEAST)] == [20, 40]


@pytest.mark.parametrize("odd", [8.0, 30.0])
def test_one_odd_run_is_no_new_level(odd: float) -> None:
    effects = stepped(40, 40, 0.0, 0.4, 1)
    effects[20] += odd
    told = {change.index for known in range(1, 41) for change in change_points(effects[:known], LEAST)}
    assert told == set()


def test_shift_too_small_to_matter_is_not_told() -> None:
    effects = stepped(60, 30, 0.5, 0.05, 2)
    assert change_points(effects, LEAST) == []
    assert len(change_points(effects, 0.2)) == 1


@pytest.mark.parametrize("count", [0, 1, 2, MIN_RUNS - 1])
def test_few_runs_show_nothing(count: int) -> None:
    assert change_points(stepped(count, count // 2, 50.0, 0.1, 1), LEAST) == []


def test_series_that_never_varies_has_no_change_and_a_clean_step_is_found() -> None:
    assert change_points(np.zeros(30), LEAST) == []
    assert [change.index for change in change_points(np.repeat([0.0, 3.0], 15), LEAST)] == [15]
