"""Runs one engine's steps with the step probe on and off; in a worker, which may not load what starts threads."""

from __future__ import annotations

import numpy as np

from bench.measure.host import Cores
from bench.measure.messages import Advance, CompareProbe, ProbeCostResult, ProbeCostTask
from bench.measure.pairs import START_LIMIT_S, started_arm


def measure_probe_cost(task: ProbeCostTask, cores: Cores) -> ProbeCostResult:
    """Bring one engine to its steady phase, then time its steps both ways; raises MeasureError where it fails."""
    with started_arm(task, cores) as arm:
        limit_s = task.setting.step_time_limit_s
        arm.ask(Advance(task.first), limit_s * task.first)
        times = arm.ask(CompareProbe(task.num_pairs, task.seed), max(START_LIMIT_S, limit_s))
    return ProbeCostResult(task.setting.comparison, np.array(times, dtype=np.int64).reshape(-1, 2))
