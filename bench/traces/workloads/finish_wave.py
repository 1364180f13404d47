"""`finish-wave`: every so many steps many requests finish in the same step, and as many arrive for the next."""

from __future__ import annotations

from bench.traces.workloads.timeline import Timeline, token_budget
from bench.traces.workloads.workload import NO_ABORTS, NO_PREEMPTION, Counter, Option, Order, Plan, Workload


def build(order: Order) -> Plan:
    """Each wave takes its requests from all over RUNNING, chosen at random; what is left ends with the trace."""
    num_leaving = order.whole("wave") or max(2, order.num_running // 8)
    if not 2 <= num_leaving <= order.num_running:
        raise order.impossible(f"option wave is {num_leaving}, expected 2 to {order.num_running}")
    timeline = Timeline(order, token_budget(order.num_running, num_leaving))
    period = order.whole("period")
    waves = range(timeline.settled + period - 1, timeline.end, period)
    if not waves:
        raise order.impossible(f"no wave falls into {order.whole('steps')} steps; expected steps > period {period}")
    for step in waves:
        for place in sorted(order.rng.choice(order.num_running, num_leaving, replace=False), reverse=True):
            timeline.finish(timeline.running[place], step)
        for _ in range(num_leaving):
            timeline.arrive(step + 1)
    timeline.close()
    return timeline.plan(spare_seqs=num_leaving, settled={"wave": num_leaving})


FINISH_WAVE = Workload(
    name="finish-wave",
    path="takes many finished requests out of RUNNING in one pass, now and then",
    build=build,
    counters=(
        Counter("finished", "wave", 0.9, of_those_with_any=True),
        Counter("finished", "wave", 0.8, 1.2, per="period"),
        NO_ABORTS,
        NO_PREEMPTION,
    ),
    own_options=(
        Option("period", 16, "from one wave to the next", 1, 100_000, "steps"),
        Option(
            "wave", 0, "requests that finish together; 0: an eighth of num_running, at least 2", 0, 16_384, "requests"
        ),
    ),
    min_running=2,
)
