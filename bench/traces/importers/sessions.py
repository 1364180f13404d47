"""Sessions of coding agents as kv-cache-tester and Weka record them: closed loop, ids local to the session.

Each call starts when the one before has ended and the user has thought; subagents run inside, beside each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench.traces.importers.fields import block_ids, number, output_tokens, value_of, whole, words
from bench.traces.importers.rows import Format, Inputs, Reader, Record, Row
from bench.traces.lines import LineError

MAX_NESTING = 8  # subagents of subagents; recorded ones nest once


def make_reader(inputs: Inputs) -> Reader:
    """A record is a session with its calls, in seconds from its start; `max_think_s` shortens the pauses in it."""
    seen: set[str] = set()
    next_id = [0]

    def read(record: Record) -> Iterator[Row]:
        session = words(record, "id")
        if session in seen:
            raise LineError(f"session {session} was used before, expected unique ids")
        seen.add(session)
        if value_of(record, "hash_id_scope") != "local":
            raise LineError(f"hash_id_scope is {str(record['hash_id_scope'])[:60]!r}, expected 'local'")
        block_tokens = whole(record, "block_size", high=65_536)
        if block_tokens != inputs.block_tokens:
            raise LineError(f"block_size is {block_tokens}, expected {inputs.block_tokens}; pass --block-tokens")
        global_of: dict[int, int] = {}
        for time, call, changed in _calls(value_of(record, "requests"), 0.0, inputs, MAX_NESTING):
            prompt = whole(call, "in")
            output, raised = output_tokens(call, "out", inputs.options)
            local, filled = block_ids(call, "hash_ids", prompt, block_tokens, inputs.options)
            for each in local:
                if each not in global_of:
                    global_of[each] = next_id[0]
                    next_id[0] += 1
            blocks = tuple(global_of[each] for each in local)
            yield Row(time, prompt, output, blocks, session, changed + raised + filled)

    return read


def _calls(
    requests: Any, start_s: float, inputs: Inputs, nesting: int
) -> Iterator[tuple[float, Record, tuple[str, ...]]]:
    """(seconds from the session's start, call, reasons to count) of each call, those of subagents where they begin."""
    if not isinstance(requests, list):
        raise LineError("requests is no array, expected the calls of the session")
    if nesting == 0:
        raise LineError(f"subagents nest more than {MAX_NESTING} deep")
    cut_s = 0.0
    last_s = last_end_s = 0.0
    for call in requests:
        if not isinstance(call, dict):
            raise LineError("requests holds something that is no object, expected calls and subagents")
        t = number(call, "t", high=1e9)
        if t < last_s:
            raise LineError(f"t is {t:.15g}, expected ≥ {last_s:.15g} of the call before")
        cut = _think_cut(call, t, last_end_s, inputs.options.max_think_s)
        cut_s += cut
        last_s, last_end_s = t, t + _duration(call)
        changed = ("pause_shortened",) if cut else ()
        if call.get("type") == "subagent":
            yield from _calls(value_of(call, "requests"), start_s + t - cut_s, inputs, nesting - 1)
        else:
            yield start_s + t - cut_s, call, changed


def _think_cut(call: Record, t: float, last_end_s: float, max_think_s: float) -> float:
    """Seconds by which the pause before `call` is longer than `max_think_s`; 0 where that is 0."""
    if max_think_s == 0:
        return 0.0
    pause = max(0.0, t - last_end_s)
    if "think_time" in call:
        pause = min(pause, number(call, "think_time", high=1e9))
    return max(0.0, pause - max_think_s)


def _duration(call: Record) -> float:
    if call.get("type") == "subagent":
        return number(call, "duration_ms", high=1e12) / 1000 if "duration_ms" in call else 0.0
    return number(call, "api_time", high=1e9) if "api_time" in call else 0.0


SESSIONS = Format(
    name="sessions",
    what="kv-cache-tester and Weka agent sessions, one file or many, each a JSON object or lines of them",
    container="json",
    keys=("id", "requests", "block_size", "hash_id_scope"),
    time_unit="s",
    make_reader=make_reader,
    clock="session",
    block_tokens=64,
)
