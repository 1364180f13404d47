"""Engines for tests: small traces, and shapes that the installed vLLM resolves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bench.engine import adapter
from bench.engine.replay import ReplaySession
from bench.engine.shape import resolve_shape
from bench.options import EngineOptions
from bench.traces.model import EngineNeeds, Trace, TraceRequest
from bench.variants import load


def trace_of(*requests: TraceRequest, kv_tokens: int = 8192, **needs: Any) -> Trace:
    """A hand-made trace with room for everything; `needs` is what else the engine must have."""
    return Trace(
        workload="by-hand",
        options={},
        seed=1,
        num_running=max(1, len(requests)),
        steady_running=1,
        engine=EngineNeeds(
            max_num_seqs=16, max_num_batched_tokens=8192, kv_tokens=kv_tokens, max_model_len=512, **needs
        ),
        requests=requests,
    )


def request(name: str, prompt: int = 4, output: int = 4, arrives: int = 0, **options: Any) -> TraceRequest:
    """One request with short lengths, delivered by step."""
    return TraceRequest(
        request_id=name,
        timestamp=float(arrives),
        input_length=prompt,
        output_length=output,
        arrival_step=arrives,
        **options,
    )


@pytest.fixture(scope="session")
def open_session() -> Callable[..., ReplaySession]:
    """Open a replay session of a trace on a named variant."""

    def open_one(trace: Trace, variant: str = "dict", **options: Any) -> ReplaySession:
        shape = resolve_shape(EngineOptions.model_validate(options), trace)
        loaded = load(variant)
        scheduler = loaded.async_scheduler if shape.async_scheduling else loaded.scheduler
        return ReplaySession(scheduler, trace, shape, adapter.make_vllm_config(shape))

    return open_one
