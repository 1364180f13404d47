"""Vidur's processed traces: seconds, prompt and output tokens; some files have lengths only."""

from __future__ import annotations

from collections.abc import Iterator

from bench.traces.importers.fields import number, output_tokens, whole
from bench.traces.importers.rows import Format, Inputs, Reader, Record, Row


def make_reader(inputs: Inputs) -> Reader:
    """One request a record."""

    def read(record: Record) -> Iterator[Row]:
        time = number(record, "arrived_at") if "arrived_at" in record else None
        output, changed = output_tokens(record, "num_decode_tokens", inputs.options)
        yield Row(time, whole(record, "num_prefill_tokens"), output, changed=changed)

    return read


VIDUR = Format(
    name="vidur",
    what="Vidur's processed traces with arrival times",
    container="csv",
    keys=("arrived_at", "num_prefill_tokens", "num_decode_tokens"),
    time_unit="s",
    make_reader=make_reader,
)
VIDUR_LENGTHS = Format(
    name="vidur-lengths",
    what="Vidur's length files, which have no times",
    container="csv",
    keys=("num_prefill_tokens", "num_decode_tokens"),
    time_unit="s",
    make_reader=make_reader,
    clock="none",
)
