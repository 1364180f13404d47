"""What the client sends and when: a trace's requests with their intended arrivals, and the order of the replays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.measure.messages import ARMS
from bench.traces.model import Trace, TraceRequest
from bench.traces.tokens import prompt_token_ids
from bench.units import NS_PER_MS, NS_PER_S


@dataclass(frozen=True)
class PlannedRequest:
    """One request; `due_ns` counts from the start of the replay, `hang_up_after` is in output tokens, None: never."""

    request_id: str
    due_ns: int
    prompt: list[int]
    max_tokens: int
    priority: int = 0
    hang_up_after: int | None = None


def plan_requests(
    trace: Trace, vocab_size: int, request_rate: float | None, rng: np.random.Generator
) -> list[PlannedRequest]:
    """Every request of `trace`, which is in the order of arrival.

    Arrivals are the trace's timestamps, or a Poisson process of `request_rate` a second from `rng` in their place.
    A client that the trace takes away before a step hangs up after as many tokens as steps would have passed.
    """
    requests = trace.requests
    due_ns = [round(request.timestamp * NS_PER_MS) for request in requests]
    if request_rate is not None:
        due_ns = (np.cumsum(rng.exponential(NS_PER_S / request_rate, len(requests)))).astype(np.int64).tolist()
    return [
        PlannedRequest(
            request_id=request.request_id,
            due_ns=due,
            prompt=prompt_token_ids(trace, request, vocab_size),
            max_tokens=request.output_length,
            priority=request.priority,
            hang_up_after=_hang_up_after(request),
        )
        for request, due in zip(requests, due_ns, strict=True)
    ]


def _hang_up_after(request: TraceRequest) -> int | None:
    after = request.abort_after
    if request.abort_step is not None:
        after = max(1, request.abort_step - (request.arrival_step or 0))
    return after if after is not None and after < request.output_length else None


def arm_orders(num_pairs: int, rng: np.random.Generator) -> list[Sequence[str]]:
    """Which arm is replayed first in each pair: ABBA or BAAB, drawn anew for every two pairs.

    A drift that is straight over the four replays of two pairs cancels.
    """
    orders: list[Sequence[str]] = []
    while len(orders) < num_pairs:
        first = ARMS if rng.integers(2) else ARMS[::-1]
        orders += [first, first[::-1]]
    return orders[:num_pairs]
