"""Shared cases S11, S20, S22 and S23: who is let into RUNNING, in which order, and how many."""

from __future__ import annotations

from .conftest import Start


def test_s11_a_more_urgent_request_does_not_take_the_slot_of_a_running_one(start: Start) -> None:
    case = start(policy="priority", usable=20, max_num_seqs=2)
    case.add(L1=(4, 4), L2=(4, 6), prio=5)
    case.step("L1:4 L2:4")
    case.add(H=(4, 2), prio=-10)
    case.add(L3=(4, 2), prio=5)
    for _ in range(2):
        case.step("L1:1 L2:1", R="L1 L2", W="H L3")
    case.step("L1:1 L2:1", out="L1/length L2")
    case.step("L2:1 H:4", W="L3")
    case.step("L2:1 H:1", out="L2/length H/length")
    case.step("L3:4", W="")


def test_s11_ties_of_priority_and_arrival_are_broken_by_id(start: Start) -> None:
    case = start(policy="priority", max_num_seqs=1)
    case.add(x2=(4, 1), x0=(4, 1), x1=(4, 1), arr=7)
    case.add(y=(4, 1), prio=1, arr=6)
    case.add(z=(4, 1), prio=-1, arr=9)
    for name in ("z", "x0", "x1", "x2", "y"):
        case.step(f"{name}:4", out=f"{name}/length")


def test_s20_never_more_than_max_num_seqs_run(start: Start) -> None:
    case = start(max_num_seqs=2)
    case.add(r0=(4, 2), r1=(4, 3), r2=(4, 2), r3=(4, 3), r4=(4, 2))
    case.step("r0:4 r1:4", R="r0 r1")
    case.step("r0:1 r1:1", R="r0 r1")
    case.step("r1:1 r2:4", R="r1 r2")
    case.step("r2:1 r3:4", R="r2 r3")
    case.step("r3:1 r4:4", R="r3 r4")
    case.step("r3:1 r4:1", out="r3/length r4/length")


def test_s20_the_admission_cap_may_be_lower_than_the_slots(start: Start) -> None:
    case = start(max_num_seqs=4, max_num_active_seqs=1)
    case.add(a=(4, 2), b=(4, 2), c=(4, 2))
    for name in "abc":
        case.step(f"{name}:4", R=name)
        case.step(f"{name}:1", R=name, out=f"{name}/length")
    assert case.num_steps == 6
    case.queues(R="", W="")


def test_s20_a_session_that_waits_for_input_keeps_its_slot(start: Start) -> None:
    case = start(max_num_seqs=1)
    case.add(S=(4, 2), resumable=True)
    case.step("S:4")
    case.step("S:1", R="S")
    case.queues(R="", W="S")
    case.add(N=(4, 2))
    for _ in range(2):
        case.step("", R="", W="S N")
    case.abort("S")
    case.step("N:4", FIN="S", R="N", W="")


def test_s22_requests_whose_grammar_compiles_keep_their_order(start: Start) -> None:
    case = start()
    case.add(g1=(4, 6), g2=(4, 6), grammar=True)
    case.add(n1=(4, 6))
    case.add(g3=(4, 6), grammar=True)
    case.add(n2=(4, 6))
    case.step("n1:4 n2:4", W="g1 g2 g3", rows="")
    case.compile_grammars("g3")
    case.step("n1:1 n2:1 g3:4", W="g1 g2", rows="g3")
    case.compile_grammars("g1 g2")
    case.step("n1:1 n2:1 g3:1 g1:4 g2:4", W="", rows="g3 g1 g2")


def test_s22_grammar_rows_follow_the_schedule(start: Start) -> None:
    case = start(budget=9, max_num_seqs=8)
    case.add(p1=(2, 6))
    case.add(G1=(2, 6), grammar=True)
    case.add(p2=(2, 2))
    case.add(G2=(2, 6), grammar=True)
    case.compile_grammars("G1 G2")
    case.step("p1:2 G1:2 p2:2 G2:2", rows="G1 G2")
    case.add(G3=(10, 2), grammar=True)
    case.compile_grammars("G3")
    case.step("p1:1 G1:1 p2:1 G2:1 G3:5", rows="G1 G2")
    case.step("p1:1 G1:1 G2:1 G3:5", rows="G1 G2 G3")
    case.abort("G1")
    case.step("p1:1 G2:1 G3:1", rows="G2 G3")
    case.step("p1:1 G2:1", rows="G2")


def test_s22_a_token_that_the_grammar_refuses_ends_only_its_request(start: Start) -> None:
    case = start()
    case.add(p1=(4, 5))
    case.add(G1=(4, 6), grammar=True)
    case.add(p2=(4, 4))
    case.compile_grammars("G1")
    case.step("p1:4 G1:4 p2:4")
    case.refuse_tokens_of("G1")
    case.step("p1:1 G1:1 p2:1", out="p1 G1/error p2")
    case.step("p1:1 p2:1", FIN="G1", R="p1 p2")


def test_s23_a_request_above_the_lora_limit_is_skipped(start: Start) -> None:
    case = start(max_loras=1)
    case.add(a=(4, 2), lora=1)
    case.add(b=(4, 2), lora=2)
    case.add(c=(4, 4))
    case.add(d=(4, 3), lora=1)
    case.add(e=(4, 2), lora=2)
    case.step("a:4 c:4 d:4", W="b e")
    case.step("a:1 c:1 d:1", out="a/length c d")
    case.step("c:1 d:1", W="b e", out="c d/length")
    case.step("c:1 b:4 e:4", out="c/length b e")
    case.step("b:1 e:1", out="b/length e/length")
