"""The `replay` tier: vLLM's own scheduler and KV cache manager, driven step by step with a stand-in model.

Adapters have no weights, drafts are drawn, grammars take every token; what the scheduler does about them is real.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from bench.engine import adapter
from bench.engine.delivery import Delivery
from bench.engine.drafting import Drafter
from bench.engine.grammars import GrammarCompiler
from bench.engine.probe import StepProbe, StepReading
from bench.engine.shape import EngineShape
from bench.traces.model import Trace, TraceRequest
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
        self._prefill_interval = shape.prefill_schedule_interval
        self._reset_interval = shape.prefix_cache_reset_interval
        self._pause_interval = shape.pause_interval
        self._in_flight: list[tuple[Any, set[str]]] = []
        self._compiler = GrammarCompiler()
        self._drafter: Drafter | None = None
        if drafts := shape.num_speculative_tokens:
            self._drafter = Drafter(self.scheduler, trace.seed, drafts, ahead=self._ahead)
        self._requests = _engine_requests(trace, self._delivery, shape, config)

    @property
    def is_done(self) -> bool:
        """True when nothing will arrive any more and nothing is left in the queues, or in a step in flight."""
        in_flight = any(scheduled.num_scheduled_tokens for scheduled, _ in self._in_flight)
        is_idle = not self.scheduler.has_unfinished_requests() and not in_flight
        return is_idle and self.next_step > self._delivery.last_event

    def step(self, observe: Observer | None = None) -> StepReading:
        """Run the next step: deliver, schedule, answer, update; nothing is scheduled where no request is left."""
        began = perf_counter_ns()
        self._deliver()
        scheduled = outputs = None
        may_go_on = False
        if self.scheduler.has_requests():
            scheduled = self._schedule()
            self._in_flight.append((scheduled, adapter.prefill_chunks(self.scheduler, scheduled)))
            may_go_on = bool(scheduled.num_scheduled_tokens) or self.scheduler.has_requests()
        if self._in_flight and (len(self._in_flight) > self._ahead or not may_go_on):
            outputs = self._update(*self._in_flight.pop(0))
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
        step = self.next_step
        for request in self._delivery.arrivals(step):
            engine_requests = self._requests.pop(request.request_id)
            self._compiler.submit(request, engine_requests[0], step)
            for engine_request in engine_requests:
                self.scheduler.add_request(engine_request)
        if gone := self._delivery.aborts(step):
            adapter.abort(self.scheduler, gone)
        self._compiler.finish(step)
        if self._reset_interval and step and step % self._reset_interval == 0:
            adapter.reset_prefix_cache(self.scheduler)

    def _schedule(self) -> Any:
        """One `schedule()`; a pause lasts for one step, and stops new requests or all in turn."""
        number, is_between = divmod(self.next_step, self._pause_interval or 1)
        if self._pause_interval and not is_between:
            adapter.pause(self.scheduler, everything=number % 2 == 0)
            scheduled = self.scheduler.schedule()
            adapter.unpause(self.scheduler)
            return scheduled
        if self.next_step % self._prefill_interval:
            return self.scheduler.schedule(throttle_prefills=True)
        return self.scheduler.schedule()

    def _update(self, scheduled: Any, chunks: set[str]) -> Any:
        """The engine's part between two steps: drafts, the grammars' bitmask, the model's answer, drafts again."""
        drafter = self._drafter
        if drafter is not None:
            drafter.fill_placeholders(scheduled)
        if scheduled.has_structured_output_requests:
            self.scheduler.get_grammar_bitmask(scheduled)
        if drafter is None:
            return self.scheduler.update_from_output(scheduled, adapter.answer(scheduled, chunks))
        answer = adapter.answer(scheduled, chunks, drafter.accepted(scheduled))
        outputs = self.scheduler.update_from_output(scheduled, answer)
        drafter.propose(scheduled)
        return outputs

    def _note_tokens(self, outputs: Any) -> None:
        for client in outputs.values():
            for output in client.outputs:
                self._delivery.note_tokens(output.request_id, len(output.new_token_ids))


def _engine_requests(trace: Trace, delivery: Delivery, shape: EngineShape, config: Any) -> dict[str, list[Any]]:
    """What is given to the scheduler when each request arrives: one, and with a session's last input its end."""
    hasher = adapter.make_block_hasher(config, shape)
    vocabulary = config.model_config.get_vocab_size()
    lora_ids: dict[str, int] = {}

    def made(request: TraceRequest) -> list[Any]:
        prompt = prompt_token_ids(trace, request, vocabulary)
        lora_id = 0 if request.lora is None else lora_ids.setdefault(request.lora, len(lora_ids) + 1)
        place = delivery.sessions.get(request.request_id)
        if place is None:
            return [adapter.make_request(request, prompt, hasher, lora_id=lora_id)]
        first = adapter.make_request(request, prompt, hasher, session=place.opener, lora_id=lora_id)
        if not place.is_last:
            return [first]
        return [first, adapter.make_request(request, prompt[:1], None, session=place.opener, is_end=True)]

    return {request.request_id: made(request) for request in trace.requests}
