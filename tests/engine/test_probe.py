from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from bench.engine.probe import StepProbe, StepReading


class FakeScheduler:
    """A scheduler whose three entry points take known times and call one another as vLLM's do."""

    def __init__(self) -> None:
        self.running = {"a": None}
        self.waiting = ["b"]
        self.kv_holding_waiting: list[str] = []
        self.finished_req_ids: set[str] = set()
        self.requests: dict[str, Any] = {}
        self.lora_config = None
        self.num_spec_tokens = self.num_waiting_for_streaming_input = 0

    def schedule(self) -> Any:
        time.sleep(0.002)
        return SimpleNamespace(
            total_num_scheduled_tokens=5,
            preempted_req_ids={"b"},
            scheduled_spec_decode_tokens={},
            has_structured_output_requests=False,
            scheduled_new_reqs=[],
        )

    def update_from_output(self) -> dict[int, Any]:
        self.finish_requests(["a"])
        self.finished_req_ids.add("a")
        return {}

    def finish_requests(self, request_ids: list[str]) -> list[str]:
        time.sleep(0.002)
        return request_ids

    def get_grammar_bitmask(self, scheduled: Any) -> None:
        time.sleep(0.002)


class FakeExecutor:
    """An executor whose model runs for a known time: on a thread where it is not to block."""

    def __init__(self) -> None:
        self.thread = ThreadPoolExecutor(max_workers=1)

    def execute_model(self, scheduled: Any, non_block: bool = False) -> Any:
        return None

    def sample_tokens(self, grammar: Any, non_block: bool = False) -> Any:
        future = self.thread.submit(time.sleep, 0.002)
        return future if non_block else future.result()


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


def test_a_model_that_blocks_takes_model_time_and_one_that_does_not_leaves_a_wait() -> None:
    scheduler, executor = FakeScheduler(), FakeExecutor()
    probe = StepProbe(scheduler, executor)
    scheduler.get_grammar_bitmask(None)
    executor.sample_tokens(None)
    blocked = probe.take()
    assert blocked.grammar_ns >= 2_000_000
    assert blocked.model_ns >= 2_000_000
    assert blocked.idle_ns == 0
    future = executor.sample_tokens(None, non_block=True)
    assert probe.take().idle_ns == 0
    future.result()
    waited = probe.take()
    assert (waited.model_ns, waited.step_ns) == (0, 0)
    assert waited.idle_ns > 0
    executor.thread.shutdown()


def test_a_wait_that_ends_in_an_error_is_a_wait_and_the_error_comes_through() -> None:
    scheduler, executor = FakeScheduler(), FakeExecutor()
    probe = StepProbe(scheduler, executor)
    executor.thread.shutdown()
    executor.thread = ThreadPoolExecutor(max_workers=1)
    executor.thread.submit = lambda *_: ThreadPoolExecutor.submit(executor.thread, int, "no number")  # type: ignore[method-assign]
    future = executor.sample_tokens(None, non_block=True)
    with pytest.raises(ValueError, match="no number"):
        future.result()
    assert probe.take().idle_ns > 0
    executor.thread.shutdown()


def test_the_parts_of_a_step_add_up_to_the_step() -> None:
    reading = StepReading(schedule_ns=40, update_ns=30, finish_ns=5, grammar_ns=1, model_ns=100, idle_ns=2)
    reading.close(began_ns=1000, delivered_ns=1015, core_ns=180, ended_ns=1215)
    assert (reading.step_ns, reading.input_ns, reading.output_ns) == (215, 10, 20)
    assert reading.other_ns == 215 - (40 + 30 + 5 + 1 + 100 + 2) - 10 - 20


def test_a_probe_that_is_off_reads_nothing_and_can_be_put_on_again() -> None:
    scheduler, executor = FakeScheduler(), FakeExecutor()
    probe = StepProbe(scheduler, executor)
    probe.is_on = False
    scheduler.schedule()
    executor.sample_tokens(None)
    assert probe.take() == StepReading()
    probe.is_on = True
    scheduler.schedule()
    assert probe.take().running == 1
    executor.thread.shutdown()
