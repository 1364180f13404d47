"""`streaming-sessions`: in each step a session has its answer and leaves RUNNING, and in the next one comes back.

Some sessions have their next input already and come back in the next step, some pause for `think` steps and keep their
slots meanwhile; after `turns` inputs a session ends and a new one takes its place.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from bench.traces.streaming import session_tokens
from bench.traces.workloads.timeline import Draft, Timeline, ample_needs_of, token_budget
from bench.traces.workloads.workload import NO_ABORTS, NO_PREEMPTION, Counter, Option, Order, Plan, Workload

EAGER = 4  # one answer in so many finds the next input of its session there


def build(order: Order) -> Plan:
    """The input that was answered longest leaves in each step; one takes its place in the next."""
    think = order.whole("think")
    if 4 * think > order.whole("steps"):
        raise order.impossible(f"option think is {think}, expected ≤ a quarter of {order.whole('steps')} steps")
    timeline = Timeline(order, token_budget(order.num_running, num_arriving=1))
    for number, draft in enumerate(timeline.running):
        draft.session = f"s{number:07d}"
    cast = _Cast(timeline, order.whole("turns"))
    paused: deque[tuple[str, int]] = deque()
    for step in range(timeline.settled, timeline.end + 1):
        leaving = timeline.running[0]
        timeline.finish(leaving, step)
        if step == timeline.end:
            break
        session = str(leaving.session)
        if cast.has_more(session) and (step - timeline.settled) % EAGER == 0:
            cast.enter(session, step + 1, early=step > leaving.arrival_step)
            continue
        if cast.has_more(session):
            paused.append((session, step + 1 + think))
        if paused and paused[0][1] <= step + 1:
            cast.enter(paused.popleft()[0], step + 1)
        else:
            cast.enter(cast.new(), step + 1)
    timeline.close()
    timeline.sort()
    return _plan(order, timeline, spare_seqs=2 + think)


class _Cast:
    """Who is on stage: sessions by name, and how many inputs each has had."""

    def __init__(self, timeline: Timeline, turns: int) -> None:
        self._timeline = timeline
        self._turns = turns
        self._taken = {str(draft.session): 1 for draft in timeline.drafts}

    def has_more(self, session: str) -> bool:
        return self._taken[session] < self._turns

    def new(self) -> str:
        session = f"s{len(self._taken):07d}"
        self._taken[session] = 0
        return session

    def enter(self, session: str, step: int, *, early: bool = False) -> Draft:
        """Its next input gets a token in `step`; `early`: it was sent before the step in which the last one ended."""
        self._taken[session] += 1
        draft = self._timeline.arrive(step)
        draft.session = session
        draft.arrival_step = step - 1 if early else step
        return draft


def _plan(order: Order, timeline: Timeline, spare_seqs: int) -> Plan:
    plan = timeline.plan(spare_seqs)
    totals = session_tokens(plan.requests).values()
    needs = ample_needs_of(totals, order.num_running + spare_seqs, plan.engine.max_num_batched_tokens)
    return replace(plan, engine=replace(needs, streaming_sessions=True))


STREAMING_SESSIONS = Workload(
    name="streaming-sessions",
    path="takes streaming sessions out of RUNNING when an input is answered, and in again with the next",
    build=build,
    counters=(
        Counter("reentered", 1, 0.2),
        Counter("paused", 1, 0.2),
        NO_ABORTS,
        NO_PREEMPTION,
    ),
    own_options=(
        Option("turns", 4, "inputs of a session", 2, 1000, "inputs"),
        Option("think", 4, "from an answer to the next input of a session that pauses", 2, 1000, "steps"),
    ),
    min_running=2,
)
