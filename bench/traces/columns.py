"""Requests as columns, so that millions of them are shaped, and digested, in arrays.

`bench.traces.model` holds the same requests one by one, checked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.traces.request import TIMESTAMP_DECIMALS, quoted, timestamp_text

Floats = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]


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

    def canonical_text(self, arrival_steps: Wholes, chunk: int = 50_000) -> Iterator[str]:
        """The canonical lines of these requests, named by their places, many at once; each ends in a newline."""
        times = self.times_ms.round(TIMESTAMP_DECIMALS)
        for start in range(0, len(self), chunk):
            part = slice(start, start + chunk)
            rows = zip(
                times[part].tolist(),
                self.inputs[part].tolist(),
                self.outputs[part].tolist(),
                self.hash_ids[part],
                arrival_steps[part].tolist(),
                self.sessions[part],
                strict=True,
            )
            yield "".join(
                f'{{"timestamp":{timestamp_text(time)},"input_length":{prompt},"output_length":{output}{_ids(ids)},'
                f'"request_id":"{request_id(number)}","arrival_step":{step}{_session(session)}}}\n'
                for number, (time, prompt, output, ids, step, session) in enumerate(rows, start)
            )

    def digest(self, arrival_steps: Wholes) -> str:
        """The digest of the trace that these requests make, without making it."""
        digest = hashlib.sha256()
        for text in self.canonical_text(arrival_steps):
            digest.update(text.encode("ascii"))
        return digest.hexdigest()


def request_id(number: int) -> str:
    """The id of the request that arrives as `number`, from 0; ids sort in order of arrival."""
    return f"r{number:07d}"


def _ids(hash_ids: tuple[int, ...]) -> str:
    return f',"hash_ids":[{",".join(map(str, hash_ids))}]' if hash_ids else ""


def _session(session: str | None) -> str:
    return "" if session is None else f',"session":{quoted(session)}'
