"""What a reader of a foreign format gives: rows, what it left out, and what it changed.

A reader knows its format and nothing of files; `bench.traces.importers.collect` adds file, line and clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from bench.traces.importers.options import ImportOptions
from bench.traces.model import MOONCAKE_BLOCK_TOKENS


@dataclass(frozen=True, slots=True)
class Row:
    """One request as recorded; `time` in the file's unit, None where it has none; `changed` are reasons to count."""

    time: float | None
    input_length: int
    output_length: int
    hash_ids: tuple[int, ...] = ()
    session: str | None = None
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dropped:
    """One request that is left out, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a reader may need beside its records."""

    options: ImportOptions
    block_tokens: int
    component_lengths: Mapping[tuple[str, int], int] | None = None


Record = Mapping[str, Any]
Reader = Callable[[Record], Iterable[Row | Dropped]]
"""Turns one record into the requests in it; raises LineError, without file and line, where it is damaged."""


@dataclass(frozen=True, slots=True)
class Format:
    """A foreign format: `keys` are the columns or keys that every record has, by which it is known.

    `time_unit` is "s", "ms" or "ns"; None where it must be guessed. `clock` says what the times mean: `shared` by
    several files, `own` to the file, `session` from the start of each session, `drawn` by client after client, or
    `none` where a file has no times.
    """

    name: str
    what: str
    container: Literal["csv", "json"]
    keys: tuple[str, ...]
    time_unit: str | None
    make_reader: Callable[[Inputs], Reader]
    clock: Literal["shared", "own", "session", "drawn", "none"] = "own"
    block_tokens: int = MOONCAKE_BLOCK_TOKENS
    used: tuple[str, ...] = ()
    fits: Callable[[Record], bool] = field(default=lambda record: True)


@dataclass(slots=True)
class Tally:
    """Counts of an import; rows read = kept + dropped, by reason."""

    read: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)

    @property
    def kept(self) -> int:
        """Rows that are in the trace."""
        return self.read - self.dropped.total()
