"""Azure's LLM inference traces of 2023, 2024 and 2025: wall clock, prompt and output tokens.

Any number of decimals up to nanoseconds, with or without a zone; without one it is taken as UTC.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from bench.traces.checks import shown
from bench.traces.importers.fields import output_tokens, value_of, whole
from bench.traces.importers.rows import Format, Inputs, Reader, Record, Row
from bench.traces.lines import LineError

_CLOCK = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))? ?(?:Z|([+-])(\d\d):?(\d\d))?", re.ASCII
)
_NS = 10**9


def make_reader(inputs: Inputs) -> Reader:
    """One request a record; times are ns since the year 1."""

    def read(record: Record) -> Iterator[Row]:
        output, changed = output_tokens(record, "GeneratedTokens", inputs.options)
        time_ns = wall_clock_ns(value_of(record, "TIMESTAMP"), "TIMESTAMP")
        yield Row(time_ns, whole(record, "ContextTokens"), output, changed=changed)

    return read


def wall_clock_ns(value: object, name: str) -> int:
    """A date with a time in ns since the year 1, UTC; raises LineError."""
    found = _CLOCK.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise LineError(f"{name} is {shown(value)}, expected a date and time such as 2023-11-16 18:15:46.6805900")
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    fraction, sign, zone_hours, zone_minutes = found.groups()[6:]
    try:
        days = date(year, month, day).toordinal()
    except ValueError as error:
        raise LineError(f"{name} is {shown(value)}: {error}") from None
    if hour > 23 or minute > 59 or second > 59:
        raise LineError(f"{name} is {shown(value)}: no such time of day")
    shift = (int(zone_hours) * 60 + int(zone_minutes)) * (1 if sign == "+" else -1) if sign else 0
    seconds = ((days * 24 + hour) * 60 + minute - shift) * 60 + second
    return seconds * _NS + int((fraction or "").ljust(9, "0"))


AZURE = Format(
    name="azure",
    what="Azure LLM inference traces 2023, 2024 and multimodal 2025",
    container="csv",
    keys=("TIMESTAMP", "ContextTokens", "GeneratedTokens"),
    time_unit="ns",
    make_reader=make_reader,
    clock="shared",
)
