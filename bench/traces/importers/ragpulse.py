"""RAGPulse: seconds as text, and for each part of a prompt the ids of the texts it is made of.

The texts have lengths of their own, which stand in other tables: with them a prompt is cut into blocks of equal
size whose ids are equal where their tokens are; without them nothing is known to be shared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from bench.errors import TraceError
from bench.traces.importers.fields import ids, number, output_tokens, value_of, whole, words
from bench.traces.importers.rows import Format, Inputs, Reader, Record, Row
from bench.traces.lines import LineError, parse_object
from bench.traces.textfile import numbered_lines, open_regular, unpacked

BLOCK_TOKENS = 16
PARTS = {  # as a request names them → as their table does; prompts are put together in this order
    "sys_prompt": "sys_prompt_id",
    "passages_ids": "passage_id",
    "history": "history_id",
    "web_search": "web_search_id",
    "user_input": "user_input_id",
}
MAX_TABLE_ROWS = 2_000_000

Lengths = Mapping[tuple[str, int], int]
_Piece = tuple[str, int, int, int]  # (part, id, first token, tokens) of one text within a block


def make_reader(inputs: Inputs) -> Reader:
    """One request a record."""
    block_of: dict[tuple[_Piece, ...], int] = {}

    def read(record: Record) -> Iterator[Row]:
        prompt = whole(record, "input_length")
        output, changed = output_tokens(record, "output_length", inputs.options)
        texts = _texts(value_of(record, "hash_ids"))
        blocks: tuple[int, ...] = ()
        if inputs.component_lengths is None:
            changed += ("ids_without_lengths",)
        else:
            pieces = _blocks(texts, inputs.component_lengths, prompt, inputs.block_tokens)
            blocks = tuple(block_of.setdefault(piece, len(block_of)) for piece in pieces)
        session = words(record, "session_id") if "session_id" in record else None
        yield Row(number(record, "timestamp"), prompt, output, blocks, session, changed)

    return read


def read_component_lengths(path: Path) -> dict[tuple[str, int], int]:
    """Tokens by (name of the table's id, id); raises TraceError."""
    lengths: dict[tuple[str, int], int] = {}
    with open_regular(path, advice="pass RAGPulse's tables of token lengths as JSON Lines") as file:
        for line, raw, _ in numbered_lines(unpacked(file), path):
            try:
                record = parse_object(raw)
                name = next((key for key in PARTS.values() if key in record), None)
                if name is None:
                    raise LineError(f"has none of the keys {', '.join(PARTS.values())}")
                lengths[name, whole(record, name, low=0, high=2**63 - 1)] = whole(record, "token_length", low=0)
            except LineError as error:
                raise TraceError(f"trace {path} line {line}: {error}") from error
            if len(lengths) > MAX_TABLE_ROWS:
                raise TraceError(f"trace {path} line {line}: holds more than {MAX_TABLE_ROWS} lengths")
    return lengths


def _texts(value: object) -> list[tuple[str, int]]:
    if not isinstance(value, dict):
        raise LineError("hash_ids is no object, expected an array of ids for each part of the prompt")
    for name in value:
        if name not in PARTS:
            raise LineError(f"hash_ids has the unknown part {name[:64]!r}, expected {', '.join(PARTS)}")
    return [(PARTS[name], each) for name in PARTS if name in value for each in ids(value[name], f"hash_ids.{name}")]


def _blocks(
    texts: list[tuple[str, int]], lengths: Lengths, prompt: int, block_tokens: int
) -> Iterator[tuple[_Piece, ...]]:
    """What each whole block of the prompt is made of; a last part, and what joins the texts, is unique."""
    block: list[_Piece] = []
    free, left = block_tokens, prompt // block_tokens * block_tokens
    for name, each in texts:
        if (name, each) not in lengths:
            raise LineError(f"{name} {each} has no token_length in the table of lengths")
        length, start = lengths[name, each], 0
        while start < length and left:
            taken = min(length - start, free)
            block.append((name, each, start, taken))
            start, free, left = start + taken, free - taken, left - taken
            if free == 0:
                yield tuple(block)
                block, free = [], block_tokens


RAGPULSE = Format(
    name="ragpulse",
    what="RAGPulse; --component-lengths names its tables",
    container="json",
    keys=("timestamp", "input_length", "output_length", "hash_ids"),
    time_unit="s",
    make_reader=make_reader,
    block_tokens=BLOCK_TOKENS,
    used=("session_id",),
    fits=lambda record: isinstance(record["hash_ids"], dict),
)
