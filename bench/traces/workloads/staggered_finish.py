"""`staggered-finish`: one request finishes in each step and one arrives for the next, at a chosen end of the queue.

Where the middle or the tail is asked for, the requests in front of that place stay to the end.
"""

from __future__ import annotations

from bench.traces.workloads.timeline import Timeline, token_budget
from bench.traces.workloads.workload import NO_ABORTS, NO_PREEMPTION, Counter, Option, Order, Plan, Workload


def build(order: Order) -> Plan:
    """Each step one leaves the asked place of RUNNING and one is appended, so the place stays where it is.

    At the head and in the middle the leaving ones have decoded for n and for n/2 steps. At the tail only the arrival
    of the same step stands last, so each of them has one output token.
    """
    timeline = Timeline(order, token_budget(order.num_running, num_arriving=1))
    place = {"head": 0, "middle": order.num_running // 2, "tail": order.num_running - 1}[order.text("position")]
    for step in range(timeline.settled, timeline.end + 1):
        timeline.finish(timeline.running[place], step)
        if step < timeline.end:
            timeline.arrive(step + 1)
    timeline.close()
    return timeline.plan(spare_seqs=1)


STAGGERED_FINISH = Workload(
    name="staggered-finish",
    path="takes one finished request out of RUNNING in each step and appends one",
    build=build,
    counters=(Counter("finished", 1, 0.9), Counter("finished", 2, 0, 0.05), NO_ABORTS, NO_PREEMPTION),
    own_options=(
        Option(
            "position",
            "head",
            "place in RUNNING that the finishing requests have",
            choices=("head", "middle", "tail"),
        ),
    ),
    min_running=2,
)
