"""Shared cases S19 and S21: requests that get part of their tokens, or none, while others go on."""

from __future__ import annotations

from .conftest import Start


def test_s19_the_token_budget_ends_inside_a_request(start: Start) -> None:
    case = start(budget=10, max_num_seqs=4)
    case.add(A=(12, 2), B=(9, 3), C=(4, 2))
    case.step("A:10")
    case.step("A:2 B:8")
    case.step("A:1 B:1 C:4", out="A/length B C")
    case.step("B:1 C:1", out="B C/length")
    case.step("B:1", out="B/length")


def test_s19_drafts_starve_those_behind(start: Start) -> None:
    case = start(budget=6, max_num_seqs=6, num_drafts=3)
    case.add(A=(2, 12), B=(2, 12), C=(2, 12))
    case.step("A:2 B:2 C:2")
    for _ in range(2):
        case.drafts(A=3, B=3, C=3)
        case.step("A:4 B:2", drafts="A:3 B:1", R="A B C")


def test_s19_a_long_prefill_is_capped_unless_alone(start: Start) -> None:
    case = start(budget=32, threshold=8)
    case.add(L=(40, 2))
    case.step("L:32")
    case.add(S=(4, 3))
    case.step("L:8 S:4")
    case.step("L:1 S:1")


def test_s19_long_prefills_share_the_budget(start: Start) -> None:
    case = start(budget=24, threshold=8)
    case.add(L=(20, 2), M=(20, 2), N=(20, 2), S=(3, 2))
    for _ in range(2):
        case.step("L:8 M:8 N:8", W="S")
    case.step("L:4 M:4 N:4 S:3", W="")


def test_s19_a_deferred_prefill_is_sent_in_full_again(start: Start) -> None:
    case = start(budget=8, max_num_seqs=4, threshold=4)
    case.add(A=(4, 8))
    case.step("A:4")
    case.add(L=(16, 2))
    case.step("A:1 L:4")
    case.step("A:1", throttle=True, R="A L", full_ids="")
    case.step("A:1 L:4", full_ids="L")


def test_s21_requests_without_encoder_room_do_not_block_those_behind(start: Start) -> None:
    case = start(budget=40, threshold=4, encoder_budget=4, encoder_cache=32)
    case.add(V1=(12, 3), V2=(12, 3), image=(4, 4))
    case.add(T=(4, 4))
    case.step("V1:4 V2:4 T:4")
    case.step("V1:4 T:1", images="V1", R="V1 V2 T")
    case.step("V1:4 V2:4 T:1", images="V2")
    case.step("V1:1 V2:4 T:1", out="V1 V2 T/length")
    case.step("V1:1 V2:1", out="V1/length V2")
    case.step("V2:1", out="V2/length")
