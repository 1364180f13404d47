"""Times the scheduler's three entry points from outside, in any tier, and counts what each step did.

The methods of one scheduler object are wrapped; vLLM's code is not touched. Counting stands outside the
timed sections.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter_ns, thread_time_ns
from typing import Any

from bench.engine.adapter import num_waiting


@dataclass(slots=True)
class StepReading:
    """What one step cost, in ns, and did; the fields are columns of the steps table."""

    cpu_ns: int = 0
    schedule_ns: int = 0
    update_ns: int = 0
    finish_ns: int = 0
    model_ns: int = 0
    step_ns: int = 0
    running: int = 0
    waiting: int = 0
    scheduled_tokens: int = 0
    preempted: int = 0
    finished: int = 0
    aborted: int = 0


class StepProbe:
    """Fills `reading` for the current step; a session takes it with `take()` when the step is over."""

    def __init__(self, scheduler: Any, executor: Any = None) -> None:
        self.reading = StepReading()
        self._inside = False
        self._flushed = 0
        self._scheduler = scheduler
        scheduler.schedule = self._timed(scheduler.schedule, "schedule_ns", self._count_scheduled)
        scheduler.update_from_output = self._timed(scheduler.update_from_output, "update_ns", self._count_finished)
        scheduler.finish_requests = self._timed(scheduler.finish_requests, "finish_ns", self._count_aborted)
        if executor is not None:
            executor.execute_model = self._timed_model(executor.execute_model)
            executor.sample_tokens = self._timed_model(executor.sample_tokens)

    def take(self) -> StepReading:
        """The reading of the step that just ended; the next one starts from zero."""
        taken, self.reading = self.reading, StepReading()
        return taken

    def _timed(self, method: Callable[..., Any], field: str, count: Callable[[Any], None]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            if self._inside:  # the scheduler calls itself: already on the clock
                return method(*args, **kwargs)
            self._inside = True
            try:
                cpu, wall = thread_time_ns(), perf_counter_ns()
                result = method(*args, **kwargs)
                wall = perf_counter_ns() - wall
                cpu = thread_time_ns() - cpu
            finally:
                self._inside = False
            reading = self.reading
            reading.cpu_ns += cpu
            setattr(reading, field, getattr(reading, field) + wall)
            count(result)
            return result

        return timed

    def _timed_model(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            wall = perf_counter_ns()
            result = method(*args, **kwargs)
            self.reading.model_ns += perf_counter_ns() - wall
            return result

        return timed

    def _count_scheduled(self, scheduled: Any) -> None:
        reading = self.reading
        reading.running = len(self._scheduler.running)
        reading.waiting = num_waiting(self._scheduler)
        reading.scheduled_tokens += scheduled.total_num_scheduled_tokens
        reading.preempted += len(scheduled.preempted_req_ids or ())
        self._flushed = len(self._scheduler.finished_req_ids)

    def _count_finished(self, outputs: Any) -> None:
        self.reading.finished += len(self._scheduler.finished_req_ids) - self._flushed
        self._flushed = len(self._scheduler.finished_req_ids)

    def _count_aborted(self, aborted: list[Any]) -> None:
        self.reading.aborted += len(aborted)
