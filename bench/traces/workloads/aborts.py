"""`single-abort` and `abort-storm`: running requests are aborted, one or many at a time, and replaced.

An aborted request would otherwise have run to the end of the trace, so nothing else leaves RUNNING.
"""

from __future__ import annotations

from collections.abc import Callable

from bench.traces.workloads.timeline import Timeline, token_budget
from bench.traces.workloads.workload import Option, Order, Plan, Workload


def build_single(order: Order) -> Plan:
    """Every `period` steps the request at one place of RUNNING is aborted."""
    timeline = Timeline(order, token_budget(order.num_running, num_arriving=1))
    position = order.text("position")

    def choose(num_running: int) -> list[int]:
        if position == "random":
            return [int(order.rng.integers(num_running))]
        return [{"head": 0, "middle": num_running // 2, "tail": num_running - 1}[position]]

    return _build(order, timeline, choose)


def build_storm(order: Order) -> Plan:
    """Every `period` steps `storm` requests, chosen at random from all over RUNNING, are aborted in one call."""
    storm = order.whole("storm") or max(2, order.num_running // 4)
    if not 2 <= storm < order.num_running:
        raise order.impossible(f"option storm is {storm}, expected 2 to {order.num_running - 1}")
    timeline = Timeline(order, token_budget(order.num_running, num_arriving=storm))

    def choose(num_running: int) -> list[int]:
        places: list[int] = order.rng.choice(num_running, storm, replace=False).tolist()
        return places

    plan = _build(order, timeline, choose)
    return Plan(plan.requests, plan.engine, plan.steady_running, {"storm": storm})


def _build(order: Order, timeline: Timeline, choose: Callable[[int], list[int]]) -> Plan:
    """Abort what `choose` picks of the places in RUNNING; as many arrive for the step after."""
    period = order.whole("period")
    if timeline.settled + period >= timeline.end:
        raise order.impossible(
            f"no abort falls into {order.whole('steps')} steps; expected steps > period {period} + 1"
        )
    num_due = 0
    for step in range(timeline.settled + 1, timeline.end + 1):
        places: list[int] = []
        if (step - timeline.settled) % period == 0 and step < timeline.end:
            places = choose(len(timeline.running))
            for place in sorted(places, reverse=True):
                timeline.abort(timeline.running[place], step)
        for _ in range(num_due):  # after the aborts: what arrives for this step is not running yet
            timeline.arrive(step)
        num_due = len(places)
    timeline.close()
    return timeline.plan(spare_seqs=0)


SINGLE_ABORT = Workload(
    name="single-abort",
    path="takes one aborted request out of RUNNING between steps, every few steps",
    build=build_single,
    own_options=(
        Option("period", 4, "from one abort to the next", 1, 100_000, "steps"),
        Option(
            "position",
            "random",
            "place in RUNNING of the aborted request",
            choices=("head", "middle", "tail", "random"),
        ),
    ),
    min_running=2,
)

ABORT_STORM = Workload(
    name="abort-storm",
    path="takes many aborted requests out of RUNNING in one call between steps, now and then",
    build=build_storm,
    own_options=(
        Option("period", 32, "from one storm to the next", 1, 100_000, "steps"),
        Option("storm", 0, "requests aborted together; 0: a quarter of num_running, at least 2", 0, 16_384, "requests"),
    ),
    min_running=3,
)
