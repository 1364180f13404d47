"""`lora-mix`: all adapters that may run are in use, and a request with one more waits although there are free slots.

Half of the requests share `max_loras` - 1 common adapters, the others have none; in their midst runs one request with a
rare adapter of its own. The next rare one arrives early, is skipped in each step, and starts when that one has ended.
"""

from __future__ import annotations

from dataclasses import replace

from bench.traces.workloads.timeline import Draft, Timeline, token_budget
from bench.traces.workloads.workload import NO_ABORTS, NO_PREEMPTION, Counter, Option, Order, Plan, Workload


def build(order: Order) -> Plan:
    """One common request finishes in each step and one arrives; every `period` steps a rare one takes over."""
    max_loras, period = order.whole("max_loras"), order.whole("period")
    most = order.num_running // 2  # so many, and each common adapter stays in RUNNING whoever leaves
    if max_loras > most:
        raise order.impossible(f"option max_loras is {max_loras}, expected 2 to {most}")
    if 2 * period > order.whole("steps"):
        raise order.impossible(f"option period is {period}, expected ≤ half of {order.whole('steps')} steps")
    timeline = Timeline(order, token_budget(order.num_running, num_arriving=2))
    rare = timeline.running[0]
    rare.lora = "rare-0"
    common = timeline.running[1:]
    for number, draft in enumerate(common):
        draft.lora = _common(number, max_loras)
    num_common, num_rare, takes_over = len(common), 1, timeline.settled + period
    for step in range(timeline.settled, timeline.end + 1):
        timeline.finish(common.pop(0), step)
        if step == takes_over - 1 and step < timeline.end:
            timeline.finish(rare, step)
            rare = _next_rare(timeline, step + 1, period, num_rare)
            num_rare, takes_over = num_rare + 1, takes_over + period
        if step < timeline.end:
            draft = timeline.arrive(step + 1)
            draft.lora = _common(num_common, max_loras)
            common.append(draft)
            num_common += 1
    timeline.close()
    timeline.sort()
    plan = timeline.plan(spare_seqs=2)
    return replace(plan, engine=replace(plan.engine, max_loras=max_loras))


def _common(number: int, max_loras: int) -> str | None:
    """Every other request has an adapter, one after the other."""
    return f"common-{number // 2 % (max_loras - 1)}" if number % 2 else None


def _next_rare(timeline: Timeline, step: int, period: int, number: int) -> Draft:
    """It starts in `step` and has waited since half of the time of the one before the last."""
    draft = timeline.arrive(step)
    draft.arrival_step = max(timeline.settled + 1, step - period - period // 2)
    draft.lora = f"rare-{number}"
    return draft


LORA_MIX = Workload(
    name="lora-mix",
    path="skips waiting requests whose adapters are over the limit (max_loras), and lets those behind them in",
    build=build,
    counters=(
        Counter("loras", "max_loras", 0.9),
        Counter("waiting", 1, 0.3),
        Counter("finished", 1, 0.9),
        NO_ABORTS,
        NO_PREEMPTION,
    ),
    own_options=(
        Option("max_loras", 4, "adapters that may run in one step", 2, 1000, "adapters"),
        Option("period", 16, "from one request with a rare adapter to the next", 2, 100_000, "steps"),
    ),
    min_running=8,
)
