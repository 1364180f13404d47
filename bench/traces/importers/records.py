"""Foreign files as records with their places: CSV with a header, lines of JSON, one JSON array or one JSON object.

Everything is read in bounded memory, gzip unpacked on the way. What the records mean is the formats' business.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from bench.errors import TraceError
from bench.traces.importers import servegen
from bench.traces.importers.json_array import JsonArray
from bench.traces.importers.registry import detect
from bench.traces.importers.rows import Format, Record
from bench.traces.lines import LineError, parse_object
from bench.traces.textfile import MAX_LINE_BYTES, numbered_lines, open_regular, unpacked

MAX_COLUMNS = 1000

Line = tuple[int, bytes, bool]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record stands, for messages."""

    path: Path
    line: int

    def error(self, problem: object) -> TraceError:
        """The error that says what is wrong here."""
        return TraceError(f"trace {self.path} line {self.line}: {problem}")


@dataclass(frozen=True, slots=True)
class Opened:
    """A foreign file that was recognised; `records` can be walked once, while it is open.

    A record that cannot be read is given as the LineError that says why.
    """

    format: Format
    names: tuple[str, ...]
    records: Iterator[tuple[Place, Record | LineError]]


@contextmanager
def open_records(path: Path) -> Iterator[Opened]:
    """The records of the file at `path`; raises TraceError where it is missing or of no known format."""
    if pair := servegen.pair_of(path):
        yield _open_pair(*pair)
        return
    with open_regular(path, advice="fetch the trace first; docs/traces.md says from where") as file:
        yield _recognised(unpacked(file), path)


def _open_pair(trace: Path, dataset: Path) -> Opened:
    try:
        line, path, record = servegen.read_pair(trace, dataset)
    except LineError as error:
        raise TraceError(f"trace {dataset}: {error}") from error
    return Opened(servegen.SERVEGEN, tuple(record), iter([(Place(path, line), record)]))


def _recognised(file: BinaryIO, path: Path) -> Opened:
    lines = numbered_lines(file, path)
    first = next(lines, None)
    if first is None:
        raise TraceError(f"trace {path}: is empty, expected a trace")
    number, raw, _ = first
    if b"\0" in raw:
        raise Place(path, number).error("holds zero bytes; it is a binary file or UTF-16, expected text in UTF-8")
    all_lines = chain([first], lines)
    begins = raw.lstrip()[:1]
    try:
        if begins == b"[":
            return _json(path, _array_elements(all_lines, path), number)
        if begins == b"{":
            return _json(path, _json_lines(first, lines, path), number)
        return _csv(path, all_lines, number)
    except LineError as error:
        raise Place(path, number).error(error) from error


def _json(path: Path, records: Iterator[tuple[Place, Record | LineError]], number: int) -> Opened:
    place, first = next(records, (Place(path, number), LineError("is an empty array, expected requests")))
    if isinstance(first, LineError):
        raise place.error(first)
    return Opened(detect("json", first, first), tuple(first), chain([(place, first)], records))


def _json_lines(first: Line, rest: Iterator[Line], path: Path) -> Iterator[tuple[Place, Record | LineError]]:
    """An object a line; or one object over many lines, which is known by its first line being none."""
    try:
        yield Place(path, first[0]), parse_object(first[1])
    except LineError as error:
        second = next(rest, None)
        if second is None or second[1].lstrip()[:1] == b"{":  # lines of objects, the first one damaged
            raise
        yield Place(path, first[0]), _whole_object([first, second], rest, error)
        return
    for number, raw, cut in rest:
        try:
            yield Place(path, number), parse_object(raw)
        except LineError as error:
            hint = "; the file was cut inside this line, fetch it again" if cut and not raw.endswith(b"}") else ""
            yield Place(path, number), LineError(f"{error}{hint}")


def _whole_object(begun: list[Line], rest: Iterator[Line], error: LineError) -> Record:
    parts, size = [], 0
    for _, raw, _ in chain(begun, rest):
        parts.append(raw)
        size += len(raw) + 1
        if size > MAX_LINE_BYTES:
            raise LineError(f"{error}; and as one object over many lines it is longer than 10 MB")
    return parse_object(b"\n".join(parts))


def _array_elements(lines: Iterator[Line], path: Path) -> Iterator[tuple[Place, Record | LineError]]:
    """The objects of one array, however the lines are broken; little more than one of them is held."""
    array = JsonArray()
    place = Place(path, 1)
    for number, raw, _ in chain(lines, [(0, b"", True)]):
        place = Place(path, number) if number else place
        try:
            for value in array.values_after(raw.decode("utf-8"), at_end=not number):
                yield place, value if isinstance(value, dict) else LineError("holds an element that is no object")
        except UnicodeDecodeError:
            raise place.error("is not UTF-8; it is a binary file, or has another encoding") from None
        except LineError as error:
            raise place.error(error) from error
    if not array.closed:
        raise place.error("the array does not end; the file was cut here, fetch it again")


def _csv(path: Path, lines: Iterator[Line], number: int) -> Opened:
    rows = _csv_rows(lines, path)
    place, header = next(rows)
    if isinstance(header, LineError):
        raise place.error(header)
    names = [name.strip() for name in header]
    if len(names) > MAX_COLUMNS:
        raise place.error(f"has {len(names)} columns, expected at most {MAX_COLUMNS}")
    if len(names) < 2:
        raise place.error("is neither JSON nor a CSV header; see docs/traces.md for the known formats")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise place.error(f"has the column {twice[0][:60]!r} twice")
    return Opened(detect("csv", names, None), tuple(names), _csv_records(rows, names))


def _csv_records(
    rows: Iterator[tuple[Place, list[str] | LineError]], names: list[str]
) -> Iterator[tuple[Place, Record | LineError]]:
    for place, row in rows:
        if isinstance(row, LineError):
            yield place, row
        elif len(row) != len(names):
            yield place, LineError(f"has {len(row)} cells, expected the {len(names)} of the header")
        else:
            yield place, dict(zip(names, row, strict=True))


def _csv_rows(lines: Iterator[Line], path: Path) -> Iterator[tuple[Place, list[str] | LineError]]:
    last = [1]

    def decoded() -> Iterator[str]:
        for number, raw, _ in lines:
            last[0] = number
            try:
                text = raw.decode("utf-8")
            except UnicodeDecodeError:
                raise Place(path, number).error("is not UTF-8; it is a binary file, or has another encoding") from None
            yield text + "\n"

    rows = csv.reader(decoded(), strict=True)
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            raise Place(path, last[0]).error(f"is no CSV ({error})") from None
        yield Place(path, last[0]), row
