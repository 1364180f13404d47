"""Shared cases S14, S17 and S18: steps in flight while requests come, go and are preempted."""

from __future__ import annotations

from .conftest import Start


def test_s14_the_output_of_an_aborted_request_in_flight_is_dropped(start: Start) -> None:
    case = start(usable=8, async_scheduling=True)
    case.add(A=(4, 8), B=(4, 8), C=(4, 8))
    case.schedule("A:4 B:4 C:4", free=5)
    case.schedule("A:1 B:1 C:1", free=2)
    case.abort("B")
    case.update("A C")
    case.schedule("A:1 C:1", FIN="B", free=4)
    case.update("A C")
    case.update("A C")
    case.abort("A C")
    case.schedule("", FIN="A C", free=8)
    case.update("")
    assert case.totals == {"A": 3, "C": 3}


def test_s17_a_request_preempted_while_its_last_step_is_in_flight_leaves_waiting(start: Start) -> None:
    case = start(usable=4)
    case.add(A=(8, 6))
    case.schedule("A:8")
    case.add(B=(8, 1))
    case.schedule("B:8")
    case.update("A")
    case.schedule("A:1", PRE="B", W="B", free=1)
    case.update("B/length")
    case.queues(R="A", W="")
    case.update("A")
    case.step("A:1", FIN="B")
    case.finish(by=7)
    assert case.totals == {"A": 6, "B": 1}


def test_s18_nothing_is_scheduled_past_the_end(start: Start) -> None:
    case = start(async_scheduling=True)
    case.add(A=(4, 1), B=(4, 3), C=(4, 5))
    case.step_ahead("A:4 B:4 C:4", R="A B C")
    case.step_ahead("B:1 C:1", R="A B C", out="A/length B C")
    case.step_ahead("B:1 C:1", R="B C", out="B C")
    case.step_ahead("C:1", R="B C", out="B/length C")
    case.step_ahead("C:1", R="C", out="C")
    case.step_ahead("", R="C", out="C/length")
    case.queues(R="", W="")
    assert case.totals == {"A": 1, "B": 3, "C": 5}


def test_s18_a_prefill_chunk_reserves_no_output(start: Start) -> None:
    case = start(async_scheduling=True, budget=8, max_num_seqs=4)
    case.add(A=(4, 6))
    case.step_ahead("A:4")
    case.add(L=(18, 2))
    case.step_ahead("A:1 L:7", out="A")
    case.step_ahead("A:1 L:7", out="A")
    case.step_ahead("A:1 L:4", out="A")
    case.step_ahead("A:1 L:1", out="A L")
    case.step_ahead("A:1", out="A L/length")
    case.step_ahead("", out="A/length")
    assert case.totals == {"A": 6, "L": 2}
