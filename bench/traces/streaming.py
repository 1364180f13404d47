"""Streaming sessions of a trace: which requests are the inputs of one, and what makes such a session impossible.

A session is one request to the engine whose prompt goes on. Its first input opens it; each later one carries new
prompt tokens (`input_length` counts these alone) and the output that they are answered with; its input ends with the
last one. What the engine does with it is the business of `bench.engine`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bench.traces.checks import shown
from bench.traces.request import TraceRequest

OPENED_WITH = ("lora", "grammar", "priority")
"""What an engine takes from the first input of a session and from no other."""


@dataclass(frozen=True, slots=True)
class SessionInput:
    """The place of a request in its session; `opener` is the id of the first, which the engine knows the session by."""

    opener: str
    is_last: bool


def session_inputs(requests: Iterable[TraceRequest]) -> dict[str, SessionInput]:
    """The place of each request that has a session, by request id; ask only where sessions are streaming ones."""
    members: dict[str, list[str]] = {}
    for request in requests:
        if request.session is not None:
            members.setdefault(request.session, []).append(request.request_id)
    return {request_id: SessionInput(ids[0], request_id == ids[-1]) for ids in members.values() for request_id in ids}


def session_tokens(requests: Iterable[TraceRequest]) -> dict[str, int]:
    """Prompt and output tokens of all inputs of each session together, by session: what it holds at its end at most."""
    tokens: dict[str, int] = {}
    for request in requests:
        if request.session is not None:
            so_far = tokens.get(request.session, 0)
            tokens[request.session] = so_far + request.input_length + request.output_length
    return tokens


class SessionChecks:
    """Judges the inputs of streaming sessions in file order; finds nothing where sessions are not `streaming`."""

    def __init__(self, max_model_len: int, *, streaming: bool) -> None:
        self._max_model_len = max_model_len
        self._streaming = streaming
        self._first: dict[str, TraceRequest] = {}
        self._aborted: set[str] = set()
        self._tokens: dict[str, int] = {}

    def problem(self, request: TraceRequest) -> str | None:
        """The first thing wrong with `request` as the next input of its session; None where nothing is."""
        session = request.session
        if not self._streaming or session is None:
            return None
        if request.abort_after is not None:
            return "abort_after is given in a streaming session, expected abort_step"
        if request.external_tokens:
            return f"external_tokens is {request.external_tokens} in a streaming session, expected 0"
        if session in self._aborted:
            return f"session {shown(session)} goes on after an input with an abort, expected it to be the last one"
        first = self._first.setdefault(session, request)
        for name in OPENED_WITH:
            if getattr(request, name) != getattr(first, name):
                return f"{name} is {shown(getattr(request, name))}, expected that of the first input of its session"
        if request.abort_step is not None:
            self._aborted.add(session)
        total = self._tokens.get(session, 0) + request.input_length + request.output_length
        self._tokens[session] = total
        if total > self._max_model_len:
            return f"its session has {total} tokens so far, expected ≤ {self._max_model_len}, the trace's max_model_len"
        return None
