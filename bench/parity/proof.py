"""Replays one trace on two variants, step by step in one process, and stops at the first difference.

One process, so that both see the same hash seed; separate request objects, since requests are mutable.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

from bench.engine.probe import StepReading
from bench.engine.replay import ReplaySession
from bench.engine.shape import EngineShape
from bench.errors import StepTimeoutError
from bench.parity.decisions import Decisions, decisions_of, first_difference
from bench.parity.invariants import broken_invariant
from bench.traces.model import Trace

STALLED_STEPS = 64
"""A trace ends when no request got a token for so many steps, and as many more as its prefills can take, after its
last arrival: such requests wait for ever, or evict one another for ever."""


@dataclass(frozen=True)
class Difference:
    """The first step in which the two did not decide alike; `field` says in what, the values are as seen."""

    step: int
    field: str
    baseline: Any
    candidate: Any

    def __str__(self) -> str:
        baseline, candidate = _around_difference(self.baseline, self.candidate)
        return f"step {self.step}: {self.field}: baseline {baseline}, candidate {candidate}"


@dataclass(frozen=True)
class Proof:
    """The outcome over `num_steps` equal steps; `readings` are the baseline's, a step each.

    Their times are a pilot to plan slices by, never a result; their counts show which path the trace took.
    `fault` says what both did wrong alike: raised the same error, or broke the same invariant.
    """

    num_steps: int
    readings: tuple[StepReading, ...]
    difference: Difference | None = None
    fault: str | None = None

    @property
    def running(self) -> list[int]:
        """The queue length by step, right after `schedule()`."""
        return [reading.running for reading in self.readings]

    @property
    def alike(self) -> bool:
        """True when no step differed and nothing went wrong."""
        return self.difference is None and self.fault is None

    def __str__(self) -> str:
        if self.difference is not None:
            return f"differs at {self.difference}"
        return self.fault or f"{self.num_steps} steps alike"


def prove(
    baseline: type,
    candidate: type,
    trace: Trace,
    shape: EngineShape,
    config: Any,
    *,
    step_time_limit_s: float,
    progress: Callable[[int], None] = lambda step: None,
) -> Proof:
    """Compare two scheduler classes on `trace` to its end, or to the first difference, error or overlong step."""
    arms = [ReplaySession(scheduler, trace, shape, config) for scheduler in (baseline, candidate)]
    readings: list[StepReading] = []
    stalled = 0
    patience = STALLED_STEPS + _num_chunks(trace, shape)
    last_arrival = max((request.arrival_step or 0 for request in trace.requests), default=0)
    while not arms[0].is_done and stalled < patience:
        step = arms[0].next_step
        (ours, reading), (theirs, _) = (_one_step(arm, step_time_limit_s) for arm in arms)
        found = first_difference(ours, theirs)
        if found is not None:
            return Proof(step, tuple(readings), difference=Difference(step, *found))
        if fault := ours.get("error") or ours["broken_invariant"]:
            return Proof(step, tuple(readings), fault=f"step {step}: both variants: {fault}")
        readings.append(reading)
        is_barren = not any(ours.get("outputs", {}).values())
        stalled = stalled + 1 if is_barren and step > last_arrival else 0
        progress(step)
    return Proof(len(readings), tuple(readings))


def _num_chunks(trace: Trace, shape: EngineShape) -> int:
    """Steps that the prefills of `trace` take at most, one after another, if none of them is preempted."""
    chunk = shape.long_prefill_token_threshold or shape.max_num_batched_tokens
    chunks = sum(-(-(request.input_length + request.output_length) // chunk) for request in trace.requests)
    return chunks * shape.prefill_schedule_interval


def _one_step(arm: ReplaySession, limit_s: float) -> tuple[Decisions, StepReading]:
    seen: Decisions = {}

    def observe(scheduled: Any, outputs: Any) -> None:
        seen.update(decisions_of(arm.scheduler, scheduled, outputs))

    try:
        with step_time_limit(limit_s):
            reading = arm.step(observe)
    except StepTimeoutError as error:
        return {"error": str(error)}, StepReading()
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}, StepReading()
    seen["running_after_schedule"] = reading.running
    seen["broken_invariant"] = broken_invariant(arm.scheduler)
    return seen, reading


@contextmanager
def step_time_limit(limit_s: float) -> Iterator[None]:
    """Raise StepTimeoutError in the body once it ran for `limit_s` seconds; main thread only."""

    def expire(signum: int, frame: FrameType | None) -> None:
        raise StepTimeoutError(f"the step ran for more than {limit_s:g} s; it is taken to hang")

    before = signal.signal(signal.SIGALRM, expire)
    left_before, _ = signal.setitimer(signal.ITIMER_REAL, limit_s)
    began = time.monotonic()
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left_before:  # somebody else's alarm: it still comes, at its own time
            signal.setitimer(signal.ITIMER_REAL, max(1e-6, left_before - (time.monotonic() - began)))


def _around_difference(baseline: Any, candidate: Any, width: int = 5) -> tuple[str, str]:
    """Both values, long lists cut to the part around their first differing element."""
    if not (isinstance(baseline, list) and isinstance(candidate, list)):
        return repr(baseline)[:200], repr(candidate)[:200]
    pairs = zip(baseline, candidate, strict=False)
    place = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(baseline), len(candidate)))
    first = max(0, place - 1)
    return _shown(baseline, first, width), _shown(candidate, first, width)


def _shown(values: list[Any], first: int, width: int) -> str:
    part = ", ".join(repr(value)[:80] for value in values[first : first + width])
    before = f"…{first} alike, " if first else ""
    after = ", …" if len(values) > first + width else ""
    return f"[{before}{part}{after}] ({len(values)})"
