"""The `engine` tier: a whole vLLM V1 engine in this process, its model runner included, driven by step number."""

from __future__ import annotations

import os
from time import perf_counter_ns
from typing import Any

import psutil

from bench.engine import adapter
from bench.engine.delivery import Delivery
from bench.engine.features import refuse_beyond_replay
from bench.engine.probe import StepProbe, StepReading
from bench.engine.resolved import resolved_facts
from bench.engine.shape import EngineShape
from bench.engine.standin import stand_in_executor
from bench.errors import HostError
from bench.traces.model import Trace
from bench.traces.tokens import prompt_token_ids


class EngineSession:
    """One engine and one trace; `step()` delivers what is due through the engine's own calls, then steps it."""

    def __init__(self, scheduler_class: type, trace: Trace, shape: EngineShape) -> None:
        refuse_beyond_replay(trace, shape, "engine")
        environment = dict(os.environ)
        self._engine = _open_engine(scheduler_class, shape)
        core = self._engine.engine_core.engine_core
        self.scheduler = core.scheduler
        _check_resolved(core, scheduler_class, shape)
        self.resolved = resolved_facts(core, environment)
        self.probe = StepProbe(self.scheduler, core.model_executor, self._engine.engine_core)
        self.next_step = 0
        self._delivery = Delivery(trace)
        vocabulary = core.vllm_config.model_config.get_vocab_size()
        self._prompts = {r.request_id: prompt_token_ids(trace, r, vocabulary) for r in trace.requests}

    @property
    def is_done(self) -> bool:
        """True when nothing will arrive any more and the engine has no unfinished request."""
        return not self._engine.has_unfinished_requests() and self.next_step > self._delivery.last_event

    def step(self) -> StepReading:
        """Run the next step of the engine; its reading holds all parts of the step and the whole."""
        began = perf_counter_ns()
        self._deliver()
        delivered = perf_counter_ns()
        outputs = self._engine.step()
        ended = perf_counter_ns()
        self.next_step += 1
        if self._delivery.counts_tokens:
            for output in outputs:
                # Outputs are cumulative; the delivery counts what is new.
                self._delivery.note_total(output.request_id, len(output.outputs[0].token_ids))
        self.probe.reading.close(began, delivered, self.probe.core_ns, ended)
        return self.probe.take()

    def _deliver(self) -> None:
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

    def close(self) -> None:
        """Shut the engine down; its memory goes with the process."""
        self._engine.engine_core.shutdown()


def _open_engine(scheduler_class: type, shape: EngineShape) -> Any:
    from vllm.v1.engine.llm_engine import LLMEngine

    arguments = adapter.engine_arguments(shape, scheduler_class)
    if shape.stand_in_model_ms is not None:
        arguments.distributed_executor_backend = stand_in_executor(shape.stand_in_model_ms)
    config = arguments.create_engine_config()
    if shape.stand_in_model_ms is None:
        check_cache_fits(adapter.kv_cache_bytes(config, shape), psutil.virtual_memory().available, shape)
    else:
        # vLLM's CPU platform turns this off because its own model runner cannot; the stand-in can.
        config.scheduler_config.async_scheduling = shape.async_scheduling
    return LLMEngine.from_vllm_config(config, disable_log_stats=not shape.log_stats)


def check_cache_fits(needed_bytes: int | None, available_bytes: int, shape: EngineShape) -> None:
    """Raise HostError where a KV cache on the CPU (None: it is elsewhere) would not fit: the kernel would kill us."""
    if needed_bytes is not None and needed_bytes > available_bytes:
        raise HostError(
            f"engine: a KV cache of {shape.num_blocks} blocks of {shape.block_size} tokens needs "
            f"{needed_bytes / 2**30:.1f} GiB and {available_bytes / 2**30:.1f} GiB are free; "
            "lower engine.kv_tokens or choose a smaller engine.model"
        )


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
