"""One request of a trace and its canonical line, the unit that the digest is made of.

What makes a request possible is judged in `bench.traces.checks`, a whole trace in `bench.traces.model`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

TIMESTAMP_DECIMALS = 3  # of a millisecond: a µs is finer than any recorded trace


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """A request as a client would send it, and when the client goes away, if it does.

    `timestamp` is in ms from the first request and is rounded to a µs. Lengths are in tokens. `arrival_step` is the
    step before which the request is delivered, `abort_step` the step before whose `schedule()` it is aborted,
    `abort_after` the number of output tokens after which it is aborted; at most one of the two is given.
    `hash_ids` name the leading blocks of the prompt: equal ids are equal tokens.
    """

    request_id: str
    timestamp: float
    input_length: int
    output_length: int
    hash_ids: tuple[int, ...] = ()
    arrival_step: int | None = None
    priority: int = 0
    abort_after: int | None = None
    abort_step: int | None = None
    lora: str | None = None
    grammar: str | None = None
    session: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "timestamp", round(float(self.timestamp), TIMESTAMP_DECIMALS))

    def canonical_line(self) -> str:
        """The one way to write this request: fixed key order, no spaces, defaults left out, no line end."""
        whole = self.timestamp.is_integer()
        record: dict[str, object] = {
            "timestamp": int(self.timestamp) if whole else self.timestamp,
            "input_length": self.input_length,
            "output_length": self.output_length,
        }
        if self.hash_ids:
            record["hash_ids"] = self.hash_ids
        record["request_id"] = self.request_id
        if self.arrival_step is not None:
            record["arrival_step"] = self.arrival_step
        if self.priority:
            record["priority"] = self.priority
        for name in ("abort_after", "abort_step", "lora", "grammar", "session"):
            value = getattr(self, name)
            if value is not None:
                record[name] = value
        return json.dumps(record, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
