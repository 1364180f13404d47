"""What a person may say about an import; each default stands here and nowhere else.

What the options do is the business of the stages: reading, `collect`, `shaping` and `needs`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from bench.errors import TraceError, nearest
from bench.options import Scalar
from bench.traces.checks import MAX_REQUESTS, MAX_TOKENS
from bench.traces.model import MAX_KV_TOKENS, MAX_SEED

MS_PER_UNIT = {"s": 1000.0, "ms": 1.0, "us": 0.001, "ns": 1e-6}
AUTO = "auto"
RECORDED = "recorded"
ARRIVALS = (RECORDED, "poisson", "gamma", "even", "at-once")


@dataclass(frozen=True, slots=True)
class ImportOption:
    """How one option is declared; `low` and `high` are inclusive, `choices` are all that a string may be."""

    name: str
    default: Scalar
    meaning: str
    low: float
    high: float
    unit: str
    choices: tuple[str, ...]

    def bounds(self) -> str:
        """The values it may have, with their unit; empty for a flag."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if isinstance(self.default, bool):
            return ""
        low, high = (str(end) if isinstance(end, int) else f"{end:.15g}" for end in (self.low, self.high))
        return f"{low} to {high} {self.unit}".rstrip()

    def help(self) -> str:
        """The line that a command's help shows."""
        bounds = "" if self.choices or not self.bounds() else f" {self.bounds()}."
        return f"{self.meaning[0].upper()}{self.meaning[1:]}.{bounds}"


def _option(
    default: Scalar, meaning: str, low: float = 0, high: float = 0, unit: str = "", choices: tuple[str, ...] = ()
) -> Any:
    return field(
        default=default, metadata={"meaning": meaning, "low": low, "high": high, "unit": unit, "choices": choices}
    )


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Every choice of an import; raises TraceError where one is out of bounds."""

    time_unit: str = _option(AUTO, "unit of the file's times; auto: the format's own", choices=(AUTO, "s", "ms", "us"))
    window_start_s: float = _option(0.0, "drop what comes earlier, from the first request on", 0, 1e9, "s")
    window_end_s: float = _option(0.0, "drop what comes later, from the first request on; 0: keep it", 0, 1e9, "s")
    limit: int = _option(0, "stop reading after so many kept requests; 0: never", 0, MAX_REQUESTS, "requests")
    clock_reset: str = _option(
        "refuse",
        "a clock that falls back by over an hour: refuse the file, join the parts end to end, keep the first part",
        choices=("refuse", "join", "first"),
    )
    rate_scale: float = _option(1.0, "times as many requests a second: times are divided by it", 1e-6, 1e6)
    spread_ms: float = _option(
        0.0, "add a seeded time from 0 to this to each arrival, against times that are rounded", 0, 1e7, "ms"
    )
    arrivals: str = _option(
        RECORDED, "arrival process in place of the file's times; for sessions, of their starts", choices=ARRIVALS
    )
    rate: float = _option(1.0, "requests (sessions) that arrive a second, with an arrival process", 1e-6, 1e6, "1/s")
    burstiness: float = _option(
        1.0,
        "shape of the gamma process: 1 is Poisson, below 1 is burstier (CV of gaps is its root's inverse)",
        0.01,
        100,
    )
    max_think_s: float = _option(0.0, "longest pause between the calls of a session; 0: as recorded", 0, 1e9, "s")
    length_scale: float = _option(1.0, "all lengths, and the tokens of a hash id, times this", 0.001, 100)
    max_context: int = _option(0, "most tokens of prompt and output together; 0: no limit", 0, MAX_TOKENS, "tokens")
    over_context: str = _option(
        "drop", "requests above max_context: drop them, or clip the prompt and its hash ids", choices=("drop", "clip")
    )
    min_output: int = _option(
        0, "raise shorter outputs to this; 0: none, and no output is damage", 0, MAX_TOKENS, "tokens"
    )
    chars_per_token: float = _option(4.0, "length rule where a file holds text and no counts", 0.1, 100, "characters")
    block_tokens: int = _option(0, "prompt tokens that a hash id stands for; 0: the format's own", 0, 65_536, "tokens")
    short_ids: str = _option(
        "refuse", "too few hash ids: refuse the file, or fill the prompt with unique tokens", choices=("refuse", "fill")
    )
    drop_damaged: bool = _option(False, "drop and count damaged rows; without it the first one ends the import")
    step_ms: float = _option(10.0, "time a step is taken to last, to deliver requests by step", 0.001, 60_000, "ms")
    seed: int = _option(1, "seed of the spread, the arrival process, generated requests and prompt tokens", 0, MAX_SEED)
    max_num_seqs: int = _option(256, "RUNNING slots that the trace asks for", 1, 100_000, "requests")
    max_num_batched_tokens: int = _option(8192, "tokens a step that the trace asks for", 1, MAX_TOKENS, "tokens")
    kv_tokens: int = _option(
        0, "KV cache that the trace asks for; 0: room for all that run together", 0, MAX_KV_TOKENS, "tokens"
    )
    num_running: int = _option(0, "usual length of RUNNING; 0: estimated from the arrivals", 0, 100_000, "requests")

    def __post_init__(self) -> None:
        for option in describe_import_options():
            if problem := _problem(option, getattr(self, option.name)):
                raise TraceError(f"import option {option.name} is {getattr(self, option.name)!r}{problem}")
        if 0 < self.window_end_s <= self.window_start_s:
            raise TraceError(
                f"import option window_end_s is {self.window_end_s:.15g}, expected > window_start_s, "
                f"which is {self.window_start_s:.15g}"
            )
        if self.max_context == 1:
            raise TraceError("import option max_context is 1, expected ≥ 2: prompt and output have a token each")
        if self.max_num_batched_tokens < self.max_num_seqs:
            raise TraceError(
                f"import option max_num_batched_tokens is {self.max_num_batched_tokens}, expected ≥ max_num_seqs, "
                f"which is {self.max_num_seqs}; vLLM refuses less"
            )

    def said(self) -> dict[str, Scalar]:
        """The options that differ from their defaults, for the trace's header."""
        return {
            option.name: getattr(self, option.name)
            for option in describe_import_options()
            if getattr(self, option.name) != option.default
        }


def scaled(tokens: int, options: ImportOptions) -> int:
    """`tokens` times the length scale, at least 1."""
    return max(1, round(tokens * options.length_scale))


def describe_import_options() -> Iterator[ImportOption]:
    """Every option of an import, in order of declaration, for docs and help."""
    for each in fields(ImportOptions):
        default: Any = each.default
        yield ImportOption(name=each.name, default=default, **each.metadata)


def _problem(option: ImportOption, value: Scalar) -> str | None:
    if option.choices:
        return None if value in option.choices else nearest(str(value), option.choices)
    if isinstance(value, str | bool) or isinstance(option.default, bool):
        return None
    if not option.low <= value <= option.high:  # true for NaN too
        return f", expected {option.bounds()}"
    return None
