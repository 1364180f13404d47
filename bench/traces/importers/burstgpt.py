"""BurstGPT, with six or eight columns: seconds, not from 0; an answer of no tokens is a failure."""

from __future__ import annotations

from collections.abc import Iterator

from bench.traces.importers.fields import number, output_tokens, value_of, whole, words
from bench.traces.importers.rows import Dropped, Format, Inputs, Reader, Record, Row


def make_reader(inputs: Inputs) -> Reader:
    """One request a record; failed ones are left out unless `min_output` gives them an answer."""

    def read(record: Record) -> Iterator[Row | Dropped]:
        time, prompt = number(record, "Timestamp"), whole(record, "Request tokens", low=0)
        if whole(record, "Response tokens", low=0) == 0 and not inputs.options.min_output:
            yield Dropped("failed_without_response")
        elif prompt == 0:
            yield Dropped("empty_prompt")
        else:
            output, changed = output_tokens(record, "Response tokens", inputs.options)
            session = words(record, "Session ID") if _has(record, "Session ID") else None
            yield Row(time, prompt, output, session=session, changed=changed)

    return read


def _has(record: Record, name: str) -> bool:
    return name in record and value_of(record, name) not in ("", None)


BURSTGPT = Format(
    name="burstgpt",
    what="BurstGPT 1 and 2",
    container="csv",
    keys=("Timestamp", "Request tokens", "Response tokens"),
    time_unit="s",
    make_reader=make_reader,
    used=("Session ID",),
)
