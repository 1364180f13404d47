from __future__ import annotations

import pytest

from bench.traces.workloads import generate

from .simulator import Step, simulate, steady


def steady_steps(num_running: int, block_size: int = 32, **options: float) -> tuple[list[Step], int]:
    made = generate("preemption", num_running=num_running, seed=1, options=options)
    steps = simulate(made, block_size)
    first, last = steady(made, steps)
    return steps[first : last + 1], made.steady_running


@pytest.mark.parametrize(("num_running", "least"), [(16, 0.15), (64, 0.4), (400, 0.6)])
@pytest.mark.parametrize("block_size", [16, 32])
def test_many_steps_preempt_from_the_beginning_to_the_end(num_running: int, least: float, block_size: int) -> None:
    steps, _ = steady_steps(num_running, block_size)
    for quarter in range(4):
        part = steps[quarter * len(steps) // 4 : (quarter + 1) * len(steps) // 4]
        assert sum(step.preempted != [] for step in part) >= least * len(part) / 2
    assert sum(step.preempted != [] for step in steps) >= least * len(steps)


@pytest.mark.parametrize("num_running", [16, 64, 400])
def test_about_num_running_requests_run(num_running: int) -> None:
    steps, floor = steady_steps(num_running)
    assert floor == 0.75 * num_running
    mean = sum(len(step.running) for step in steps) / len(steps)
    assert 0.9 * num_running <= mean <= 1.1 * num_running


def test_preempted_requests_come_back_and_all_finish() -> None:
    made = generate("preemption", num_running=64, seed=1)
    steps = simulate(made)
    preempted = {request_id for step in steps for request_id in step.preempted}
    assert len(preempted) > 30
    assert sum(len(step.finished_places) for step in steps) == len(made.requests)


def test_slots_never_bind() -> None:
    made = generate("preemption", num_running=64, seed=1)
    assert max(len(step.running) for step in simulate(made)) < made.engine.max_num_seqs


def test_smaller_share_runs_fewer_and_still_preempts() -> None:
    steps, floor = steady_steps(64, kv_share=0.45)
    assert floor == 36
    assert 40 <= sum(len(step.running) for step in steps) / len(steps) <= 52
    assert sum(step.preempted != [] for step in steps) > 0.3 * len(steps)


def test_long_traces_keep_preempting() -> None:
    steps, _ = steady_steps(64, steps=600)
    assert len(steps) >= 590
    assert sum(step.preempted != [] for step in steps[-150:]) > 40


def test_one_request_always_fits_the_cache() -> None:
    made = generate("preemption", num_running=8, seed=1, options={"kv_share": 0.4})
    assert made.engine.kv_tokens >= max(each.input_length + each.output_length for each in made.requests) + 32


def test_priorities_are_drawn_from_as_many_levels_as_asked() -> None:
    made = generate("preemption", num_running=64, seed=1, options={"priority_levels": 3})
    assert {each.priority for each in made.requests} == {0, 1, 2}
    assert {each.priority for each in generate("preemption", num_running=64, seed=1).requests} == {0}


def test_initial_requests_finish_in_bursts_however_late_they_were_let_in() -> None:
    steps = simulate(generate("preemption", num_running=400, seed=1))
    assert len(steps[0].running) < 400
    finished = [len(step.finished_places) for step in steps[:64]]
    assert sum(finished[7::8]) > 0.8 * sum(finished) > 0


def priorities(**options: str | int) -> list[int]:
    made = generate("priority-preemption", num_running=64, seed=1, options=options)
    return [each.priority for each in made.requests]


def test_priorities_are_random_inverted_or_tied_as_asked() -> None:
    assert set(priorities()) == {0, 1, 2, 3}
    inverted = priorities(order="inverted")
    assert inverted == sorted(inverted, reverse=True)
    assert len(set(inverted)) == len(inverted)
    assert set(priorities(order="ties")) == {0}


def test_only_priorities_differ_between_the_orders() -> None:
    def rest(order: str) -> list[tuple[object, ...]]:
        made = generate("priority-preemption", num_running=64, seed=1, options={"order": order})
        return [(each.arrival_step, each.input_length, each.output_length) for each in made.requests]

    assert rest("inverted") == rest("ties") == rest("random")
