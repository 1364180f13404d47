"""The `replay` tier: vLLM's own scheduler and KV cache manager, driven step by step with a stand-in model."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from bench.engine import adapter
from bench.engine.delivery import Delivery
from bench.engine.probe import StepProbe, StepReading
from bench.engine.shape import EngineShape
from bench.traces.model import Trace
from bench.traces.tokens import prompt_token_ids

Observer = Callable[[Any, Any], None]
"""Called with (scheduler_output, engine_core_outputs) of each step, either None where the step had none.

Used by parity, never while timing.
"""


class ReplaySession:
    """One scheduler and one trace; each `step()` delivers what is due, schedules, and feeds the answer back.

    With `async_scheduling`, the answer of a step is fed back after the next one was scheduled, as the engine's
    batch queue does.
    """

    def __init__(self, scheduler_class: type, trace: Trace, shape: EngineShape, config: Any) -> None:
        self.scheduler = adapter.make_scheduler(scheduler_class, config, shape)
        self.probe = StepProbe(self.scheduler)
        self.next_step = 0
        self._delivery = Delivery(trace)
        self._ahead = shape.async_scheduling
        self._in_flight: list[tuple[Any, Any]] = []
        hasher = adapter.make_block_hasher(config, shape)
        vocabulary = config.model_config.get_vocab_size()
        self._requests = {
            request.request_id: adapter.make_request(request, prompt_token_ids(trace, request, vocabulary), hasher)
            for request in trace.requests
        }

    @property
    def is_done(self) -> bool:
        """True when nothing will arrive any more and nothing is left in the queues."""
        idle = not self.scheduler.has_unfinished_requests() and not self._in_flight
        return idle and self.next_step > self._delivery.last_event

    def step(self, observe: Observer | None = None) -> StepReading:
        """Run the next step: deliver, schedule, answer, update; nothing is scheduled where no request is left."""
        began = perf_counter_ns()
        self._deliver()
        scheduled = outputs = None
        if self.scheduler.has_requests():
            scheduled = self.scheduler.schedule()
            if scheduled.num_scheduled_tokens or not self._ahead:
                chunks = adapter.prefill_chunks(self.scheduler, scheduled)
                self._in_flight.append((scheduled, adapter.answer(scheduled, chunks)))
        if self._in_flight and (
            len(self._in_flight) > self._ahead or scheduled is None or not scheduled.num_scheduled_tokens
        ):
            outputs = self.scheduler.update_from_output(*self._in_flight.pop(0))
            if self._delivery.counts_tokens:
                self._note_tokens(outputs)
        if observe is not None:
            observe(scheduled, outputs)
        self.next_step += 1
        self.probe.reading.step_ns = perf_counter_ns() - began
        return self.probe.take()

    def close(self) -> None:
        """Nothing to give back: the scheduler goes with the session."""

    def _deliver(self) -> None:
        for request in self._delivery.arrivals(self.next_step):
            self.scheduler.add_request(self._requests.pop(request.request_id))
        if gone := self._delivery.aborts(self.next_step):
            adapter.abort(self.scheduler, gone)

    def _note_tokens(self, outputs: Any) -> None:
        for client in outputs.values():
            for output in client.outputs:
                self._delivery.note_tokens(output.request_id, len(output.new_token_ids))
