"""The Mooncake family: one request a line, with or without the ids of its prompt's blocks.

Mooncake and AIPerf count ms; vLLM's timed_trace and GuideLLM write the same keys in seconds. With block ids the
unit is taken as ms and checked by the rate, without them it is guessed.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.traces.importers.fields import block_ids, number, output_tokens, whole, words
from bench.traces.importers.rows import Format, Inputs, Reader, Record, Row


def make_reader(inputs: Inputs) -> Reader:
    """One request a record."""

    def read(record: Record) -> Iterator[Row]:
        prompt = whole(record, "input_length")
        output, changed = output_tokens(record, "output_length", inputs.options)
        ids: tuple[int, ...] = ()
        if "hash_ids" in record:
            ids, filled = block_ids(record, "hash_ids", prompt, inputs.block_tokens, inputs.options)
            changed += filled
        session = words(record, "session_id") if "session_id" in record else None
        yield Row(number(record, "timestamp"), prompt, output, ids, session, changed)

    return read


MOONCAKE = Format(
    name="mooncake",
    what="Mooncake and AIPerf; vLLM timed_trace with --time-unit s",
    container="json",
    keys=("timestamp", "input_length", "output_length", "hash_ids"),
    time_unit="ms",
    make_reader=make_reader,
    used=("session_id",),
    fits=lambda record: isinstance(record["hash_ids"], list),
)
TIMED_LENGTHS = Format(
    name="timed-lengths",
    what="Mooncake's keys without block ids, as GuideLLM and others write them",
    container="json",
    keys=("timestamp", "input_length", "output_length"),
    time_unit=None,
    make_reader=make_reader,
    used=("session_id", "hash_ids"),
)
