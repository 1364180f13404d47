"""A file of step readings that grows while a server runs, and is read between two replays.

Binary rows after one line of JSON, because the engine writes one in every step; no vLLM is needed to read it.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.errors import MeasureError

BYTES_A_FIELD = 8


class StepLogWriter:
    """Appends rows of whole numbers, one `write` a row: what was written stays when the process is killed."""

    def __init__(self, path: Path, fields: Sequence[str], facts: Mapping[str, Any]) -> None:
        self._row = struct.Struct(f"<{len(fields)}q")
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o644)
        os.write(self._file, json.dumps({"fields": list(fields), "facts": dict(facts)}).encode() + b"\n")

    def append(self, row: Sequence[int]) -> None:
        """Write one row, in the order of the fields."""
        os.write(self._file, self._row.pack(*row))


@dataclass(frozen=True)
class StepLog:
    """What a server has written so far: `rows` is (num_steps, len(fields)) int64; `facts` are the engine's own."""

    fields: tuple[str, ...]
    facts: Mapping[str, Any]
    rows: NDArray[np.int64]

    def field(self, name: str) -> NDArray[np.int64]:
        """One field by step, (num_steps,)."""
        return self.rows[:, self.fields.index(name)]

    def between(self, began_ns: int, ended_ns: int) -> StepLog:
        """The steps that began in this stretch of the monotonic clock."""
        began = self.field("began_ns")
        return StepLog(self.fields, self.facts, self.rows[(began >= began_ns) & (began < ended_ns)])


def read_step_log(path: Path) -> StepLog:
    """The whole rows in `path`, a last half one left out; raises MeasureError where there is no log."""
    try:
        head, newline, body = path.read_bytes().partition(b"\n")
        header = json.loads(head) if newline else None
    except (OSError, ValueError) as error:
        raise MeasureError(f"{path.name}: the server wrote no readable step log ({error})") from error
    if header is None:
        raise MeasureError(f"{path.name}: the server wrote no step; its scheduler was never built")
    fields = tuple(header["fields"])
    whole = len(body) // (BYTES_A_FIELD * len(fields)) * len(fields)
    rows = np.frombuffer(body, dtype="<i8", count=whole).astype(np.int64).reshape(-1, len(fields))
    return StepLog(fields, header["facts"], rows)
