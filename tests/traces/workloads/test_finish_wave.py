from __future__ import annotations

from itertools import pairwise

import pytest

from bench.traces.workloads import generate

from .simulator import simulate, steady


@pytest.mark.parametrize(("num_running", "expected"), [(2, 2), (16, 2), (64, 8), (400, 50)])
def test_waves_come_every_period_and_are_refilled_at_once(num_running: int, expected: int) -> None:
    made = generate("finish-wave", num_running=num_running, seed=1)
    assert made.options["wave"] == expected
    steps = simulate(made)
    first, last = steady(made, steps)
    waves = [number for number in range(first, last) if steps[number].finished_places]
    assert waves[0] - first in (15, 16)
    assert {late - early for early, late in pairwise(waves)} == {16}
    assert {len(steps[number].finished_places) for number in waves} == {expected}
    assert {len(step.running) for step in steps[first : last + 1]} == {num_running}
    assert len(waves) in (7, 8)


def test_wave_takes_its_requests_from_all_over_the_queue() -> None:
    made = generate("finish-wave", num_running=400, seed=1)
    wave = next(step.finished_places for step in simulate(made) if len(step.finished_places) == 50)
    assert min(wave) < 40
    assert max(wave) > 360
    assert 140 < sum(wave) / 50 < 260


def test_period_and_wave_are_as_asked() -> None:
    made = generate("finish-wave", num_running=16, seed=1, options={"period": 5, "wave": 16, "steps": 20})
    assert [len(step.finished_places) for step in simulate(made)] == [0, 0, 0, 0, 16] * 3 + [0, 0, 0, 0, 1, 15]
