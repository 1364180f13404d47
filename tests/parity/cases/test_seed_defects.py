"""Traces that the patch as posted fails on, numbered as its defects; those that an installed vLLM can still meet."""

from __future__ import annotations

from .conftest import Start


def test_defects_1_and_3_the_requester_is_its_own_victim(start: Start) -> None:
    case = start(usable=3)
    case.add(A=(4, 6), B=(4, 6))
    case.step("A:4 B:4", free=1)
    case.step("A:1", PRE="B", R="A", W="B", free=1)
    for _ in range(3):
        case.step("A:1", R="A", W="B")
    case.step("A:1", out="A/length")
    case.step("B:5", resumed="B", FIN="A")
    case.finish(by=11)
    assert case.totals == {"A": 6, "B": 6}


def test_defect_2_one_eviction_is_enough(start: Start) -> None:
    case = start(usable=3)
    case.add(A=(7, 4), B=(2, 4))
    case.step("A:7 B:2", free=0)
    case.step("A:1 B:1", free=0)
    case.step("A:1", PRE="B", R="A", W="B", free=0)
    case.step("A:1", out="A/length")
    case.step("B:4", resumed="B")
    case.finish(by=6)


def test_defect_2_two_evictions_in_one_step_take_two_requests(start: Start) -> None:
    case = start(usable=5)
    case.add(A=(4, 3), B=(4, 3), C=(4, 3), D=(4, 3))
    case.step("A:4 B:4 C:4 D:4", free=1)
    case.step("A:1 B:1", PRE="C D", R="A B", W="C D", free=1)
    case.step("A:1 B:1", out="A/length B/length")
    case.step("C:5 D:5", resumed="C D")
    case.finish(by=5)


def test_defect_4_a_victim_is_not_visited_again(start: Start) -> None:
    case = start(usable=3, budget=4, max_num_seqs=4)
    case.add(A=(4, 6), B=(4, 6))
    case.step("A:4")
    case.step("A:1 B:3")
    case.step("A:1 B:1")
    case.step("A:1", PRE="B", R="A", W="B")
    case.step("A:1 B:3", resumed="B")
    assert case.totals == {"A": 5, "B": 1}


def test_defect_5_a_victim_is_scheduled_once_when_it_returns(start: Start) -> None:
    case = start(usable=3)
    case.add(A=(4, 2), B=(4, 2))
    case.step("A:4 B:4")
    case.step("A:1", PRE="B", out="A/length")
    case.step("B:5", resumed="B", R="B", W="", out="B/length")


def test_defect_6_two_victims_are_two_requests(start: Start) -> None:
    case = start(usable=4)
    case.add(A=(8, 3), B=(4, 3), C=(4, 3))
    case.step("A:8 B:4 C:4", free=0)
    case.step("A:1", PRE="B C", R="A", W="B C", free=1)
    case.step("A:1", out="A/length")
    case.step("B:5 C:5", resumed="B C", R="B C", W="")
    case.finish(by=5)
    assert case.totals == {"A": 3, "B": 3, "C": 3}


def test_defect_8_the_walk_goes_on_after_an_eviction(start: Start) -> None:
    case = start(usable=4)
    case.add(A=(4, 3), B=(4, 3), C=(4, 3))
    case.step("A:4 B:4 C:4", free=1)
    case.step("A:1 B:1", PRE="C", R="A B", W="C", free=0)
    case.finish(by=5)


def test_defect_10_an_aborted_victim_is_gone(start: Start) -> None:
    case = start(usable=3)
    case.add(A=(4, 9), B=(4, 9))
    case.step("A:4 B:4")
    case.step("A:1", PRE="B", R="A", W="B")
    case.abort("B")
    case.queues(R="A", W="")
    case.step("A:1", FIN="B", R="A", W="")
    case.finish(by=9)
    assert case.totals == {"A": 9, "B": 1}


def test_defect_11_nobody_runs_after_the_last_one_was_its_own_victim(start: Start) -> None:
    case = start(usable=2)
    case.add(A=(8, 20))
    case.step("A:8")
    case.step("", PRE="A", R="", W="A", free=2)


def test_defect_12_a_victim_leaves_its_slot(start: Start) -> None:
    case = start(usable=3, max_num_seqs=2)
    case.add(A=(4, 3), B=(4, 3), N=(1, 1))
    case.step("A:4 B:4", W="N")
    case.step("A:1", PRE="B", R="A", W="B N")
    case.step("A:1", R="A", W="B N", out="A/length")
    case.step("B:5 N:1", resumed="B", new="N", R="B N", W="")


def test_defect_13_a_resumed_request_goes_to_the_tail(start: Start) -> None:
    case = start(policy="priority", usable=4)
    case.add(A=(4, 6), prio=1)
    case.step("A:4")
    case.add(B=(4, 8), C=(4, 8), prio=0)
    case.step("A:1 B:4 C:4", R="A B C", free=0)
    case.step("B:1 C:1", PRE="A", R="B C", W="A", free=0)
    case.abort("C")
    case.step("B:1 A:6", resumed="A", R="B A")


def test_defect_16_each_grammar_has_its_own_row(start: Start) -> None:
    case = start(usable=40)
    case.add(P=(4, 4))
    case.add(G1=(4, 3), G2=(4, 3), grammar=True)
    case.compile_grammars("G1 G2")
    case.step("P:4 G1:4 G2:4", rows="G1 G2")
    case.step("P:1 G1:1 G2:1", rows="G1 G2")


def test_defect_16_a_plain_request_between_takes_no_row(start: Start) -> None:
    case = start(usable=40)
    case.add(G1=(4, 3), grammar=True)
    case.add(P=(4, 4))
    case.add(G2=(4, 3), G3=(4, 3), grammar=True)
    case.compile_grammars("G1 G2 G3")
    case.step("G1:4 P:4 G2:4 G3:4", rows="G1 G2 G3")
