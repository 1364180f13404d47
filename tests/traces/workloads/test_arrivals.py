from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bench.traces.statistics import burstiness
from bench.traces.workloads import generate
from bench.traces.workloads.arrivals import PROCESSES

from .simulator import readings, simulate, steady


def later(process: str, **options: Any) -> np.ndarray:
    """Steps of the requests that were not there from the start."""
    made = generate("arrivals", num_running=400, seed=1, options={"process": process, "steps": 1600, **options})
    return np.array([each.arrival_step for each in made.requests if each.arrival_step])


@pytest.mark.parametrize("process", ["poisson", "gamma", "ramp", "on-off"])
def test_mean_rate_keeps_the_asked_load(process: str) -> None:
    assert len(later(process)) / 1600 == pytest.approx(0.9 * 400 / 64, rel=0.06)


def test_poisson_has_a_dispersion_of_one_and_gamma_more() -> None:
    poisson, bursty = (np.bincount(later(process), minlength=1600)[1:1599] for process in ("poisson", "gamma"))
    assert poisson.var() / poisson.mean() == pytest.approx(1, abs=0.15)
    assert bursty.var() / bursty.mean() > 2.5
    even = np.bincount(later("gamma", burstiness=10.0), minlength=1600)[1:1599]
    assert even.var() / even.mean() < 0.4


def test_ramp_comes_ever_faster() -> None:
    quarters = np.histogram(later("ramp"), bins=4, range=(0, 1600))[0]
    assert quarters / quarters.sum() == pytest.approx([1 / 16, 3 / 16, 5 / 16, 7 / 16], abs=0.02)


def test_bursts_are_as_long_as_the_silence() -> None:
    counts = np.bincount(later("on-off", burst=10), minlength=1600)[1:1599]
    by_phase = counts[: 20 * (len(counts) // 20)].reshape(-1, 20).sum(axis=0)
    assert by_phase[10:].sum() == 0
    assert by_phase[:10].min() > 0


def test_clients_of_a_closed_loop_think_and_never_wait() -> None:
    made = generate("arrivals", num_running=64, seed=1, options={"process": "closed-loop", "think": 3})
    counts = readings(simulate(made))
    first, last = steady(made, simulate(made))
    assert counts["waiting"].max() == 0
    assert counts["running"].max() == 64
    assert counts["running"][first:last].mean() > 0.9 * 64


def test_all_may_be_there_at_once_and_half_of_them_wait() -> None:
    made = generate("arrivals", num_running=64, seed=1, options={"process": "all-at-once"})
    assert {each.arrival_step for each in made.requests} == {0}
    assert len(made.requests) == 128
    assert simulate(made)[0].num_waiting == 64


@pytest.mark.parametrize("process", PROCESSES)
@pytest.mark.parametrize("num_running", [4, 64])
def test_every_process_ends_soon_after_its_steps(process: str, num_running: int) -> None:
    made = generate("arrivals", num_running=num_running, seed=1, options={"process": process, "steps": 200})
    steps = simulate(made)
    assert 180 <= len(steps) <= 300
    assert sum(len(step.finished_places) for step in steps) == len(made.requests)


def test_arrivals_follow_the_clock() -> None:
    made = generate("arrivals", num_running=400, seed=1, options={"steps": 800})
    figures = burstiness([each.timestamp for each in made.requests if each.arrival_step])
    assert figures.dispersion[0][1] == pytest.approx(1, abs=0.9)


def test_a_share_of_the_clients_hangs_up_within_its_output_and_nothing_else_changes() -> None:
    all_stay, some_leave = (
        generate("arrivals", num_running=64, seed=1, options={"steps": 800, "hang_up": share}).requests
        for share in (0.0, 0.2)
    )
    assert all(each.abort_after is None for each in all_stay)
    leaving = [each for each in some_leave if each.abort_after is not None]
    assert len(leaving) / len(some_leave) == pytest.approx(0.2, abs=0.04)
    assert all(0 < (each.abort_after or 0) < each.output_length for each in leaving)
    assert [(each.timestamp, each.input_length, each.output_length) for each in all_stay] == [
        (each.timestamp, each.input_length, each.output_length) for each in some_leave
    ]
