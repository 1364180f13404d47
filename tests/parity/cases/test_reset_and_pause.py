"""Shared case S24: a forced reset of the prefix cache, and pauses."""

from __future__ import annotations

from .conftest import Start


def test_s24_after_a_reset_all_come_back_in_their_order(start: Start) -> None:
    case = start(prefix_caching=True)
    case.add(A=(6, 5), B=(6, 5), C=(6, 5))
    case.step("A:6 B:6 C:6")
    case.step("A:1 B:1 C:1")
    case.add(W0=(4, 2))
    case.reset_prefix_cache()
    case.step("A:8 B:8 C:8 W0:4", resumed="A B C", new="W0", PRE="A B C", R="A B C W0")
    case.finish(by=5)


def test_s24_pauses_keep_what_runs(start: Start) -> None:
    case = start(max_num_seqs=2)
    case.add(A=(4, 4), B=(4, 6))
    case.step("A:4 B:4")
    case.pause("PAUSED_ALL")
    case.step("", R="A B")
    case.add(C=(4, 2))
    case.step("", R="A B", W="C")
    case.pause("PAUSED_NEW")
    for _ in range(2):
        case.step("A:1 B:1")
    case.step("A:1 B:1", out="A/length B")
    case.step("B:1", R="B", W="C")
    case.pause("UNPAUSED")
    case.step("B:1 C:4")
