from __future__ import annotations

import pytest

from bench.traces.workloads import generate

from .simulator import simulate, steady


@pytest.mark.parametrize("num_running", [1, 16, 400])
def test_the_same_requests_run_in_every_steady_step(num_running: int) -> None:
    made = generate("steady-decode", num_running=num_running, seed=1)
    steps = simulate(made)
    first, last = steady(made, steps)
    assert len(made.requests) == num_running
    everyone = [each.request_id for each in made.requests]
    assert all(step.running == everyone for step in steps[first : last + 1])
    assert [len(step.finished_places) for step in steps[first:last]] == [0] * (last - first)
    assert steps[last].finished_places == [0]


def test_nobody_arrives_later_and_nobody_is_aborted() -> None:
    made = generate("steady-decode", num_running=16, seed=1)
    assert {(each.arrival_step, each.abort_step, each.abort_after) for each in made.requests} == {(0, None, None)}
