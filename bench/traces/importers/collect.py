"""Rows of foreign files become columns on one clock: unit, falls of the clock, window and limit.

Rows are taken one by one and only what is kept is held, so a file may be far larger than memory.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

import numpy as np

from bench.errors import TraceError
from bench.traces.checks import MAX_REQUESTS, MAX_TIMESTAMP_MS
from bench.traces.columns import Columns
from bench.traces.importers.options import MS_PER_UNIT, ImportOptions, scaled
from bench.traces.importers.records import Opened, Place, open_records
from bench.traces.importers.rows import Dropped, Format, Inputs, Reader, Row, Tally
from bench.traces.importers.time_unit import time_unit
from bench.traces.lines import LineError

FALL_MS = 3_600_000.0  # an hour: a larger step back is another recording, a smaller one rows out of order
MAX_HASH_IDS = 20_000_000  # in all: about 1 GB as numbers
MAX_EXAMPLES = 3  # damaged rows that are told in full
PROBED_ROWS = 1000  # by these the unit is guessed or doubted


@dataclass(slots=True)
class Collected:
    """What was read: the columns on a clock of ms, how it was counted, and what to tell."""

    format: Format
    block_tokens: int
    time_unit: str
    columns: Columns
    tally: Tally
    notes: list[str] = field(default_factory=list)


Placed = tuple[Place, Row | Dropped | LineError]


def collect_rows(
    paths: Sequence[Path], options: ImportOptions, lengths: dict[tuple[str, int], int] | None
) -> Collected:
    """The requests of the files at `paths` in the order they stand there; raises TraceError."""
    with ExitStack() as stack:
        opened = [stack.enter_context(open_records(path)) for path in paths]
        format = _one_format(opened, paths, options)
        block_tokens = options.block_tokens or format.block_tokens
        reader = format.make_reader(Inputs(options, block_tokens, lengths))
        rows = chain.from_iterable(_rows(each, reader) for each in opened)
        probed = list(islice(rows, PROBED_ROWS))
        unit, notes = time_unit(format, options, [row for _, row in probed if isinstance(row, Row)], paths[0])
        collector = _Collector(format, options, MS_PER_UNIT[unit])
        for place, row in chain(probed, rows):
            if not collector.take(place, row):
                notes.append(f"stopped reading at {place.path.name} line {place.line}: the limit was reached")
                break
        notes += collector.notes + _unused(opened[0])
    if not len(collector.times):
        dropped = ", ".join(f"{reason} {count}" for reason, count in sorted(collector.tally.dropped.items()))
        raise TraceError(
            f"trace {paths[0]}: no request is left of {collector.tally.read}; dropped: {dropped or 'none'}"
        )
    return Collected(format, block_tokens, unit, collector.columns(), collector.tally, notes)


def _one_format(opened: list[Opened], paths: Sequence[Path], options: ImportOptions) -> Format:
    format = opened[0].format
    for each, path in zip(opened, paths, strict=True):
        if each.format is not format:
            raise TraceError(f"trace {path}: is {each.format.name}, expected {format.name} as {paths[0].name}")
    if len(opened) > 1 and format.clock not in ("shared", "session", "drawn"):
        raise TraceError(f"trace {paths[1]}: {format.name} files have each a clock of their own; import one at a time")
    if format.clock == "none" and options.arrivals == "recorded":
        raise TraceError(
            f"trace {paths[0]}: {format.name} files have no times; pass --arrivals poisson (or gamma, even, at-once)"
        )
    return format


def _rows(opened: Opened, reader: Reader) -> Iterator[Placed]:
    for place, record in opened.records:
        if isinstance(record, LineError):
            yield place, record
            continue
        try:
            for row in reader(record):
                yield place, row
        except LineError as error:
            yield place, error


def _unused(opened: Opened) -> list[str]:
    used = {*opened.format.keys, *opened.format.used}
    unused = [name for name in opened.names if name not in used]
    return [f"not used: {', '.join(unused)}"[:200]] if unused else []


class _Collector:
    """Takes rows in file order and keeps those that pass."""

    def __init__(self, format: Format, options: ImportOptions, ms_per_unit: float) -> None:
        self.tally = Tally()
        self.notes: list[str] = []
        self.times = array("d")
        self._inputs, self._outputs = array("q"), array("q")
        self._hash_ids: list[tuple[int, ...]] = []
        self._sessions: list[str | None] = []
        self._num_hash_ids = 0
        self._options = options
        self._ms_per_unit = ms_per_unit
        self._checks_clock = format.clock in ("own", "shared")
        self._base: float | None = 0.0 if format.clock == "session" else None
        self._path: Path | None = None
        self._shift_ms = 0.0
        self._last_ms: float | None = None
        self._fell = False

    def take(self, place: Place, row: Row | Dropped | LineError) -> bool:
        """Count `row` and keep it where it shall be; False once the limit is reached."""
        self.tally.read += 1
        if isinstance(row, LineError):
            self._drop_damaged(place, row)
        elif isinstance(row, Dropped):
            self.tally.dropped[row.reason] += 1
        elif reason := self._reason_to_drop(place, row, time_ms := self._clock(place, row)):
            self.tally.dropped[reason] += 1
        else:
            self._keep(place, row, time_ms)
        return not 0 < self._options.limit <= len(self.times)

    def columns(self) -> Columns:
        """What was kept, in file order."""
        return Columns(
            times_ms=np.frombuffer(self.times, dtype=np.float64),
            inputs=np.frombuffer(self._inputs, dtype=np.int64),
            outputs=np.frombuffer(self._outputs, dtype=np.int64),
            hash_ids=self._hash_ids,
            sessions=self._sessions,
        )

    def _drop_damaged(self, place: Place, error: LineError) -> None:
        if not self._options.drop_damaged:
            raise place.error(f"{error}; drop the line, or --drop-damaged drops and counts all such")
        self.tally.dropped["damaged"] += 1
        if self.tally.dropped["damaged"] <= MAX_EXAMPLES:
            self.notes.append(f"damaged: {place.path.name} line {place.line}: {error}")

    def _clock(self, place: Place, row: Row) -> float:
        """Its time in ms from the first request, with the parts of a clock that fell back joined."""
        if row.time is None:
            return 0.0
        if self._base is None:
            self._base = row.time
        time_ms = (row.time - self._base) * self._ms_per_unit + self._shift_ms
        if abs(time_ms) > MAX_TIMESTAMP_MS:
            raise place.error(
                f"is {time_ms / 1000:.6g} s after the first request, expected ≤ {MAX_TIMESTAMP_MS / 1000:.6g}"
            )
        if not self._checks_clock or self._fell:
            return time_ms
        if place.path != self._path:  # another file on the same clock begins where it will
            self._path, self._last_ms = place.path, None
        last_ms = time_ms if self._last_ms is None else self._last_ms
        if time_ms < last_ms - FALL_MS:
            time_ms = self._fall(place, time_ms, last_ms)
        elif time_ms < last_ms:
            self.tally.changed["moved_into_order"] += 1
        self._last_ms = max(last_ms, time_ms)
        return time_ms

    def _fall(self, place: Place, time_ms: float, last_ms: float) -> float:
        back_s = (last_ms - time_ms) / 1000
        match self._options.clock_reset:
            case "join":
                self._shift_ms += last_ms - time_ms
                self.notes.append(f"clock fell back {back_s:.15g} s at line {place.line}; the parts are joined")
                return last_ms
            case "first":
                self._fell = True
                self.notes.append(f"clock fell back {back_s:.15g} s at line {place.line}; the rest is left out")
                return time_ms
        raise place.error(
            f"the clock goes back by {back_s:.15g} s; "
            "pass --clock-reset join (parts end to end) or first (the first part)"
        )

    def _reason_to_drop(self, place: Place, row: Row, time_ms: float) -> str | None:
        if self._fell:
            return "after_clock_reset"
        start_s, end_s = self._options.window_start_s, self._options.window_end_s
        if (start_s and time_ms < 1000 * start_s) or (end_s and time_ms >= 1000 * end_s):
            return "outside_window"
        if self._options.max_context and self._options.over_context == "drop":
            total = scaled(row.input_length, self._options) + scaled(row.output_length, self._options)
            if total > self._options.max_context:
                return "over_max_context"
        if len(self.times) == MAX_REQUESTS:
            raise place.error(f"is one request more than {MAX_REQUESTS}; pass --window-end-s or --limit")
        return None

    def _keep(self, place: Place, row: Row, time_ms: float) -> None:
        self._num_hash_ids += len(row.hash_ids)
        if self._num_hash_ids > MAX_HASH_IDS:
            raise place.error(f"brings the hash ids to more than {MAX_HASH_IDS}; pass --window-end-s or --limit")
        self.tally.changed.update(row.changed)
        self.times.append(time_ms)
        self._inputs.append(row.input_length)
        self._outputs.append(row.output_length)
        self._hash_ids.append(row.hash_ids)
        self._sessions.append(row.session)
