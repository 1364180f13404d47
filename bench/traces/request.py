"""One request of a trace and its canonical line, the unit that the digest is made of.

What makes a request possible is judged in `bench.traces.checks`, a whole trace in `bench.traces.model`.
"""

from __future__ import annotations

from dataclasses import dataclass
from json.encoder import encode_basestring_ascii

TIMESTAMP_DECIMALS = 3  # of a millisecond: a µs is finer than any recorded trace


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """A request as a client would send it, and when the client goes away, if it does.

    `timestamp` is in ms from the first request and is rounded to a µs. Lengths are in tokens. `arrival_step` is the
    step before which the request is delivered, `abort_step` the step before whose `schedule()` it is aborted,
    `abort_after` the number of output tokens after which it is aborted; at most one of the two is given.
    `hash_ids` name the leading blocks of the prompt: equal ids are equal tokens. `images` are (place of the first
    token, number of tokens, id of the content) in the prompt. A KV connector offers the first `external_tokens` of the
    prompt, which come beside `load_steps` steps (0: within the step that admits the request), and the block
    `lost_block` of them, from 0, does not come.
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
    images: tuple[tuple[int, int, int], ...] = ()
    external_tokens: int = 0
    lost_block: int | None = None
    load_steps: int = 0

    def __post_init__(self) -> None:
        given = self.timestamp
        rounded = round(float(given), TIMESTAMP_DECIMALS)
        if type(given) is not float or rounded != given:
            object.__setattr__(self, "timestamp", rounded)

    def canonical_line(self) -> str:
        """The one way to write this request: fixed key order, no spaces, defaults left out, no line end."""
        parts = [
            f'{{"timestamp":{timestamp_text(self.timestamp)},"input_length":{self.input_length},'
            f'"output_length":{self.output_length}'
        ]
        if self.hash_ids:
            parts.append(f'"hash_ids":[{",".join(map(str, self.hash_ids))}]')
        parts.append(f'"request_id":{quoted(self.request_id)}')
        if self.arrival_step is not None:
            parts.append(f'"arrival_step":{self.arrival_step}')
        if self.priority:
            parts.append(f'"priority":{self.priority}')
        if self.abort_after is not None:
            parts.append(f'"abort_after":{self.abort_after}')
        if self.abort_step is not None:
            parts.append(f'"abort_step":{self.abort_step}')
        for name in ("lora", "grammar", "session"):
            value = getattr(self, name)
            if value is not None:
                parts.append(f'"{name}":{quoted(value)}')
        if self.images:
            images = ",".join(f"[{place},{length},{content}]" for place, length, content in self.images)
            parts.append(f'"images":[{images}]')
        if self.external_tokens:
            parts.append(f'"external_tokens":{self.external_tokens}')
        if self.lost_block is not None:
            parts.append(f'"lost_block":{self.lost_block}')
        if self.load_steps:
            parts.append(f'"load_steps":{self.load_steps}')
        return ",".join(parts) + "}"


def timestamp_text(timestamp: float) -> str:
    """A time as JSON has it: a whole number without a point, all others as short as they read back the same."""
    return repr(int(timestamp)) if timestamp.is_integer() else repr(timestamp)


def quoted(text: str) -> str:
    """A string as JSON has it, in ASCII."""
    escaped: str = encode_basestring_ascii(text)
    return escaped
