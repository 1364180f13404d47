"""What the orchestrating process, its workers and their arms say to one another over their own pipes."""

from __future__ import annotations

from dataclasses import dataclass, field

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
    "grammar_ns",
    "model_ns",
    "idle_ns",
    "input_ns",
    "output_ns",
    "other_ns",
    "step_ns",
    "running",
    "waiting",
    "scheduled_tokens",
    "preempted",
    "finished",
    "aborted",
)
"""Columns of the step readings that an arm sends, in this order."""

PATH_FIELDS = ("drafted", "accepted", "structured", "loras", "paused", "reentered")
"""Counts of a proof's steps that no table has: what a workload's path is known by, beside the columns."""

PROOF_FIELDS = (*READING_FIELDS, *PATH_FIELDS)
"""Columns of the step readings of a proof, in this order."""

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
    """`readings` is (num_steps, len(PROOF_FIELDS)) int64: what the baseline did in each step, its time as a pilot."""

    comparison: str
    alike: bool
    num_steps: int
    message: str
    readings: NDArray[np.int64]

    def field(self, name: str) -> NDArray[np.int64]:
        """One of PROOF_FIELDS by step, (num_steps,)."""
        return self.readings[:, PROOF_FIELDS.index(name)]


@dataclass(frozen=True)
class Slicing:
    """Which steps are timed: `num_slices` slices of `steps_per_slice`, from step `first` on.

    The first `lead_in` steps of each slice are run and not timed.
    """

    first: int
    steps_per_slice: int
    num_slices: int
    lead_in: int = 0

    @property
    def last(self) -> int:
        """The last step of the last slice."""
        return self.first + self.num_slices * self.steps_per_slice - 1

    def is_timed(self, steps: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each of these steps is timed, by step number."""
        place = (steps - self.first) % self.steps_per_slice
        is_timed: NDArray[np.bool_] = (steps >= self.first) & (steps <= self.last) & (place >= self.lead_in)
        return is_timed


@dataclass(frozen=True)
class PairTask:
    """Measure one pair; `seed` draws the layout of each arm and the order in which arms start and slices run.

    With `forks`, both arms are brought to the steady phase once, and so many times forked there and timed; with 0
    they run themselves, as an engine must, which has threads.
    """

    setting: Setting
    pair: int
    seed: int
    slicing: Slicing
    spawn: bool
    forks: int


@dataclass(frozen=True)
class Advance:
    """To an arm: run so many steps; it answers with what disturbed them and a row of READING_FIELDS for each."""

    num_steps: int


@dataclass(frozen=True)
class Fork:
    """To an arm: fork; the child says ready and takes the commands until `End`."""


@dataclass(frozen=True)
class End:
    """To an arm, or to its child: say how both queues look and how much memory was used, and end."""


@dataclass(frozen=True)
class Describe:
    """To an arm: answer with the resolved options of its engine, by name; with nothing in the replay tier."""


@dataclass(frozen=True)
class CompareProbe:
    """To an arm: run so many pairs of steps, one of each with the probe on and one with it off, in random order.

    It answers with the thread CPU time of each step in ns, (num_pairs, 2) int64: with the probe, and without.
    """

    num_pairs: int
    seed: int


Command = Advance | Fork | Describe | CompareProbe | End


@dataclass(frozen=True)
class ArmRecord:
    """What one arm of a finished pair left.

    `prepared` is (num_steps, len(READING_FIELDS)) int64 from step 0 on; `rounds` has the same for each fork, from step
    `Slicing.first - num_reheated` on. `interference` is (num_slices, len(INTERFERENCE_FIELDS)) float64 and `positions`
    (num_slices,), 0 where this arm ran first, both over the slices of all rounds.
    """

    prepared: NDArray[np.int64]
    rounds: tuple[NDArray[np.int64], ...]
    interference: NDArray[np.float64]
    positions: NDArray[np.int64]


@dataclass(frozen=True)
class PairResult:
    """Both arms of a finished pair; `peak_rss_mib` is the memory of the larger arm's process.

    `engines` holds the resolved options of each arm's engine, by arm; it is empty in the replay tier.
    """

    comparison: str
    pair: int
    slicing: Slicing
    baseline: ArmRecord
    candidate: ArmRecord
    peak_rss_mib: float
    engines: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class ProbeCostTask:
    """Run one engine on `setting.baseline` and time steps with and without the probe, from step `first` on."""

    setting: Setting
    seed: int
    first: int
    num_pairs: int
    spawn: bool


@dataclass(frozen=True)
class ProbeCostResult:
    """`cpu_ns` is (num_pairs, 2) int64, thread CPU time a step: with the probe, and without."""

    comparison: str
    cpu_ns: NDArray[np.int64]


@dataclass(frozen=True)
class QueueTask:
    """Replay the trace on the baseline, untimed, and count what it does with RUNNING in the steps of `slicing`."""

    setting: Setting
    slicing: Slicing


@dataclass(frozen=True)
class QueueResult:
    """By kind of operation on RUNNING: how often in a step, on average, and ns for one."""

    comparison: str
    operations: dict[str, tuple[float, float]]


@dataclass(frozen=True)
class Failure:
    """A task that did not end well: one line of what happened; `is_void` where the arms decided differently."""

    comparison: str
    message: str
    pair: int = -1
    is_void: bool = False


Task = ProveTask | PairTask | ProbeCostTask | QueueTask
Result = ProveResult | PairResult | ProbeCostResult | QueueResult | Failure
