"""Times the parts of a step from outside, in any tier, and counts what each step did.

Methods of one scheduler, one executor and one engine core are wrapped; vLLM's code is not touched. Counting stands
outside the timed sections.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from time import perf_counter_ns, thread_time_ns
from typing import Any

from bench.engine.adapter import num_waiting
from bench.engine.features import count_features, num_accepted


@dataclass(slots=True)
class StepReading:
    """What one step cost, in ns, and did: columns of the steps table, and from `drafted` on what proves a path alone.

    `drafted` and `accepted` count draft tokens, `structured` requests whose next token a grammar rules, `loras` the
    adapters in RUNNING, `paused` the streaming sessions that wait for input after `schedule()`, and `reentered` those
    that came back into RUNNING in it.
    """

    cpu_ns: int = 0
    schedule_ns: int = 0
    update_ns: int = 0
    finish_ns: int = 0
    grammar_ns: int = 0
    model_ns: int = 0
    idle_ns: int = 0
    input_ns: int = 0
    output_ns: int = 0
    other_ns: int = 0
    step_ns: int = 0
    running: int = 0
    waiting: int = 0
    scheduled_tokens: int = 0
    preempted: int = 0
    finished: int = 0
    aborted: int = 0
    drafted: int = 0
    accepted: int = 0
    structured: int = 0
    loras: int = 0
    paused: int = 0
    reentered: int = 0

    def close(self, began_ns: int, delivered_ns: int, core_ns: int, ended_ns: int) -> None:
        """Split the step of a whole engine: `core_ns` of it passed in the engine core, after the delivery.

        What the engine does outside its core is input before and output after it; `other_ns` is what no part has.
        """
        self.step_ns = ended_ns - began_ns
        self.input_ns = delivered_ns - began_ns - self.finish_ns
        self.output_ns = ended_ns - delivered_ns - core_ns
        parts = self.schedule_ns + self.update_ns + self.finish_ns + self.grammar_ns + self.model_ns + self.idle_ns
        self.other_ns = self.step_ns - parts - self.input_ns - self.output_ns


class StepProbe:
    """Fills `reading` for the current step; a session takes it with `take()` when the step is over."""

    def __init__(self, scheduler: Any, executor: Any = None, client: Any = None) -> None:
        self.reading = StepReading()
        self.core_ns = 0
        self.is_on = True  # off: the wrappers pass straight on, and readings stay at 0
        self._inside = False
        self._flushed = 0
        self._scheduler = scheduler
        self._sessions: set[str] = set()
        scheduler.schedule = self._timed(scheduler.schedule, "schedule_ns", self._count_scheduled)
        scheduler.update_from_output = self._timed(scheduler.update_from_output, "update_ns", self._count_finished)
        scheduler.finish_requests = self._timed(scheduler.finish_requests, "finish_ns", self._count_aborted)
        scheduler.get_grammar_bitmask = self._timed_grammar(scheduler.get_grammar_bitmask)
        if executor is not None:
            executor.execute_model = self._timed_model(executor.execute_model)
            executor.sample_tokens = self._timed_model(executor.sample_tokens)
        if client is not None:
            client.get_output = self._timed_core(client.get_output)

    def take(self) -> StepReading:
        """The reading of the step that just ended; the next one starts from zero."""
        taken, self.reading = self.reading, StepReading()
        self.core_ns = 0
        return taken

    def _timed(self, method: Callable[..., Any], field: str, count: Callable[[Any], None]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            if self._inside or not self.is_on:  # inside: the scheduler calls itself, already on the clock
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

    def _timed_grammar(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            if not self.is_on:
                return method(*args, **kwargs)
            wall = perf_counter_ns()
            result = method(*args, **kwargs)
            self.reading.grammar_ns += perf_counter_ns() - wall
            return result

        return timed

    def _timed_model(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            if not self.is_on:
                return method(*args, **kwargs)
            wall = perf_counter_ns()
            result = method(*args, **kwargs)
            self.reading.model_ns += perf_counter_ns() - wall
            if isinstance(result, Future):
                result.result = self._timed_wait(result.result)  # type: ignore[method-assign]
            return result

        return timed

    def _timed_wait(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """A future's `result`: what the engine waits there is idle time of the step that waits."""

        def timed(*args: Any, **kwargs: Any) -> Any:
            wall = perf_counter_ns()
            try:
                return method(*args, **kwargs)
            finally:
                self.reading.idle_ns += perf_counter_ns() - wall

        return timed

    def _timed_core(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            if not self.is_on:
                return method(*args, **kwargs)
            wall = perf_counter_ns()
            result = method(*args, **kwargs)
            self.core_ns += perf_counter_ns() - wall
            return result

        return timed

    def _count_scheduled(self, scheduled: Any) -> None:
        reading = self.reading
        reading.running = len(self._scheduler.running)
        reading.waiting = num_waiting(self._scheduler)
        reading.scheduled_tokens += scheduled.total_num_scheduled_tokens
        reading.preempted += len(scheduled.preempted_req_ids or ())
        self._flushed = len(self._scheduler.finished_req_ids)
        count_features(reading, self._scheduler, scheduled, self._sessions)

    def _count_finished(self, outputs: Any) -> None:
        if self._scheduler.num_spec_tokens:
            self.reading.accepted += num_accepted(outputs)
        self.reading.finished += len(self._scheduler.finished_req_ids) - self._flushed
        self._flushed = len(self._scheduler.finished_req_ids)

    def _count_aborted(self, aborted: list[Any]) -> None:
        self.reading.aborted += len(aborted)
