"""Shared cases S01 to S10: who is preempted, what is rolled back, and how it comes back."""

from __future__ import annotations

import pytest

from .conftest import Start
from .driver import Case


def test_s01_victims_come_from_the_tail_and_may_be_the_requester(start: Start) -> None:
    case = start(usable=8)
    case.add(B=(4, 9), C=(4, 9), D=(4, 9), E=(3, 9))
    case.step("B:4 C:4 D:4 E:3", free=4)
    case.step("B:1 C:1 D:1 E:1", free=1)
    for _ in range(3):
        case.step("B:1 C:1 D:1 E:1", free=0)
    case.step("B:1 C:1", PRE="D E", R="B C", W="D E", free=2)
    for _ in range(2):
        case.step("B:1 C:1", R="B C", W="D E")
    case.step("B:1 C:1", out="B/length C/length")
    case.step("D:9 E:8", resumed="D E", FIN="B C")
    case.finish(by=13)
    assert case.totals == dict.fromkeys("BCDE", 9)


def test_s02_one_request_evicts_several_in_one_step(start: Start) -> None:
    case = start(usable=4, num_drafts=7)
    case.add(A=(4, 12), B=(4, 2), C=(4, 2), D=(4, 2))
    case.step("A:4 B:4 C:4 D:4", free=0)
    case.drafts(A=7)
    case.step("A:8", accept={"A": 7}, PRE="B C D", R="A", W="B C D", free=1, drafts="A:7", out="A:8")
    for _ in range(3):
        case.step("A:1", R="A", W="B C D")
    assert case.totals["A"] == 12
    case.step("B:5 C:5", resumed="B C", FIN="A", out="B/length C/length")
    case.step("D:5", resumed="D", out="D/length")


def test_s03_a_lone_request_that_outgrows_the_pool_waits_for_ever(start: Start) -> None:
    case = start(usable=2)
    case.add(A=(4, 20))
    case.step("A:4")
    for _ in range(4):
        case.step("A:1")
    assert case.totals == {"A": 5}
    case.step("", PRE="A", R="", W="A", free=2)
    for _ in range(3):
        case.step("", R="", W="A", free=2)
    case.add(B=(4, 1))
    for _ in range(2):
        case.step("", R="", W="A B", free=2)


def test_s04_a_chunked_prefill_is_preempted_again_and_again(start: Start) -> None:
    case = start(usable=7, budget=8, max_num_seqs=4)
    case.add(A=(4, 14))
    case.step("A:4")
    case.add(L=(24, 4))
    case.step("A:1 L:7", new="L")
    case.step("A:1 L:7")
    for num_more in (1, 1, 0, 0, 0):
        case.step("A:1", PRE="L", R="A", W="L")
        if case.num_steps < 14:
            case.step("A:1 L:7", resumed="L")
        for _ in range(num_more):
            case.step("A:1 L:7")
    assert case.totals == {"A": 14}
    case.step("L:8", resumed="L", FIN="A")
    _end_of_long_prefill(case)


def test_s04_a_reservation_of_the_whole_prompt_avoids_the_thrash(start: Start) -> None:
    case = start(usable=7, budget=8, max_num_seqs=4, reserve_full_isl=True)
    case.add(A=(4, 14))
    case.step("A:4")
    case.add(L=(24, 4))
    for _ in range(2, 15):
        case.step("A:1", R="A", W="L")
    case.step("L:8", new="L", FIN="A")
    _end_of_long_prefill(case)


def _end_of_long_prefill(case: Case) -> None:
    for _ in range(2):
        case.step("L:8")
    for _ in range(3):
        case.step("L:1")
    case.queues(R="", W="")
    assert case.totals == {"A": 14, "L": 4}


def test_s05_a_victim_scheduled_in_the_same_step_is_rolled_back(start: Start) -> None:
    case = start(policy="priority", usable=3)
    case.add(L=(4, 6), prio=5)
    case.step("L:4")
    case.add(H=(3, 6), prio=0)
    case.step("L:1 H:3")
    case.step("L:1 H:1", free=0)
    case.step("H:1", PRE="L", R="H", W="L", free=1)
    for _ in range(2):
        case.step("H:1")
    case.step("H:1", out="H/length")
    case.step("L:7", resumed="L", FIN="H")
    case.finish(by=10)
    assert case.totals == {"L": 6, "H": 6}


def test_s06_nobody_is_skipped_after_an_earlier_entry_was_evicted(start: Start) -> None:
    case = start(policy="priority", usable=4)
    case.add(L=(3, 6), prio=5)
    case.step("L:3")
    case.add(H=(3, 6), prio=0)
    case.add(M=(3, 6), prio=1)
    case.step("L:1 H:3 M:3")
    case.step("L:1 H:1 M:1", free=0)
    case.step("H:1 M:1", PRE="L", R="H M", W="L", free=0)
    for _ in range(2):
        case.step("H:1 M:1")
    case.step("H:1 M:1", out="H/length M/length")
    case.step("L:6", resumed="L")
    case.finish(by=10)
    assert case.totals == {"L": 6, "H": 6, "M": 6}


def test_s07_a_victim_that_was_visited_but_deferred_moves_the_cursor_too(start: Start) -> None:
    case = start(policy="priority", usable=6, budget=12, max_num_seqs=5, threshold=4)
    case.add(A=(40, 2), prio=9)
    case.step("A:12")
    case.add(B=(4, 8), prio=0)
    case.add(C=(3, 8), prio=1)
    case.step("A:4 B:4 C:3", free=0)
    case.step("B:1 C:1", throttle=True, PRE="A", R="B C", W="A", free=3)
    case.step("B:1 C:1 A:4", resumed="A", R="B C A")
    case.step("B:1 C:1 A:4", R="B C A")


def test_s08_drafts_of_a_victim_scheduled_in_the_same_step_are_rolled_back(start: Start) -> None:
    case = start(policy="priority", usable=3, num_drafts=2)
    case.add(L=(4, 8), prio=5)
    case.step("L:4")
    case.add(H=(3, 8), prio=0)
    case.step("L:1 H:3", drafts="")
    case.drafts(L=2, H=2)
    case.step("H:3", accept={"H": 1}, drafts="H:2", PRE="L", R="H", free=1, out="H:2")
    case.drafts(H=2)
    case.step("H:3", drafts="H:2", out="H")
    for _ in range(3):
        case.step("H:1")
    case.step("H:1", out="H/length")
    case.step("L:6", resumed="L", drafts="")
    case.finish(by=14)
    assert case.totals == {"L": 8, "H": 8}


def test_s09_the_encoder_budget_of_a_victim_of_the_same_step_returns(start: Start) -> None:
    case = start(policy="priority", usable=5, threshold=4, encoder_budget=4, encoder_cache=16)
    case.add(Z=(4, 1), prio=9)
    case.add(L=(12, 2), prio=5, image=(8, 4))
    case.step("L:4 Z:4", out="Z/length")
    case.add(H=(4, 4), prio=0)
    case.add(M=(12, 2), prio=1, image=(4, 4))
    case.step("L:4 H:4 M:4", images="", free=1)
    case.step("H:1 M:4", images="M", PRE="L", R="H M", free=1)
    case.step("H:1 M:4", images="")
    case.step("H:1", PRE="M", out="H/length")
    case.finish(by=11)
    assert case.totals == {"Z": 1, "L": 2, "H": 4, "M": 2}


@pytest.mark.parametrize("policy", ["priority", "fcfs"])
def test_s10_order_in_which_a_preempted_request_returns(start: Start, policy: str) -> None:
    case = start(policy=policy, usable=4, max_num_seqs=2)
    case.add(X=(4, 6), arr=1)
    case.add(B=(8, 3), arr=3)
    case.step("X:4 B:8")
    case.add(A=(4, 2), arr=2)
    case.step("X:1", PRE="B", W="A B" if policy == "priority" else "B A")
    if policy == "priority":
        case.step("X:1 A:4", new="A")
        case.step("X:1 A:1", out="X A/length")
        case.step("X:1", R="X", W="B")
        case.step("X:1", out="X/length")
        case.step("B:9", resumed="B")
        case.step("B:1", out="B/length")
    else:
        for _ in range(3):
            case.step("X:1", R="X", W="B A")
        case.step("X:1", out="X/length")
        case.step("B:9 A:4", resumed="B", new="A")
        case.step("B:1", PRE="A", out="B/length")
        case.step("A:5", resumed="A", out="A/length")
    case.queues(R="", W="")
