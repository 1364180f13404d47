"""What is compared in each tier, and which metric carries the verdict.

How a metric is estimated is the business of `bench.analysis.estimates`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """A name, the clock that took it, and the column of `bench.records.PAIRS` that holds its time.

    In the serve tier the column is one of `bench.analysis.latencies.replay_values`.
    """

    name: str
    clock: str
    column: str


SCHEDULER_CPU = Metric("scheduler", "cpu", "cpu_ns")
SCHEDULER_WALL = Metric("scheduler", "wall", "wall_ns")
SCHEDULE = Metric("schedule", "wall", "schedule_ns")
UPDATE = Metric("update", "wall", "update_ns")
FINISH = Metric("finish", "wall", "finish_ns")
GRAMMAR = Metric("grammar", "wall", "grammar_ns")
MODEL = Metric("model", "wall", "model_ns")
IDLE = Metric("idle", "wall", "idle_ns")
INPUT = Metric("input", "wall", "input_ns")
OUTPUT = Metric("output", "wall", "output_ns")
OTHER = Metric("other", "wall", "other_ns")
STEP = Metric("step", "wall", "step_ns")

SERVE = "serve"
LATENCY_NAMES = ("tpot", "ttft", "itl", "e2el")
TPOT = Metric("tpot", "wall", "tpot")  # the mean over requests of a replay: what a reader of a stream feels
LATENCIES = (
    *(Metric(f"{name}{part}", "wall", f"{name}{part}") for name in LATENCY_NAMES for part in ("", "_p50", "_p99")),
    *(Metric(name, "wall", name) for name in ("throughput", "goodput")),
)

PARTS = (SCHEDULE, UPDATE, FINISH, GRAMMAR, MODEL, IDLE, INPUT, OUTPUT, OTHER)
"""What a whole engine's step is made of; together they are the step."""

# CPU time judges where the scheduler is all that runs; where a model runs too, the wait counts and wall time judges.
GATING = {"replay": SCHEDULER_CPU, "engine": STEP, SERVE: TPOT}
BESIDE = {"replay": SCHEDULER_WALL}  # the other clock of the gating metric, which may not contradict it
METRICS = {
    "replay": (SCHEDULER_CPU, SCHEDULER_WALL, SCHEDULE, UPDATE, FINISH),
    "engine": (SCHEDULER_CPU, SCHEDULER_WALL, *PARTS, STEP),
    SERVE: (*LATENCIES, SCHEDULER_CPU, SCHEDULE, UPDATE, FINISH),
}
FUNCTIONS = {
    "replay": (SCHEDULE, UPDATE, FINISH),
    "engine": (SCHEDULE, UPDATE, FINISH, MODEL),
    SERVE: (SCHEDULE, UPDATE, FINISH),
}
TIERS = tuple(METRICS)
