from __future__ import annotations

import pytest

from bench.traces.workloads import generate

from .simulator import simulate, steady


@pytest.mark.parametrize("num_running", [2, 16, 400])
@pytest.mark.parametrize("position", ["head", "middle", "tail"])
def test_one_request_leaves_the_asked_place_in_each_steady_step(position: str, num_running: int) -> None:
    made = generate("staggered-finish", num_running=num_running, seed=1, options={"position": position})
    steps = simulate(made)
    first, last = steady(made, steps)
    place = {"head": 0, "middle": num_running // 2, "tail": num_running - 1}[position]
    settled = steps[first + 1 : last + 1]  # in the first one the last prompt may still be cut by the token budget
    assert [step.finished_places for step in settled] == [[place]] * (last - first)
    assert {len(step.running) for step in settled} == {num_running}


def test_queue_goes_round_more_than_once() -> None:
    made = generate("staggered-finish", num_running=16, seed=1, options={"steps": 100})
    steps = simulate(made)
    assert not set(steps[0].running) & set(steps[50].running)
    assert not set(steps[50].running) & set(steps[90].running)


def test_requests_before_the_place_stay_to_the_end() -> None:
    made = generate("staggered-finish", num_running=16, seed=1, options={"position": "middle"})
    steps = simulate(made)
    first, last = steady(made, steps)
    assert steps[first].running[:8] == steps[last].running[:8]
