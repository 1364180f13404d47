from __future__ import annotations

from itertools import pairwise

import pytest

from bench.traces.workloads import generate

from .simulator import simulate, steady


@pytest.mark.parametrize("num_running", [2, 16, 400])
@pytest.mark.parametrize(("position", "place"), [("head", 0.0), ("middle", 0.5), ("tail", 1.0)])
def test_one_running_request_is_aborted_at_the_asked_place(position: str, place: float, num_running: int) -> None:
    made = generate("single-abort", num_running=num_running, seed=1, options={"position": position})
    steps = simulate(made)
    first, last = steady(made, steps)
    expected = {0.0: 0, 0.5: num_running // 2, 1.0: num_running - 1}[place]
    aborts = [step.aborted_places for step in steps if step.aborted_places]
    assert aborts == [[expected]] * 31
    assert sum(step.aborted_places != [] for step in steps[first : last + 1]) == 31
    assert {len(step.running) for step in steps[first : last + 1]} == {num_running, num_running - 1}


def test_random_places_are_spread_over_the_queue() -> None:
    made = generate("single-abort", num_running=64, seed=1, options={"steps": 600})
    places = [place for step in simulate(made) for place in step.aborted_places]
    assert len(places) == 149
    assert min(places) < 5
    assert max(places) > 58
    assert 26 < sum(places) / len(places) < 38


def test_place_of_an_abort_is_filled_in_the_next_step() -> None:
    steps = simulate(generate("single-abort", num_running=16, seed=1, options={"steps": 14}))
    assert [len(step.running) for step in steps] == [16, 16, 16, 16, 15, 16, 16, 16, 15, 16, 16, 16, 15, 16, 15]


def test_every_step_may_abort() -> None:
    steps = simulate(generate("single-abort", num_running=16, seed=1, options={"period": 1, "steps": 10}))
    assert [len(step.aborted_places) for step in steps] == [0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0]


@pytest.mark.parametrize(("num_running", "expected"), [(3, 2), (16, 4), (400, 100)])
def test_storms_abort_a_quarter_at_once_and_are_refilled(num_running: int, expected: int) -> None:
    made = generate("abort-storm", num_running=num_running, seed=1)
    assert made.options["storm"] == expected
    steps = simulate(made)
    first, last = steady(made, steps)
    storms = [number for number, step in enumerate(steps) if step.aborted_places]
    assert {len(steps[number].aborted_places) for number in storms} == {expected}
    assert [late - early for early, late in pairwise(storms)] == [32, 32]
    assert all(first < number < last for number in storms)
    assert {len(steps[number].running) for number in storms} == {num_running - expected}
    assert {len(steps[number + 1].running) for number in storms} == {num_running}


def test_storm_is_spread_over_the_queue() -> None:
    made = generate("abort-storm", num_running=400, seed=1)
    places = next(step.aborted_places for step in simulate(made) if step.aborted_places)
    assert min(places) < 20
    assert max(places) > 380
    assert 160 < sum(places) / len(places) < 240


def test_nobody_aborted_would_have_finished_before() -> None:
    made = generate("abort-storm", num_running=16, seed=1)
    for each in made.requests:
        if each.abort_step is not None and each.arrival_step is not None:
            assert each.arrival_step < each.abort_step < each.arrival_step + each.output_length - 1


def test_storm_may_take_all_that_run() -> None:
    made = generate("abort-storm", num_running=16, seed=1, options={"storm": 16})
    steps = simulate(made)
    first, last = steady(made, steps)
    assert [len(step.running) for step in steps[first : last + 1]].count(0) == 3


def test_storm_of_calls_aborts_one_in_each_step() -> None:
    made = generate(
        "abort-storm", num_running=16, seed=1, options={"storm": 4, "calls": "each", "period": 8, "steps": 24}
    )
    aborted = [len(step.aborted_places) for step in simulate(made)]
    assert aborted[8:24] == [1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0]


@pytest.mark.parametrize(("num_running", "expected"), [(3, 2), (64, 16)])
def test_waiting_requests_are_aborted_together_and_running_stays_full(num_running: int, expected: int) -> None:
    made = generate("waiting-abort-storm", num_running=num_running, seed=1)
    assert made.options["storm"] == expected
    steps = simulate(made)
    first, last = steady(made, steps)
    assert {len(step.running) for step in steps[first : last + 1]} == {num_running}
    assert [step.num_aborted for step in steps if step.num_aborted] == [expected] * 3
    assert not any(step.aborted_places for step in steps)
    assert max(step.num_waiting for step in steps) == expected
