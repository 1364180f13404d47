from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

from bench.engine.probe import StepProbe


class FakeScheduler:
    """A scheduler whose three entry points take known times and call one another as vLLM's do."""

    def __init__(self) -> None:
        self.running = {"a": None}
        self.waiting = ["b"]
        self.kv_holding_waiting: list[str] = []
        self.finished_req_ids: set[str] = set()

    def schedule(self) -> Any:
        time.sleep(0.002)
        return SimpleNamespace(total_num_scheduled_tokens=5, preempted_req_ids={"b"})

    def update_from_output(self) -> dict[int, Any]:
        self.finish_requests(["a"])
        self.finished_req_ids.add("a")
        return {}

    def finish_requests(self, request_ids: list[str]) -> list[str]:
        time.sleep(0.002)
        return request_ids


def test_each_entry_point_has_its_own_time_and_counts() -> None:
    scheduler = FakeScheduler()
    probe = StepProbe(scheduler)
    scheduler.schedule()
    scheduler.update_from_output()
    reading = probe.take()
    assert reading.schedule_ns >= 2_000_000
    assert (reading.running, reading.waiting, reading.scheduled_tokens, reading.preempted) == (1, 1, 5, 1)
    assert reading.finished == 1


def test_a_call_within_a_call_is_not_counted_twice() -> None:
    scheduler = FakeScheduler()
    probe = StepProbe(scheduler)
    scheduler.update_from_output()
    reading = probe.take()
    assert reading.update_ns >= 2_000_000
    assert reading.finish_ns == 0
    assert reading.aborted == 0


def test_sleeping_costs_wall_time_and_hardly_any_cpu_time() -> None:
    scheduler = FakeScheduler()
    probe = StepProbe(scheduler)
    scheduler.schedule()
    reading = probe.take()
    assert 0 < reading.cpu_ns < reading.schedule_ns


def test_the_next_step_starts_from_zero() -> None:
    scheduler = FakeScheduler()
    probe = StepProbe(scheduler)
    scheduler.finish_requests(["a", "b"])
    assert probe.take().aborted == 2
    assert probe.take().aborted == 0
