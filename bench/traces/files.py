"""Trace files: JSON Lines with a header first, read with bounded memory and written all or nothing.

A file is read as it was frozen or not at all: its count and digest must agree. Other tools' formats are not read here.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TextIO

from bench.errors import TraceError
from bench.traces.checks import MAX_REQUESTS, MAX_TOKENS, RequestChecks, range_problem
from bench.traces.lines import HEADER_KEY, SCHEMA, Header, LineError, parse_header, parse_object, parse_request
from bench.traces.model import Trace, TraceRequest
from bench.traces.streaming import SessionChecks
from bench.traces.textfile import GZIP, numbered_lines, open_regular


def read_trace(path: Path) -> Trace:
    """The trace in the file at `path`; raises TraceError with file and line where it is damaged or was altered.

    Blank lines, CRLF, a byte order mark and a missing last newline are stood.
    """
    with open_regular(path, advice="make one with `trace generate`") as file:
        return _read(file, path)


def write_trace(trace: Trace, path: Path) -> None:
    """`path` holds `trace` in full; a file that was there is replaced at once. Raises TraceError."""
    with written_at_once(path) as file:
        file.write(_header_line(trace) + "\n")
        file.writelines(request.canonical_line() + "\n" for request in trace.requests)


@contextlib.contextmanager
def written_at_once(path: Path) -> Iterator[TextIO]:
    """A text file that takes the place of `path` when the block ends without an error; raises TraceError.

    The text is written to a file beside it first, so a crash or a full disk leaves the old file as it was.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with draft.open("w", encoding="ascii", newline="\n") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except (OSError, ValueError) as error:  # ValueError: a path that no system call takes
        reason = error.strerror if isinstance(error, OSError) else error
        raise TraceError(f"trace {path}: cannot be written ({reason}); check the folder") from error
    finally:
        with contextlib.suppress(OSError, ValueError):
            draft.unlink()


def _read(file: BinaryIO, path: Path) -> Trace:
    lines = _lines(file, path)
    try:
        number, raw, _ = next(lines)
    except StopIteration:
        raise TraceError(f"trace {path}: is empty, expected a header and requests") from None
    header = _parse_header_line(raw, f"trace {path} line {number}")
    requests = tuple(_requests(lines, header, path))
    if len(requests) != header.requests:
        raise TraceError(
            f"trace {path}: holds {len(requests)} requests, expected {header.requests} by its header; "
            "the file was cut or altered, fetch or generate it again"
        )
    trace = _freeze(header, requests, path)
    if trace.digest != header.digest:
        raise TraceError(
            f"trace {path}: digest is {trace.digest}, expected {header.digest[:64]} by its header; "
            "the file was altered, fetch or generate it again"
        )
    return trace


def _lines(file: BinaryIO, path: Path) -> Iterator[tuple[int, bytes, bool]]:
    for number, raw, cut in numbered_lines(file, path):
        if number == 1 and raw.startswith(GZIP):
            raise TraceError(f"trace {path}: is compressed with gzip; unpack it first")
        yield number, raw, cut


def _parse_header_line(raw: bytes, where: str) -> Header:
    try:
        header = parse_header(parse_object(raw))
    except LineError as error:
        raise TraceError(f"{where}: {error}") from error
    problem = header.engine.problem() or range_problem("requests", header.requests, 1, MAX_REQUESTS)
    if problem is None:
        problem = range_problem("hash_block_tokens", header.hash_block_tokens, 1, MAX_TOKENS)
    if problem:
        raise TraceError(f"{where}: {problem}; mend the header or generate the trace again")
    return header


def _requests(lines: Iterator[tuple[int, bytes, bool]], header: Header, path: Path) -> Iterator[TraceRequest]:
    checks = RequestChecks(header.engine.max_model_len, header.hash_block_tokens)
    sessions = SessionChecks(header.engine.max_model_len, streaming=header.engine.streaming_sessions)
    for index, (number, raw, cut) in enumerate(lines):
        where = f"trace {path} line {number}"
        if index == header.requests:
            raise TraceError(f"{where}: is one request more than the {header.requests} of the header; drop the line")
        try:
            request = parse_request(parse_object(raw), default_id=f"r{index:06d}")
        except LineError as error:
            hint = "; the file was cut inside this line, fetch it again" if cut and not raw.endswith(b"}") else ""
            raise TraceError(f"{where}: {error}{hint}") from error
        if problem := checks.problem(request) or sessions.problem(request):
            raise TraceError(f"{where}: {problem}; drop the line")
        if problem := header.engine.request_problem(request):
            raise TraceError(f"{where}: {problem}; drop the line or mend the header")
        yield request


def _freeze(header: Header, requests: tuple[TraceRequest, ...], path: Path) -> Trace:
    try:
        return Trace(
            workload=header.workload,
            options=header.options,
            seed=header.seed,
            num_running=header.num_running,
            steady_running=header.steady_running,
            engine=header.engine,
            requests=requests,
            hash_block_tokens=header.hash_block_tokens,
        )
    except TraceError as error:
        raise TraceError(f"trace {path} line 1: {error}") from error


def _header_line(trace: Trace) -> str:
    header = {
        "schema": SCHEMA,
        "workload": trace.workload,
        "options": trace.options,
        "seed": trace.seed,
        "num_running": trace.num_running,
        "steady_running": trace.steady_running,
        "engine": trace.engine.written(),
        "hash_block_tokens": trace.hash_block_tokens,
        "requests": len(trace.requests),
        "digest": trace.digest,
    }
    return json.dumps({HEADER_KEY: header}, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
