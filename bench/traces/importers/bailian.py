"""Bailian's anonymised chats: seconds, block ids of 16 tokens, and a parent for each turn after the first.

`input_length` already holds the history, so nothing is added for earlier turns.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.traces.importers.fields import block_ids, number, output_tokens, value_of, whole
from bench.traces.importers.rows import Format, Inputs, Reader, Record, Row

NO_PARENT = -1


def make_reader(inputs: Inputs) -> Reader:
    """One request a record; its session is the first chat of its chain, as far as the file holds it."""
    first_chat: dict[int, int] = {}

    def read(record: Record) -> Iterator[Row]:
        prompt = whole(record, "input_length")
        output, changed = output_tokens(record, "output_length", inputs.options)
        ids: tuple[int, ...] = ()
        if "hash_ids" in record:
            ids, filled = block_ids(record, "hash_ids", prompt, inputs.block_tokens, inputs.options)
            changed += filled
        chat = whole(record, "chat_id", low=0, high=2**63 - 1)
        parent = NO_PARENT
        if value_of(record, "parent_chat_id") is not None:
            parent = whole(record, "parent_chat_id", low=NO_PARENT, high=2**63 - 1)
        first = chat if parent == NO_PARENT else first_chat.get(parent, parent)
        first_chat[chat] = first
        yield Row(number(record, "timestamp"), prompt, output, ids, f"chat-{first}", changed)

    return read


BAILIAN = Format(
    name="bailian",
    what="Bailian (Qwen) usage traces",
    container="json",
    keys=("chat_id", "parent_chat_id", "timestamp", "input_length", "output_length"),
    time_unit="s",
    make_reader=make_reader,
    block_tokens=16,
    used=("hash_ids",),
)
