"""Shared case S25: a block of the shared prefix never came from the connector."""

from __future__ import annotations

from .conftest import Start
from .driver import Case


def _with_a_bad_block(start: Start, policy: str) -> Case:
    case = start(prefix_caching=True, kv_load_failure_policy=policy)
    case.add(A=(16, 4), external=12, lost_block=1)
    case.add(B=(16, 4), prompt_of="A")
    case.add(Z=(4, 4))
    case.schedule("A:4 B:4 Z:4")
    return case


def test_s25_the_first_owner_recomputes_and_later_sharers_do_not(start: Start) -> None:
    case = _with_a_bad_block(start, "recompute")
    case.update("Z")
    case.step("A:12 B:4 Z:1", out="A B Z")
    case.step("A:1 B:1 Z:1")
    case.step("A:1 B:1 Z:1", out="A B Z/length")
    case.step("A:1 B:1", out="A/length B/length")
    assert case.totals == {"A": 4, "B": 4, "Z": 4}


def test_s25_under_the_fail_policy_all_owners_end_with_an_error(start: Start) -> None:
    case = _with_a_bad_block(start, "fail")
    # In which order the two errors come depends on the hash seed, which both variants share.
    case.update()
    assert case.totals == {"Z": 1, "A": 0, "B": 0}
    assert case.reasons == {"A": "error", "B": "error"}
    case.queues(R="Z", W="")
    case.step("Z:1", FIN="A B")
