"""What a trace may hold beside plain requests, which tier can do it, and what a step did about it.

Nothing is left out without a word: adapters, grammars, drafts, streaming sessions, images and KV loads are replayed by
the `replay` tier; the others have no weights of adapters, no tokenizer, drafter, encoder or second engine, and refuse
such a trace by the field's name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bench.errors import ConfigError
from bench.traces.model import Trace
from bench.traces.streaming import session_tokens

if TYPE_CHECKING:
    from bench.engine.probe import StepReading
    from bench.engine.shape import EngineShape


def check_features(shape: EngineShape, trace: Trace) -> None:
    """Raises ConfigError where the engine of `shape` could not do what `trace` holds."""
    if not shape.max_loras:
        for request in trace.requests:
            if request.lora is not None:
                raise ConfigError(
                    f"trace {trace.workload}: request {request.request_id} has lora {request.lora!r} and max_loras "
                    "is 0, expected ≥ 1; set engine.max_loras"
                )
    for request in trace.requests:
        if request.lost_block is not None and request.lost_block * shape.block_size >= request.external_tokens:
            raise ConfigError(
                f"trace {trace.workload}: request {request.request_id} loses block {request.lost_block} of "
                f"{request.external_tokens} external tokens, expected one of them; a block has {shape.block_size}"
            )
    is_loading_beside = shape.async_scheduling or any(request.load_steps for request in trace.requests)
    if shape.kv_load_failure_policy and is_loading_beside and shape.prefix_cache_reset_interval:
        raise ConfigError(
            f"trace {trace.workload}: engine.prefix_cache_reset_interval is {shape.prefix_cache_reset_interval}, "
            "expected 0: vLLM cannot reset while a KV connector may write to the blocks of a step in flight"
        )
    if not trace.engine.streaming_sessions:
        return
    longest = max(session_tokens(trace.requests).values(), default=0)
    room = min(shape.max_model_len, shape.num_blocks * shape.block_size)
    if longest > room:
        raise ConfigError(
            f"trace {trace.workload}: a streaming session has {longest} tokens, expected ≤ {room}; "
            "raise engine.max_model_len and engine.kv_tokens"
        )
    if shape.prefix_cache_reset_interval:
        raise ConfigError(
            f"trace {trace.workload}: engine.prefix_cache_reset_interval is {shape.prefix_cache_reset_interval}, "
            "expected 0: vLLM cannot reset while streaming sessions that wait for input hold blocks"
        )


def refuse_beyond_replay(trace: Trace, shape: EngineShape, tier: str) -> None:
    """Raises ConfigError that names the first thing which `tier` cannot do; none where it is `replay`."""
    if tier == "replay":
        return
    for what in _beyond(trace, shape):
        raise ConfigError(f"trace {trace.workload}: {what}, which the {tier} tier cannot do; use the replay tier")


def _beyond(trace: Trace, shape: EngineShape) -> Iterator[str]:
    streaming = trace.engine.streaming_sessions
    for request in trace.requests:
        for name in ("lora", "grammar", *(["session"] if streaming else [])):
            if getattr(request, name) is not None:
                yield f"request {request.request_id} has {name} {getattr(request, name)[:40]!r}"
        for name in ("images", "external_tokens"):
            if getattr(request, name):
                yield f"request {request.request_id} has {name}"
    if shape.kv_load_failure_policy:
        yield f"kv_load_failure_policy is {shape.kv_load_failure_policy!r}"
    if shape.num_speculative_tokens:
        yield f"num_speculative_tokens is {shape.num_speculative_tokens}"
    if shape.prefill_schedule_interval > 1:
        yield f"engine.prefill_schedule_interval is {shape.prefill_schedule_interval}"
    if shape.prefix_cache_reset_interval:
        yield f"engine.prefix_cache_reset_interval is {shape.prefix_cache_reset_interval}"
    if shape.pause_interval:
        yield f"engine.pause_interval is {shape.pause_interval}"


def count_features(reading: StepReading, scheduler: Any, scheduled: Any, sessions: set[str]) -> None:
    """Fill in what `schedule()` did about drafts, grammars, adapters and sessions; costs little where there are none.

    `sessions` remembers the streaming sessions that were in RUNNING before.
    """
    if scheduled.scheduled_spec_decode_tokens:
        reading.drafted += sum(map(len, scheduled.scheduled_spec_decode_tokens.values()))
    requests = scheduler.requests
    if scheduled.has_structured_output_requests:
        reading.structured += sum(
            requests[request_id].use_structured_output and not requests[request_id].is_prefill_chunk
            for request_id in scheduled.num_scheduled_tokens
        )
    if scheduler.lora_config:
        reading.loras = len({each.lora_request.lora_int_id for each in scheduler.running if each.lora_request})
    reading.paused = scheduler.num_waiting_for_streaming_input
    for new in scheduled.scheduled_new_reqs:
        if requests[new.req_id].resumable:
            reading.reentered += new.req_id in sessions
            sessions.add(new.req_id)


def num_accepted(outputs: Any) -> int:
    """Draft tokens that came out in one step: all that a request got but the last."""
    return sum(max(0, len(each.new_token_ids) - 1) for client in outputs.values() for each in client.outputs)
