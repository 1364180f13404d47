"""Requests as columns, so that millions of them are shaped, and digested, in arrays.

`bench.traces.model` holds the same requests one by one, checked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bench.traces.request import TIMESTAMP_DECIMALS, quoted, timestamp_text

ID_PREFIX, ID_DIGITS = "r", 7

Floats = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]
_FRACTIONS = pa.array([timestamp_text(micro / 10**TIMESTAMP_DECIMALS)[1:] for micro in range(10**TIMESTAMP_DECIMALS)])
"""What follows the whole milliseconds, by microsecond: nothing for 0, `.5` for 500."""


@dataclass(frozen=True, slots=True)
class Columns:
    """One place a request in each: times in ms, lengths in tokens, ids of the prompt's blocks, session or None."""

    times_ms: Floats
    inputs: Wholes
    outputs: Wholes
    hash_ids: Sequence[tuple[int, ...]]
    sessions: Sequence[str | None]

    def __len__(self) -> int:
        return len(self.times_ms)

    def taken(self, places: npt.NDArray[np.intp]) -> Columns:
        """The requests at `places`, in that order."""
        listed = places.tolist()
        return Columns(
            self.times_ms[places],
            self.inputs[places],
            self.outputs[places],
            [self.hash_ids[place] for place in listed],
            [self.sessions[place] for place in listed],
        )

    def canonical_lines(self, arrival_steps: Wholes, chunk: int = 50_000) -> Iterator[bytes]:
        """The canonical lines of these requests, named by their places, many at once; each ends in a newline.

        Times have to be from 0 to `MAX_TIMESTAMP_MS`, as a trace's are.
        """
        for start in range(0, len(self), chunk):
            part = slice(start, start + chunk)
            rounded = [round(time, TIMESTAMP_DECIMALS) for time in self.times_ms[part].tolist()]  # as a request's is
            microseconds = np.rint(np.array(rounded) * 10**TIMESTAMP_DECIMALS).astype(np.int64)
            whole, rest = np.divmod(microseconds, 10**TIMESTAMP_DECIMALS)
            lines = pc.binary_join_element_wise(
                '{"timestamp":',
                _texts(whole),
                _FRACTIONS.take(pa.array(rest)),
                ',"input_length":',
                _texts(self.inputs[part]),
                ',"output_length":',
                _texts(self.outputs[part]),
                pa.array([_ids(ids) for ids in self.hash_ids[part]]),
                f',"request_id":"{ID_PREFIX}',
                pc.utf8_lpad(_texts(np.arange(start, start + len(whole))), ID_DIGITS, "0"),
                '","arrival_step":',
                _texts(arrival_steps[part]),
                pa.array([_session(session) for session in self.sessions[part]]),
                "}\n",
                "",
            )
            yield lines.buffers()[2].to_pybytes()

    def digest(self, arrival_steps: Wholes, file: BinaryIO | None = None) -> str:
        """The digest of the trace that these requests make, without making it; its lines go to `file` on the way."""
        digest = hashlib.sha256()
        for lines in self.canonical_lines(arrival_steps):
            digest.update(lines)
            if file is not None:
                file.write(lines)
        return digest.hexdigest()


def request_id(number: int) -> str:
    """The id of the request that arrives as `number`, from 0; ids sort in order of arrival."""
    return f"{ID_PREFIX}{number:0{ID_DIGITS}d}"


def _texts(numbers: Wholes) -> pa.StringArray:
    return pa.array(numbers).cast(pa.string())


def _ids(hash_ids: tuple[int, ...]) -> str:
    return f',"hash_ids":[{",".join(map(str, hash_ids))}]' if hash_ids else ""


def _session(session: str | None) -> str:
    return "" if session is None else f',"session":{quoted(session)}'
