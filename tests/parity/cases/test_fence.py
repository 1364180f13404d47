"""Blocks that a step in flight may still write: beside the shared cases, the one early exit between peek and removal.

With a connector that consumes KV and steps in flight, such blocks come back late, so their owner is no victim.
"""

from __future__ import annotations

from .conftest import Start


def test_a_victim_whose_blocks_are_in_flight_stays_in_running(start: Start) -> None:
    case = start(usable=3, async_scheduling=True, kv_load_failure_policy="recompute")
    case.add(A=(4, 8), B=(4, 8))
    case.step_ahead("A:4 B:4", free=1)
    case.step_ahead("A:1", R="A B", W="", free=0, out="A B")
    case.step_ahead("A:1", R="A", W="B", PRE="B", out="A")


def test_a_tail_that_is_not_in_flight_is_evicted(start: Start) -> None:
    case = start(
        usable=3, budget=8, max_num_seqs=4, threshold=4, async_scheduling=True, kv_load_failure_policy="recompute"
    )
    case.add(A=(4, 8))
    case.step_ahead("A:4")
    case.add(L=(16, 2))
    case.step_ahead("A:1 L:4", free=0)
    for _ in range(3):
        case.step_ahead("A:1", throttle=True, R="A L")
    case.step_ahead("A:1", PRE="L", R="A", W="L", free=0)
