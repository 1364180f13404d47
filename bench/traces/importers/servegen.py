"""ServeGen: no list of requests but a generator, one client at a time, sampled here with a declared seed.

A client has a rate and an arrival pattern for each window of time, and the distributions of its lengths. The raw
form is two files, `…trace.csv` without a header and `…dataset.json`, whose distributions are strings that hold
Python dicts: they are parsed as literals and never evaluated.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.traces.checks import MAX_REQUESTS, MAX_TOKENS, shown
from bench.traces.importers.fields import number, value_of, whole, words
from bench.traces.importers.rows import Format, Inputs, Reader, Record, Row
from bench.traces.lines import LineError, parse_object
from bench.traces.textfile import numbered_lines, open_regular, unpacked

TRACE_END, DATASET_END = "trace.csv", "dataset.json"
MAX_LITERAL = 1_000_000  # characters: about 40,000 entries, and well below what the parser needs memory for
MAX_WINDOWS = 100_000
USUAL_WINDOW_S = 600.0
PATTERNS = ("Gamma", "Weibull", "Exponential")

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Window:
    """From `start_s` to `end_s` requests come at `rate` a second."""

    start_s: float
    end_s: float
    rate: float
    pattern: str
    shape: float
    scale: float


@dataclass(frozen=True, slots=True)
class _Lengths:
    """A distribution of lengths: values and the cumulated shares up to each, ending in 1."""

    values: npt.NDArray[np.int64]
    cumulated: Floats

    def draw(self, rng: np.random.Generator, count: int) -> list[int]:
        drawn: list[int] = self.values[np.searchsorted(self.cumulated, rng.random(count), side="right")].tolist()
        return drawn


def make_reader(inputs: Inputs) -> Reader:
    """A record is a client; its requests are drawn window by window, in seconds of the trace's own clock."""

    def read(record: Record) -> Iterator[Row]:
        client = words(record, "client_id")
        rng = _generator(inputs.options.seed, client)
        datasets = _datasets(record)
        for window in _windows(value_of(record, "windows")):
            if window.rate == 0:
                continue
            times = _arrivals(window, rng)
            prompts, outputs = (lengths.draw(rng, len(times)) for lengths in _dataset_at(datasets, window.start_s))
            for time, prompt, output in zip(times.tolist(), prompts, outputs, strict=True):
                raised = max(output, inputs.options.min_output)
                changed = ("drawn", "output_raised") if raised > output else ("drawn",)
                yield Row(time, prompt, raised, changed=changed)

    return read


def pair_of(path: Path) -> tuple[Path, Path] | None:
    """(trace, dataset) where `path` is one of ServeGen's two files and the other lies beside it."""
    for end, other in ((TRACE_END, DATASET_END), (DATASET_END, TRACE_END)):
        beside = path.with_name(path.name.removesuffix(end) + other)
        if path.name.endswith(end) and beside.is_file():
            return (path, beside) if end == TRACE_END else (beside, path)
    return None


def read_pair(trace: Path, dataset: Path) -> tuple[int, Path, Record]:
    """(line, file, record) of one client, in the form that the reader takes; raises LineError or TraceError."""
    windows = []
    with open_regular(trace, advice="it lies beside its dataset") as file:
        for _, raw, _ in numbered_lines(unpacked(file), trace):
            windows.append(raw.decode("ascii", errors="replace").split(","))
            if len(windows) > MAX_WINDOWS:
                raise LineError(f"has more than {MAX_WINDOWS} windows")
    with open_regular(dataset, advice="it lies beside its trace") as file:
        text = b"\n".join(raw for _, raw, _ in numbered_lines(unpacked(file), dataset))
    client = trace.name.removesuffix(TRACE_END).rstrip("-_.") or trace.name
    return 1, trace, {"client_id": client, "windows": windows, "datasets": parse_object(text)}


def _datasets(record: Record) -> dict[float, tuple[_Lengths | None, _Lengths | None]]:
    """(prompt, output) lengths by the second from which on they hold; None where nothing was seen."""
    if "datasets" not in record:
        return {0.0: (_lengths(record, "input_tokens"), _lengths(record, "output_tokens"))}
    raw = value_of(record, "datasets")
    made: dict[float, tuple[_Lengths | None, _Lengths | None]] = {}
    for start, dataset in raw.items():
        if not isinstance(dataset, dict):
            raise LineError(f"dataset {start[:60]} is no object")
        start_s = number({"start of a dataset": start}, "start of a dataset")
        made[start_s] = (_lengths(dataset, "input_tokens"), _lengths(dataset, "output_tokens"))
    return made


def _dataset_at(
    datasets: dict[float, tuple[_Lengths | None, _Lengths | None]], start_s: float
) -> tuple[_Lengths, _Lengths]:
    begun = [start for start in datasets if start <= start_s]
    prompts, outputs = datasets[max(begun)] if begun else (None, None)
    if prompts is None or outputs is None:
        raise LineError(f"the window from {start_s:.15g} s has a rate and no lengths")
    return prompts, outputs


def _lengths(record: Record, name: str) -> _Lengths | None:
    pairs = _pairs(value_of(record, name), name)
    if not pairs:
        return None
    values = [whole({name: value}, name, low=0, high=MAX_TOKENS) for value, _ in pairs]
    shares = np.array([number({name: share}, f"{name}", high=1e9) for _, share in pairs])
    if shares.sum() <= 0:
        raise LineError(f"the shares of {name} are all 0")
    cumulated = np.cumsum(shares) / shares.sum()
    cumulated[-1] = 1.0
    return _Lengths(np.maximum(np.array(values, dtype=np.int64), 1), cumulated)


def _pairs(value: object, name: str) -> list[tuple[object, object]]:
    """(length, share) pairs of a literal dict in a string, or of an array of pairs."""
    if isinstance(value, str):
        if len(value) > MAX_LITERAL:
            raise LineError(f"{name} has {len(value)} characters, expected ≤ {MAX_LITERAL}")
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            raise LineError(f"{name} is {shown(value)}, expected a dict of lengths and shares") from None
        value = list(value.items()) if isinstance(value, dict) else None
    if not isinstance(value, list) or not all(isinstance(each, list | tuple) and len(each) == 2 for each in value):
        raise LineError(f"{name} is no distribution, expected pairs of length and share")
    return [(length, share) for length, share in value]


def _windows(rows: Any) -> Iterator[_Window]:
    if not isinstance(rows, list) or len(rows) > MAX_WINDOWS:
        raise LineError(f"windows is no array of at most {MAX_WINDOWS} windows")
    names = ("start", "rate", "cv", "pattern", "shape", "scale")
    records = []
    for place, row in enumerate(rows, 1):
        if not isinstance(row, list) or len(row) != len(names):
            raise LineError(f"window {place} has not the six values {', '.join(names)}")
        records.append(dict(zip(names, row, strict=True)))
    starts = [number(record, "start") for record in records]
    gaps = [late - early for early, late in pairwise(starts)]
    if any(gap <= 0 for gap in gaps):
        raise LineError("windows do not follow one after the other in time")
    for record, start, length in zip(records, starts, [*gaps, min(gaps, default=USUAL_WINDOW_S)], strict=True):
        rate = number(record, "rate", high=1e6)
        if rate == 0:
            yield _Window(start, start + length, 0.0, "", 0.0, 0.0)
            continue
        if rate * length > MAX_REQUESTS:
            raise LineError(f"rate is {rate:.15g} over {length:.15g} s, expected at most {MAX_REQUESTS} requests")
        if record["pattern"] not in PATTERNS:
            raise LineError(f"pattern is {shown(record['pattern'])}, expected one of {', '.join(PATTERNS)}")
        shape = number(record, "shape", low=0.001, high=1000) if record["pattern"] != "Exponential" else 1.0
        yield _Window(start, start + length, rate, record["pattern"], shape, number(record, "scale", 1e-9, 1e9))


def _arrivals(window: _Window, rng: np.random.Generator) -> Floats:
    """Times in `window` with gaps of its pattern; the first gap starts with the window."""
    length, count = window.end_s - window.start_s, int(window.rate * (window.end_s - window.start_s)) + 16
    parts, reached, total = [], 0.0, 0
    while reached < length:
        if window.pattern == "Weibull":
            gaps = window.scale * rng.weibull(window.shape, count)
        else:
            gaps = rng.gamma(window.shape, window.scale, count)
        parts.append(reached + np.cumsum(gaps))
        reached, total = float(parts[-1][-1]), total + count
        if total > 2 * MAX_REQUESTS:
            raise LineError(f"the gaps of the window from {window.start_s:.15g} s are too short to fill it")
    times = np.concatenate(parts)
    return window.start_s + times[times < length]


def _generator(seed: int, client: str) -> np.random.Generator:
    stable = int.from_bytes(hashlib.blake2b(client.encode(), digest_size=8).digest(), "little")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, stable])))


SERVEGEN = Format(
    name="servegen",
    what="ServeGen clients: a generator, sampled",
    container="json",
    keys=("client_id", "windows"),
    time_unit="s",
    make_reader=make_reader,
    clock="drawn",
    used=("input_tokens", "output_tokens", "dataset_window", "datasets", "reason_ratio"),
)
