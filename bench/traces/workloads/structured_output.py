"""`structured-output`: grammars rule a share of the requests, and those of new grammars wait until they are compiled.

Compiling takes steps and not time, as `bench.traces.grammars` has it, so a request with a new grammar is sent that
much earlier than it starts; those behind it in the queue pass it.
"""

from __future__ import annotations

from bench.traces.grammars import COMPILE_STEPS, GrammarCache
from bench.traces.workloads.timeline import Draft, Timeline, token_budget
from bench.traces.workloads.workload import NO_ABORTS, NO_PREEMPTION, Counter, Option, Order, Plan, Workload

FIRST_GRAMMAR = 'root ::= "0" | "1" root'
"""That of all ruled requests at step 0; a new one differs from it in a number."""

RULED = 2  # one request in so many has a grammar


def build(order: Order) -> Plan:
    """The oldest finishes in each step and one arrives; at first those without a grammar are let in."""
    fresh = order.whole("fresh")
    timeline = Timeline(order, token_budget(order.num_running, order.num_running))  # all are let in at once
    _wait_for_compiler(timeline)
    num_ruled = 0
    for step in range(timeline.settled, timeline.end + 1):
        timeline.finish(timeline.running[0], step)
        if step == timeline.end:
            break
        draft = timeline.arrive(step + 1)
        if (step - timeline.settled) % RULED == 0:
            num_ruled += 1
            if num_ruled % fresh == 0:
                draft.grammar = f'root ::= "{num_ruled}" | "1" root'
                draft.arrival_step = max(0, draft.first_step - COMPILE_STEPS)
            else:
                draft.grammar = FIRST_GRAMMAR
    timeline.close()
    timeline.sort()
    return timeline.plan(spare_seqs=2)


def _wait_for_compiler(timeline: Timeline) -> None:
    """Rule some of the initial requests; RUNNING is complete when their grammar is there."""
    ready = GrammarCache().ready_step(FIRST_GRAMMAR, 0)
    ruled: list[Draft] = timeline.running[::RULED]
    for draft in ruled:
        draft.grammar, draft.first_step = FIRST_GRAMMAR, ready
    timeline.running = [draft for draft in timeline.running if draft.grammar is None] + ruled
    timeline.end += ready - timeline.start
    timeline.start = timeline.settled = ready


STRUCTURED_OUTPUT = Workload(
    name="structured-output",
    path="rules a share of RUNNING by grammars, and skips waiting requests whose grammars are being compiled",
    build=build,
    counters=(
        Counter("structured", 1, 0.9),
        Counter("waiting", 1, 0.5, per="fresh"),
        Counter("finished", 1, 0.9),
        NO_ABORTS,
        NO_PREEMPTION,
    ),
    own_options=(
        Option("fresh", 2, "one grammar in so many was not seen before and is compiled first", 1, 1000, "grammars"),
    ),
    min_running=2,
)
