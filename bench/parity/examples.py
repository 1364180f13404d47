"""Small random traces on small engines, made to starve: the space that fuzzing and mutants search.

Where the numbers come from is the caller's: a seeded generator here, Hypothesis in the tests, which can shrink them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench.options import EngineOptions, Scalar
from bench.traces.model import EngineNeeds, Trace, TraceRequest
from bench.traces.streaming import session_tokens

Integer = Callable[[int, int], int]
"""Draws a whole number between two, both included; smaller ones make simpler examples."""

BLOCK_TOKENS = 4  # small blocks are outgrown, and given back, every few steps
MAX_STEPS_BETWEEN = 3  # arrivals further apart would empty the queue
SHARED_PREFIXES = 2  # few, so that they are hit
ADAPTERS = GRAMMARS = SESSIONS = 3  # few, so that requests meet on them
MAX_DRAFTS = 3
MAX_LOAD_STEPS = 4  # beside some of the others' steps
IMAGE_TOKENS = (3, 4, 6)  # by id; the encoder has room for one or two


@dataclass(frozen=True)
class Example:
    """One trace and the options of the engine that it is meant for."""

    trace: Trace
    options: EngineOptions


def draw_example(integer: Integer) -> Example:
    """A trace of up to ten requests; the largest fits the KV cache alone, and seldom all of them together."""
    num_requests = integer(1, 10)
    requests: list[TraceRequest] = []
    for number in range(num_requests):
        requests.append(_draw_request(integer, number, requests[-1] if requests else None))
    max_num_seqs = integer(1, 8)
    budget, spare_blocks, spare_tokens = integer(max_num_seqs, 40), integer(0, 8), integer(0, 8)
    options = _draw_options(integer)
    requests, features = _draw_features(integer, requests)
    totals = [request.input_length + request.output_length for request in requests]
    longest = max(*totals, *session_tokens(requests).values(), 0)
    needs = EngineNeeds(
        max_num_seqs=max_num_seqs,
        max_num_batched_tokens=budget,
        kv_tokens=BLOCK_TOKENS * (-(-longest // BLOCK_TOKENS) + spare_blocks),
        max_model_len=longest + spare_tokens,
        **features,
    )
    if int(options["long_prefill_token_threshold"]) > needs.max_model_len:
        options["long_prefill_token_threshold"] = 0
    if needs.streaming_sessions:
        options["prefix_cache_reset_interval"] = 0  # vLLM cannot while they wait for input
    if needs.kv_load_failure_policy and (options["async_scheduling"] or any(each.load_steps for each in requests)):
        options["prefix_cache_reset_interval"] = 0  # nor while a step in flight, or a load, may write to blocks
    if needs.max_loras:
        options["prefill_schedule_interval"] = (
            1  # vLLM 0.32 lets too many in: adapters of deferred prefills do not count
        )
    trace = Trace(
        workload="fuzz",
        options=options,
        seed=0,
        num_running=max_num_seqs,
        steady_running=1,
        engine=needs,
        requests=tuple(requests),
        hash_block_tokens=BLOCK_TOKENS,
    )
    return Example(trace, options_of(trace))


def _draw_options(integer: Integer) -> dict[str, Scalar]:
    return {
        "policy": ("fcfs", "priority")[integer(0, 1)],
        "async_scheduling": bool(integer(0, 1)),
        "enable_prefix_caching": bool(integer(0, 1)),
        "scheduler_reserve_full_isl": integer(0, 3) == 3,
        "long_prefill_token_threshold": (0, 0, 4, 7)[integer(0, 3)],
        "block_size": BLOCK_TOKENS,
        "log_stats": False,
        "prefill_schedule_interval": (1, 1, 2, 3)[integer(0, 3)],
        "prefix_cache_reset_interval": (0, 0, 0, 5, 9)[integer(0, 4)],
        "pause_interval": (0, 0, 3, 7)[integer(0, 3)],
    }


def options_of(trace: Trace) -> EngineOptions:
    """The engine options that an example's trace carries in its header."""
    return EngineOptions.model_validate(dict(trace.options))


def random_example(seed: int) -> Example:
    """The example of one seed, the same on every machine."""
    return draw_example(random.Random(seed).randint)


def _draw_request(integer: Integer, number: int, before: TraceRequest | None) -> TraceRequest:
    step = integer(0, MAX_STEPS_BETWEEN) + (before.arrival_step or 0 if before else 0)
    input_length, output_length = integer(1, 24), integer(1, 16)
    if before is not None and integer(0, 2) == 2:  # a twin of the one before: they grow, and may end, together
        step, input_length, output_length = before.arrival_step or 0, before.input_length, before.output_length
    num_shared = min(integer(0, 2), -(-input_length // BLOCK_TOKENS))
    first_shared = integer(0, SHARED_PREFIXES - 1)
    leaves = integer(0, 5)  # most stay to their end
    return TraceRequest(
        # Ids do not sort in order of arrival: who sorts by id must be found out.
        request_id=f"r{(number * 7) % 10}{number}",
        timestamp=(before.timestamp if before else 0.0) + integer(0, 1),
        input_length=input_length,
        output_length=output_length,
        hash_ids=tuple(10 * first_shared + place for place in range(num_shared)),
        arrival_step=step,
        priority=integer(0, 2),
        abort_step=step + integer(0, 20) if leaves == 4 else None,
        abort_after=integer(1, output_length) if leaves == 5 else None,
    )


def _draw_features(integer: Integer, requests: Sequence[TraceRequest]) -> tuple[list[TraceRequest], dict[str, Any]]:
    """The requests with adapters, grammars and sessions, and what the engine needs for them; each seldom together."""
    max_loras = max(0, integer(-3, 2))
    drafts = max(0, integer(-3, MAX_DRAFTS))
    grammars, streaming = integer(0, 2) == 2, integer(0, 2) == 2
    given = []
    for request in requests:
        lora = integer(0, ADAPTERS) if max_loras else 0
        grammar = integer(0, GRAMMARS) if grammars else 0
        given.append(
            replace(request, lora=f"lora-{lora}" if lora else None, grammar=f"root ::= {grammar}" if grammar else None)
        )
    if streaming:
        given = _into_sessions(integer, given)
        drafts = (
            0  # vLLM 0.32 counts accepted drafts past the end of an answer as computed, and trips over the next input
        )
    needs: dict[str, Any] = {
        "max_loras": max_loras,
        "num_speculative_tokens": drafts,
        "streaming_sessions": streaming,
    }
    if integer(0, 3) == 3 and not max_loras:  # vLLM 0.32: adapters that wait for the encoder do not count
        given = [replace(request, images=_draw_images(integer, request.input_length)) for request in given]
        needs["max_num_encoder_input_tokens"] = max(IMAGE_TOKENS) + integer(0, 3)
        needs["encoder_cache_size"] = max(IMAGE_TOKENS) + integer(0, 6)
    if policy := ("", "", "recompute", "fail")[integer(0, 3)]:
        # As above: one that is computed again may have had nothing to do in the step before.
        given = [_offered(integer, request, streaming, may_lose=not max_loras) for request in given]
        if integer(0, 2) == 2:
            given = [_loading(integer, request) for request in given]
        needs["kv_load_failure_policy"] = policy
    return given, needs


def _draw_images(integer: Integer, input_length: int) -> tuple[tuple[int, int, int], ...]:
    """None, one or two, one behind the other."""
    images: list[tuple[int, int, int]] = []
    place = 0
    for _ in range(integer(0, 2)):
        content = integer(0, len(IMAGE_TOKENS) - 1)
        place += integer(0, 8)
        if place + IMAGE_TOKENS[content] > input_length:
            break
        images.append((place, IMAGE_TOKENS[content], content))
        place += IMAGE_TOKENS[content]
    return tuple(images)


def _offered(integer: Integer, request: TraceRequest, streaming: bool, *, may_lose: bool) -> TraceRequest:
    """Some with blocks that a connector has, of which one may not come."""
    num_blocks = integer(0, (request.input_length - 1) // BLOCK_TOKENS)
    if not num_blocks or (streaming and request.session is not None):
        return request
    lost = integer(-1, num_blocks - 1)
    return replace(
        request,
        external_tokens=num_blocks * BLOCK_TOKENS,
        lost_block=lost if lost >= 0 and may_lose else None,
    )


def _loading(integer: Integer, request: TraceRequest) -> TraceRequest:
    """What a connector has of it comes at once, or beside some steps."""
    return replace(request, load_steps=integer(0, MAX_LOAD_STEPS)) if request.external_tokens else request


def _into_sessions(integer: Integer, requests: Sequence[TraceRequest]) -> list[TraceRequest]:
    """Some of them as inputs of one session or another, none of which goes on after it was left."""
    openers: dict[int, TraceRequest] = {}
    left: set[int] = set()
    given = []
    for request in requests:
        number = integer(0, SESSIONS)
        if number and number not in left:
            opener = openers.setdefault(number, request)
            request = replace(
                request,
                session=f"session-{number}",
                abort_after=None,
                lora=opener.lora,
                grammar=opener.grammar,
                priority=opener.priority,
            )
            if request.abort_step is not None:
                left.add(number)
        given.append(request)
    return given
