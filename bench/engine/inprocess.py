"""The `engine` tier: a whole vLLM V1 engine in this process, its model runner included, driven by step number."""

from __future__ import annotations

from time import perf_counter_ns
from typing import Any

from bench.engine import adapter
from bench.engine.delivery import Delivery
from bench.engine.probe import StepProbe, StepReading
from bench.engine.shape import EngineShape
from bench.errors import HostError
from bench.traces.model import Trace
from bench.traces.tokens import prompt_token_ids


class EngineSession:
    """One engine and one trace; `step()` delivers what is due through the engine's own calls, then steps it."""

    def __init__(self, scheduler_class: type, trace: Trace, shape: EngineShape) -> None:
        from vllm.v1.engine.llm_engine import LLMEngine

        self._engine = LLMEngine.from_engine_args(adapter.engine_arguments(shape, scheduler_class))
        core = self._engine.engine_core.engine_core
        self.scheduler = core.scheduler
        _check_resolved(core, scheduler_class, shape)
        self.probe = StepProbe(self.scheduler, core.model_executor)
        self.next_step = 0
        self._delivery = Delivery(trace)
        vocabulary = core.vllm_config.model_config.get_vocab_size()
        self._prompts = {r.request_id: prompt_token_ids(trace, r, vocabulary) for r in trace.requests}

    @property
    def is_done(self) -> bool:
        """True when nothing will arrive any more and the engine has no unfinished request."""
        return not self._engine.has_unfinished_requests() and self.next_step > self._delivery.last_event

    def step(self) -> StepReading:
        """Run the next step of the engine; its reading holds the scheduler's parts, the model and the whole."""
        began = perf_counter_ns()
        for request in self._delivery.arrivals(self.next_step):
            self._engine.add_request(
                request.request_id,
                {"prompt_token_ids": self._prompts.pop(request.request_id)},
                adapter.sampling(request),
                arrival_time=request.timestamp,
                priority=request.priority,
            )
        if gone := self._delivery.aborts(self.next_step):
            self._engine.abort_request(gone)
        outputs = self._engine.step()
        self.next_step += 1
        self.probe.reading.step_ns = perf_counter_ns() - began
        if self._delivery.counts_tokens:
            for output in outputs:
                # Outputs are cumulative; the delivery counts what is new.
                self._delivery.note_total(output.request_id, len(output.outputs[0].token_ids))
        return self.probe.take()

    def close(self) -> None:
        """Shut the engine down; its memory goes with the process."""
        self._engine.engine_core.shutdown()


def _check_resolved(core: Any, scheduler_class: type, shape: EngineShape) -> None:
    """The engine must be what was asked for: vLLM's platform code changes some options without a word."""
    config = core.vllm_config
    resolved = {
        "scheduler": type(core.scheduler),
        "async_scheduling": bool(config.scheduler_config.async_scheduling),
        "policy": config.scheduler_config.policy,
        "block_size": config.cache_config.block_size,
        "max_num_seqs": config.scheduler_config.max_num_seqs,
        "max_num_batched_tokens": config.scheduler_config.max_num_batched_tokens,
        "num_gpu_blocks": config.cache_config.num_gpu_blocks,
    }
    asked = {
        "scheduler": scheduler_class,
        "async_scheduling": shape.async_scheduling,
        "policy": shape.policy,
        "block_size": shape.block_size,
        "max_num_seqs": shape.max_num_seqs,
        "max_num_batched_tokens": shape.max_num_batched_tokens,
        "num_gpu_blocks": shape.num_blocks + 1,
    }
    for name, value in asked.items():
        if resolved[name] != value:
            raise HostError(
                f"engine: {name} was asked as {value} but vLLM resolved it to {resolved[name]} on this platform"
            )
