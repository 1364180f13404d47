"""What a workload is: a name, the path it makes the scheduler take, its options, and how its requests are planned.

The workloads themselves stand one a file beside this one; `bench.traces.workloads.generate` turns a plan into a trace.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bench.errors import TraceError, nearest
from bench.options import Scalar
from bench.traces.checks import MAX_REQUESTS
from bench.traces.model import MOONCAKE_BLOCK_TOKENS, EngineNeeds, TraceRequest


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a workload; `low` and `high` are inclusive, `choices` are all that a string may be."""

    name: str
    default: Scalar
    meaning: str
    low: float = 0
    high: float = 0
    unit: str = ""
    choices: tuple[str, ...] = ()

    def checked(self, value: Scalar, workload: str) -> Scalar:
        """`value` in the option's own type; raises TraceError where it is of another type or out of bounds."""
        where = f"workload {workload}: option {self.name} is {value!r}"
        if isinstance(self.default, str):
            if not isinstance(value, str):
                raise TraceError(f"{where}, expected a string; one of {', '.join(self.choices)}")
            if value not in self.choices:
                raise TraceError(f"{where}{nearest(value, self.choices)}")
            return value
        wanted = (int, float) if isinstance(self.default, float) else int
        if isinstance(value, bool) or not isinstance(value, wanted):
            raise TraceError(f"{where}, expected a {'number' if isinstance(self.default, float) else 'whole number'}")
        if not self.low <= value <= self.high:  # false for NaN too
            unit = f" {self.unit}" if self.unit else ""
            raise TraceError(f"{where}, expected {self.low:.15g} to {self.high:.15g}{unit}")
        return float(value) if isinstance(self.default, float) else value


STEPS = Option("steps", 128, "length of the steady phase", 1, 100_000, "steps")
STEP_MS = Option(
    "step_ms", 10.0, "time a step is taken to last, where requests are delivered by clock", 0.001, 60_000, "ms"
)


@dataclass(frozen=True, slots=True)
class Counter:
    """What the steps must show if a trace took its path: in how many of them `what` was at least `at_least`.

    `what` is a field of a step's reading, or `prefilled`: the tokens scheduled beyond one for each running request.
    `low` and `high` bound the share of the steady steps, or of those with any `what` where `of_those_with_any`; one
    step more or less is always stood. `at_least` and `per` may name an option: `per` divides the bounds by its value.
    A counter with `when` holds only where that option has that value, one with `from_running` only where on average
    so many requests run.
    """

    what: str
    at_least: int | str
    low: float
    high: float = 1.0
    of_those_with_any: bool = False
    per: str = ""
    when: tuple[str, Scalar] | None = None
    from_running: int = 0

    def text(self) -> str:
        """The claim in words."""
        steps = f"of steps with {self.what}" if self.of_those_with_any else "of steady steps"
        bounds = f"{100 * self.low:.3g} to {100 * self.high:.3g} %"
        if self.high in (0, 1):
            bounds = f"≥ {100 * self.low:.3g} %" if self.high else "0 %"
        per = f" / {self.per}" if self.per else ""
        when = f" ({self.when[0]}={self.when[1]})" if self.when else ""
        when += f" (from {self.from_running} running on)" if self.from_running else ""
        return f"{self.what} ≥ {self.at_least} in {bounds}{per} {steps}{when}"


NO_PREEMPTION = Counter("preempted", 1, 0, 0)
NO_ABORTS = Counter("aborted", 1, 0, 0)


@dataclass(frozen=True, slots=True)
class Order:
    """What a workload is asked for; the options are complete and checked."""

    workload: str
    num_running: int
    options: Mapping[str, Scalar]
    rng: np.random.Generator
    seed: int = 0

    def whole(self, name: str) -> int:
        """The option `name`, a whole number."""
        return int(self.options[name])

    def number(self, name: str) -> float:
        """The option `name`, a number."""
        return float(self.options[name])

    def text(self, name: str) -> str:
        """The option `name`, a string."""
        return str(self.options[name])

    def require_possible(self, num_requests: int) -> None:
        """Raises TraceError where a trace cannot have so many requests; called before they are made."""
        if num_requests > MAX_REQUESTS:
            raise self.impossible(f"needs more than {MAX_REQUESTS} requests; lower steps or num_running")

    def impossible(self, problem: str) -> TraceError:
        """The error that says why this order cannot be filled."""
        return TraceError(f"workload {self.workload} with num_running {self.num_running}: {problem}")


@dataclass(frozen=True, slots=True)
class Plan:
    """What a workload makes of an order; `settled` holds the values of options that were left to it (0)."""

    requests: Sequence[TraceRequest]
    engine: EngineNeeds
    steady_running: int
    settled: Mapping[str, Scalar]
    hash_block_tokens: int = MOONCAKE_BLOCK_TOKENS


@dataclass(frozen=True, slots=True)
class Workload:
    """A seeded generator of traces; `path` says in one line which path of the scheduler it takes.

    `counters` are the proof of it, checked by `bench.traces.workloads.evidence`.
    """

    name: str
    path: str
    build: Callable[[Order], Plan]
    counters: tuple[Counter, ...]
    own_options: tuple[Option, ...] = ()
    min_running: int = 1

    @property
    def options(self) -> tuple[Option, ...]:
        """Its options, with those that every workload has."""
        return (STEPS, STEP_MS, *self.own_options)
