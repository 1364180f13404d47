"""SplitwiseSim's request files: seconds, prompt and output tokens."""

from __future__ import annotations

from collections.abc import Iterator

from bench.traces.importers.fields import number, output_tokens, whole
from bench.traces.importers.rows import Format, Inputs, Reader, Record, Row


def make_reader(inputs: Inputs) -> Reader:
    """One request a record."""

    def read(record: Record) -> Iterator[Row]:
        output, changed = output_tokens(record, "token_size", inputs.options)
        yield Row(number(record, "arrival_timestamp"), whole(record, "prompt_size"), output, changed=changed)

    return read


SPLITWISE_SIM = Format(
    name="splitwise-sim",
    what="SplitwiseSim",
    container="csv",
    keys=("arrival_timestamp", "prompt_size", "token_size"),
    time_unit="s",
    make_reader=make_reader,
)
