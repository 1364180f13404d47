"""Hands a trace to an engine by step number, so that both arms see the same batches.

A request arrives before the step that its trace names; a client goes away before the step that it names, or
before the first step after it got as many tokens as it names.
"""

from __future__ import annotations

from collections import defaultdict

from bench.errors import TraceError
from bench.traces.model import Trace, TraceRequest
from bench.traces.streaming import SessionInput, session_inputs


class Delivery:
    """What is due before each step; ask for the steps in order.

    `sessions` holds the place of each request in its streaming session, by request id; such a session goes away under
    the id of its first request.
    """

    def __init__(self, trace: Trace) -> None:
        self._arrivals: dict[int, list[TraceRequest]] = defaultdict(list)
        self._aborts: dict[int, list[str]] = defaultdict(list)
        self._abort_after: dict[str, int] = {}
        self._received: dict[str, int] = {}
        self._gone: list[str] = []
        streaming = trace.engine.streaming_sessions
        self.sessions: dict[str, SessionInput] = session_inputs(trace.requests) if streaming else {}
        for line, request in enumerate(trace.requests, 2):
            if request.arrival_step is None:
                raise TraceError(
                    f"trace {trace.workload} line {line}: request {request.request_id} has no arrival_step; "
                    "this tier delivers by step"
                )
            self._arrivals[request.arrival_step].append(request)
            if request.abort_step is not None:
                place = self.sessions.get(request.request_id)
                self._aborts[request.abort_step].append(place.opener if place else request.request_id)
            if request.abort_after is not None:
                self._abort_after[request.request_id] = request.abort_after
        self.last_event = max((*self._arrivals, *self._aborts), default=0)
        self.counts_tokens = bool(self._abort_after)

    def arrivals(self, step: int) -> list[TraceRequest]:
        """Requests that arrive before `step`, in trace order."""
        return self._arrivals.get(step, [])

    def aborts(self, step: int) -> list[str]:
        """Ids whose clients go away before `step`, in trace order; each is named once."""
        due = self._aborts.get(step, []) + self._gone
        self._gone = []
        return due

    def note_tokens(self, request_id: str, num_tokens: int) -> None:
        """Count tokens that a request newly got, for the clients that go away after a number of them."""
        if request_id in self._abort_after:
            self.note_total(request_id, self._received.get(request_id, 0) + num_tokens)

    def note_total(self, request_id: str, num_tokens: int) -> None:
        """As `note_tokens`, with the number of tokens that the request got since it arrived."""
        limit = self._abort_after.get(request_id)
        if limit is None:
            return
        self._received[request_id] = num_tokens
        if num_tokens >= limit:
            del self._abort_after[request_id]
            self._gone.append(request_id)
