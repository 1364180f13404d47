"""What the orchestrating process, its workers and their arms say to one another over their own pipes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.engine.shape import EngineShape
from bench.traces.model import Trace

BASELINE = "baseline"
CANDIDATE = "candidate"
ARMS = (BASELINE, CANDIDATE)

READING_FIELDS = (
    "cpu_ns",
    "schedule_ns",
    "update_ns",
    "finish_ns",
    "model_ns",
    "step_ns",
    "running",
    "waiting",
    "scheduled_tokens",
    "preempted",
    "finished",
    "aborted",
)
"""Columns of the step readings that an arm sends, in this order."""

INTERFERENCE_FIELDS = ("involuntary_switches", "minor_faults", "major_faults", "steal_ms", "gc_collections")
"""Columns of what disturbed a slice, in this order."""


@dataclass(frozen=True)
class Setting:
    """What both arms of a comparison share: all but the variant."""

    comparison: str
    tier: str
    baseline: str
    candidate: str
    trace: Trace
    shape: EngineShape
    step_time_limit_s: float


@dataclass(frozen=True)
class ProveTask:
    """Replay the trace on both variants, step by step, before any timing."""

    setting: Setting


@dataclass(frozen=True)
class ProveResult:
    """`readings` is (num_steps, len(READING_FIELDS)) int64: what the baseline did in each step, its time as a pilot."""

    comparison: str
    alike: bool
    num_steps: int
    message: str
    readings: NDArray[np.int64]

    def field(self, name: str) -> NDArray[np.int64]:
        """One of READING_FIELDS by step, (num_steps,)."""
        return self.readings[:, READING_FIELDS.index(name)]


@dataclass(frozen=True)
class Slicing:
    """Which steps are timed: `num_slices` slices of `steps_per_slice`, from step `first` on."""

    first: int
    steps_per_slice: int
    num_slices: int

    @property
    def last(self) -> int:
        """The last step that is timed."""
        return self.first + self.num_slices * self.steps_per_slice - 1


@dataclass(frozen=True)
class PairTask:
    """Measure one pair; `seed` draws the order in which arms start and slices run."""

    setting: Setting
    pair: int
    seed: int
    slicing: Slicing
    spawn: bool


@dataclass(frozen=True)
class ArmRecord:
    """What one arm of a finished pair left.

    `steps` is (num_steps, len(READING_FIELDS)) int64 from step 0 on; `interference` is
    (num_slices, len(INTERFERENCE_FIELDS)) float64; `positions` is (num_slices,): 0 where this arm ran first.
    """

    steps: NDArray[np.int64]
    interference: NDArray[np.float64]
    positions: NDArray[np.int64]


@dataclass(frozen=True)
class PairResult:
    """Both arms of a finished pair; `peak_rss_mib` is the memory of the larger arm's process."""

    comparison: str
    pair: int
    slicing: Slicing
    baseline: ArmRecord
    candidate: ArmRecord
    peak_rss_mib: float


@dataclass(frozen=True)
class Failure:
    """A task that did not end well: one line of what happened; `is_void` where the arms decided differently."""

    comparison: str
    message: str
    pair: int = -1
    is_void: bool = False


Task = ProveTask | PairTask
Result = ProveResult | PairResult | Failure
