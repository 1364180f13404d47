"""What is compared in each tier, and which metric carries the verdict.

How a metric is estimated is the business of `bench.analysis.estimates`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """A name, the clock that took it, and the column of `bench.records.PAIRS` that holds its time."""

    name: str
    clock: str
    column: str


SCHEDULER_CPU = Metric("scheduler", "cpu", "cpu_ns")
SCHEDULER_WALL = Metric("scheduler", "wall", "wall_ns")
SCHEDULE = Metric("schedule", "wall", "schedule_ns")
UPDATE = Metric("update", "wall", "update_ns")
FINISH = Metric("finish", "wall", "finish_ns")
MODEL = Metric("model", "wall", "model_ns")
STEP = Metric("step", "wall", "step_ns")

# CPU time judges where the scheduler is all that runs; where a model runs too, the wait counts and wall time judges.
GATING = {"replay": SCHEDULER_CPU, "engine": STEP}
BESIDE = {"replay": SCHEDULER_WALL}  # the other clock of the gating metric, which may not contradict it
METRICS = {
    "replay": (SCHEDULER_CPU, SCHEDULER_WALL, SCHEDULE, UPDATE, FINISH),
    "engine": (SCHEDULER_CPU, SCHEDULER_WALL, SCHEDULE, UPDATE, FINISH, MODEL, STEP),
}
FUNCTIONS = {"replay": (SCHEDULE, UPDATE, FINISH), "engine": (SCHEDULE, UPDATE, FINISH, MODEL)}
TIERS = tuple(METRICS)
