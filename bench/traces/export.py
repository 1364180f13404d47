"""A frozen trace as lines that readers of Mooncake traces take: Mooncake, AIPerf, vLLM's `timed_trace`.

They know no header and make a prompt from its block ids alone, so every block gets an id, unique ones too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from bench.traces.files import written_at_once
from bench.traces.model import Trace, TraceRequest

LOST = (
    "arrival_step",
    "priority",
    "abort_after",
    "abort_step",
    "lora",
    "grammar",
    "session",
    "images",
    "external_tokens",
)


def export_mooncake(trace: Trace, path: Path) -> list[str]:
    """`path` holds a line a request: `timestamp` in ms, lengths, `hash_ids`; returns what a person must know.

    Raises TraceError where the file cannot be written.
    """
    with written_at_once(path) as file:
        file.writelines(line + "\n" for line in _lines(trace))
    notes = [f"block size {trace.hash_block_tokens} tokens, times in ms"]
    lost = [name for name in LOST if any(getattr(each, name) not in (None, 0, ()) for each in trace.requests)]
    if lost:
        notes.append(f"not in the format, left out: {', '.join(lost)}")
    return notes


def _lines(trace: Trace) -> Iterator[str]:
    next_id = 1 + max((max(each.hash_ids, default=-1) for each in trace.requests), default=-1)
    for request in trace.requests:
        num_unique = -(-request.input_length // trace.hash_block_tokens) - len(request.hash_ids)
        yield _line(request, (*request.hash_ids, *range(next_id, next_id + num_unique)))
        next_id += num_unique


def _line(request: TraceRequest, hash_ids: tuple[int, ...]) -> str:
    whole = request.timestamp.is_integer()
    record = {
        "timestamp": int(request.timestamp) if whole else request.timestamp,
        "input_length": request.input_length,
        "output_length": request.output_length,
        "hash_ids": hash_ids,
    }
    return json.dumps(record, separators=(",", ":"), allow_nan=False)
