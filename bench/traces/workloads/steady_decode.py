"""`steady-decode`: the same requests decode in every step and nobody comes or goes."""

from __future__ import annotations

from bench.traces.workloads.timeline import Timeline, token_budget
from bench.traces.workloads.workload import NO_ABORTS, NO_PREEMPTION, Counter, Order, Plan, Workload


def build(order: Order) -> Plan:
    """All arrive at step 0 and decode until the last steady step, in which the oldest leaves."""
    timeline = Timeline(order, token_budget(order.num_running))
    timeline.close()
    return timeline.plan(spare_seqs=0)


STEADY_DECODE = Workload(
    name="steady-decode",
    path="walks RUNNING in each step and takes nothing out of it",
    build=build,
    counters=(Counter("finished", 1, 0, 0.05), Counter("prefilled", 1, 0, 0.2), NO_ABORTS, NO_PREEMPTION),
)
