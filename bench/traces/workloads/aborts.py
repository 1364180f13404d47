"""`single-abort`, `abort-storm` and `waiting-abort-storm`: requests are aborted, one or many at a time, and replaced.

An aborted request would otherwise have run, or waited, to the end of the trace, so nothing else leaves its queue.
A trace names the step of an abort and not the call, and what is due before one step is aborted in one call: aborts
one by one fall on as many steps.
"""

from __future__ import annotations

from collections.abc import Callable

from bench.traces.workloads.timeline import Draft, Timeline, short_prompts, token_budget
from bench.traces.workloads.workload import NO_PREEMPTION, Counter, Option, Order, Plan, Workload


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
    """Every `period` steps `storm` requests, chosen at random from all over RUNNING, are aborted."""
    storm = _storm(order)
    in_one_call = order.text("calls") == "one"
    if not in_one_call and order.whole("period") <= storm:
        raise order.impossible(f"option period is {order.whole('period')}, expected > storm {storm} for calls=each")
    timeline = Timeline(order, token_budget(order.num_running, num_arriving=storm))

    def choose(num_running: int) -> list[int]:
        places: list[int] = order.rng.choice(num_running, storm if in_one_call else 1, replace=False).tolist()
        return places

    plan = _build(order, timeline, choose, aborts_in_a_row=1 if in_one_call else storm)
    return Plan(plan.requests, plan.engine, plan.steady_running, {"storm": storm})


def build_waiting_storm(order: Order) -> Plan:
    """RUNNING is full to the end; `storm` requests arrive every `period` steps, wait, and are aborted in one call."""
    storm = _storm(order)
    timeline = Timeline(order, token_budget(order.num_running))
    first = _first_abort(order, timeline)
    period = order.whole("period")
    timeline.close()
    waiting: list[Draft] = []
    for step in range(first, timeline.end, period):
        order.require_possible(len(timeline.drafts) + len(waiting) + storm)
        waiting += [
            Draft(step - period + 1, prompt, step, timeline.end + 1, abort_step=step)
            for prompt in short_prompts(order.rng, storm)
        ]
    timeline.drafts += waiting
    plan = timeline.plan(spare_seqs=0)
    return Plan(plan.requests, plan.engine, plan.steady_running, {"storm": storm})


def _storm(order: Order) -> int:
    storm = order.whole("storm") or max(2, order.num_running // 4)
    if not 2 <= storm <= order.num_running:
        raise order.impossible(f"option storm is {storm}, expected 2 to {order.num_running}")
    return storm


def _first_abort(order: Order, timeline: Timeline) -> int:
    period = order.whole("period")
    if timeline.settled + period >= timeline.end:
        raise order.impossible(
            f"no abort falls into {order.whole('steps')} steps; expected steps > period {period} + 1"
        )
    return timeline.settled + period


def _build(order: Order, timeline: Timeline, choose: Callable[[int], list[int]], aborts_in_a_row: int = 1) -> Plan:
    """Abort what `choose` picks of the places in RUNNING; as many arrive for the step after."""
    period = order.whole("period")
    first = _first_abort(order, timeline)
    num_due = 0
    for step in range(timeline.settled + 1, timeline.end + 1):
        places: list[int] = []
        if step >= first and (step - first) % period < aborts_in_a_row and step < timeline.end:
            places = choose(len(timeline.running))
            for place in sorted(places, reverse=True):
                timeline.abort(timeline.running[place], step)
        for _ in range(num_due):  # after the aborts: what arrives for this step is not running yet
            timeline.arrive(step)
        num_due = len(places)
    timeline.close()
    return timeline.plan(spare_seqs=0)


_STORM = Option("storm", 0, "requests aborted together; 0: a quarter of num_running, at least 2", 0, 16_384, "requests")
_PERIOD = Option("period", 32, "from one storm to the next", 1, 100_000, "steps")

SINGLE_ABORT = Workload(
    name="single-abort",
    path="takes one aborted request out of RUNNING between steps, every few steps",
    build=build_single,
    counters=(Counter("aborted", 1, 0.8, 1.2, per="period"), Counter("aborted", 2, 0, 0), NO_PREEMPTION),
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
    counters=(
        Counter("aborted", "storm", 0.9, of_those_with_any=True, when=("calls", "one")),
        Counter("aborted", 1, 0.9, of_those_with_any=True, when=("calls", "each")),
        NO_PREEMPTION,
    ),
    own_options=(
        _PERIOD,
        _STORM,
        Option(
            "calls",
            "one",
            "all in one call, or each in a step and a call of its own, one after the other",
            choices=("one", "each"),
        ),
    ),
    min_running=3,
)

WAITING_ABORT_STORM = Workload(
    name="waiting-abort-storm",
    path="takes many aborted requests out of WAITING in one call between steps, while RUNNING is full",
    build=build_waiting_storm,
    counters=(
        Counter("aborted", "storm", 0.9, of_those_with_any=True),
        Counter("waiting", "storm", 0.4),
        Counter("finished", 1, 0, 0.05),
        NO_PREEMPTION,
    ),
    own_options=(Option("period", 32, "from one storm to the next", 4, 100_000, "steps"), _STORM),
    min_running=3,
)
