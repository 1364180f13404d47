"""What makes the requests of a trace possible, each alone and in their order.

A problem is returned as text without its place: a reader adds the file and line, a constructor the request.
"""

from __future__ import annotations

import math

from bench.traces.request import TraceRequest

MAX_TOKENS = 10_000_000  # a request: well above any context window, well below what exhausts memory
MAX_REQUESTS = 2_000_000  # a trace: about 1 GB of request objects
MAX_STEP = 100_000_000  # at 1 ms a step more than a day
MAX_TIMESTAMP_MS = 1e12  # about 30 years: beyond this it is a wall clock, not a time from the first request
MAX_PRIORITY = 2**31 - 1  # either sign; as wide as vLLM's own clients send
MAX_HASH_ID = 2**63 - 1  # fits a signed 64-bit column
MAX_NAME = 256  # characters
MAX_GRAMMAR = 65_536  # characters


class RequestChecks:
    """Judges the requests of one trace in file order; remembers what order and uniqueness need."""

    def __init__(self, max_model_len: int, hash_block_tokens: int) -> None:
        self._max_model_len = max_model_len
        self._hash_block_tokens = hash_block_tokens
        self._seen: set[str] = set()
        self._last: TraceRequest | None = None
        self._image_lengths: dict[int, int] = {}

    def problem(self, request: TraceRequest) -> str | None:
        """The first thing wrong with `request` as the next one of the trace; None where nothing is."""
        found = (
            _name_problem(request)
            or _time_problem(request)
            or _length_problem(request, self._max_model_len)
            or _prefix_problem(request, self._hash_block_tokens)
            or _abort_problem(request)
            or self._image_problem(request)
            or _external_problem(request)
            or self._order_problem(request)
        )
        self._seen.add(request.request_id)
        self._last = request
        return found

    def _image_problem(self, request: TraceRequest) -> str | None:
        end = 0
        for place, length, content in request.images:
            problem = (
                range_problem("the first token of an image", place, end, request.input_length - 1)
                or range_problem("an image's number of tokens", length, 1, request.input_length - place)
                or range_problem("the id of an image", content, 0, MAX_HASH_ID)
            )
            if problem:
                return problem
            end = place + length
            known = self._image_lengths.setdefault(content, length)
            if known != length:
                return f"image {content} has {length} tokens, expected {known} as before"
        return None

    def _order_problem(self, request: TraceRequest) -> str | None:
        if request.request_id in self._seen:
            return f'request_id "{request.request_id}" was used before, expected unique ids'
        last = self._last
        if last is None:
            return None
        if request.timestamp < last.timestamp:
            return f"timestamp is {request.timestamp:.15g}, expected ≥ {last.timestamp:.15g} of the request before"
        if (request.arrival_step is None) != (last.arrival_step is None):
            return "arrival_step is given for some requests only, expected for all or for none"
        if request.arrival_step is None or last.arrival_step is None or request.arrival_step >= last.arrival_step:
            return None
        return f"arrival_step is {request.arrival_step}, expected ≥ {last.arrival_step} of the request before"


def range_problem(name: str, value: int, low: int, high: int) -> str | None:
    """Says that `value` lies outside `low` to `high`; None where it lies inside."""
    if value < low:
        return f"{name} is {shown(value)}, expected ≥ {low}"
    if value > high:
        return f"{name} is {shown(value)}, expected ≤ {high}"
    return None


def shown(value: object) -> str:
    """`value` short enough for a message; a number of any size is safe to pass."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**30:
        return "a number of more than 30 digits"  # str() refuses thousands of digits
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def text_problem(name: str, value: str, max_length: int = MAX_NAME) -> str | None:
    """Says why `value` cannot stand in a file, a log line and a server request; None where it can."""
    if not value:
        return f"{name} is empty, expected at least one character"
    if len(value) > max_length:
        return f"{name} has {len(value)} characters, expected ≤ {max_length}"
    if not value.isprintable():
        return f"{name} {shown(value)} holds characters that cannot be printed"
    return None


def _name_problem(request: TraceRequest) -> str | None:
    problem = text_problem("request_id", request.request_id)
    for name in ("lora", "session"):
        value = getattr(request, name)
        if problem is None and value is not None:
            problem = text_problem(name, value)
    if problem is None and request.grammar is not None:
        # A grammar has lines; all else that cannot be printed, lone surrogates above all, is refused.
        problem = text_problem("grammar", request.grammar.translate(_LINE_ENDS), MAX_GRAMMAR)
    return problem


_LINE_ENDS = str.maketrans("\n\r\t", "   ")


def _time_problem(request: TraceRequest) -> str | None:
    timestamp = request.timestamp
    if not math.isfinite(timestamp):
        return f"timestamp is {timestamp}, expected a finite number of ms"
    if timestamp < 0:
        return f"timestamp is {timestamp:.15g}, expected ≥ 0"
    if timestamp > MAX_TIMESTAMP_MS:
        return f"timestamp is {timestamp:.15g}, expected ≤ {MAX_TIMESTAMP_MS:.15g} ms from the first request"
    if request.arrival_step is not None:
        return range_problem("arrival_step", request.arrival_step, 0, MAX_STEP)
    return None


def _length_problem(request: TraceRequest, max_model_len: int) -> str | None:
    total = request.input_length + request.output_length
    problem = (
        range_problem("input_length", request.input_length, 1, MAX_TOKENS)
        or range_problem("output_length", request.output_length, 1, MAX_TOKENS)
        or range_problem("priority", request.priority, -MAX_PRIORITY, MAX_PRIORITY)
    )
    if problem is None and total > max_model_len:
        return f"input_length + output_length is {total}, expected ≤ {max_model_len}, the trace's max_model_len"
    return problem


def _prefix_problem(request: TraceRequest, hash_block_tokens: int) -> str | None:
    most = -(-request.input_length // hash_block_tokens)
    if len(request.hash_ids) > most:
        return (
            f"hash_ids has {len(request.hash_ids)} blocks, expected ≤ {most} "
            f"for {request.input_length} tokens in blocks of {hash_block_tokens}"
        )
    for hash_id in request.hash_ids:
        if problem := range_problem("a hash id", hash_id, 0, MAX_HASH_ID):
            return problem
    return None


def _external_problem(request: TraceRequest) -> str | None:
    # One token is left to compute: without it nothing could be sampled.
    problem = range_problem("external_tokens", request.external_tokens, 0, request.input_length - 1)
    problem = problem or range_problem("load_steps", request.load_steps, 0, MAX_STEP)
    if request.lost_block is not None:
        problem = problem or range_problem("lost_block", request.lost_block, 0, MAX_TOKENS)
    if problem is None and not request.external_tokens:
        for name, is_given in (("lost_block", request.lost_block is not None), ("load_steps", request.load_steps > 0)):
            if is_given:
                return f"{name} is given without external_tokens, expected both"
    return problem


def _abort_problem(request: TraceRequest) -> str | None:
    if request.abort_after is not None and request.abort_step is not None:
        return "abort_after and abort_step are both given, expected one"
    if request.abort_after is not None:
        return range_problem("abort_after", request.abort_after, 1, request.output_length)
    if request.abort_step is None:
        return None
    if request.arrival_step is None:
        return "abort_step is given without arrival_step, expected both"
    return range_problem("abort_step", request.abort_step, request.arrival_step, MAX_STEP)
