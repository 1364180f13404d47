from __future__ import annotations

import math
from typing import Any

import pytest

from bench.traces.checks import RequestChecks, shown

from .examples import request


def problem(*requests: Any, max_model_len: int = 2048) -> str | None:
    checks = RequestChecks(max_model_len, hash_block_tokens=512)
    found = [checks.problem(each) for each in requests]
    assert all(each is None for each in found[:-1])
    return found[-1]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"input_length": 0}, "input_length is 0, expected ≥ 1"),
        ({"output_length": 0}, "output_length is 0, expected ≥ 1"),
        ({"output_length": -5}, "output_length is -5, expected ≥ 1"),
        ({"input_length": 10_000_001}, "input_length is 10000001, expected ≤ 10000000"),
        ({"input_length": 2045}, "input_length + output_length is 2049, expected ≤ 2048, the trace's max_model_len"),
        ({"timestamp": -1}, "timestamp is -1, expected ≥ 0"),
        ({"timestamp": math.inf}, "timestamp is inf, expected a finite number of ms"),
        ({"timestamp": math.nan}, "timestamp is nan, expected a finite number of ms"),
        ({"timestamp": 1e13}, "timestamp is 10000000000000, expected ≤ 1000000000000 ms from the first request"),
        ({"arrival_step": -1}, "arrival_step is -1, expected ≥ 0"),
        ({"priority": 2**31}, "priority is 2147483648, expected ≤ 2147483647"),
        ({"abort_after": 0}, "abort_after is 0, expected ≥ 1"),
        ({"abort_after": 5}, "abort_after is 5, expected ≤ 4"),
        ({"abort_step": 1}, "abort_step is given without arrival_step, expected both"),
        ({"arrival_step": 2, "abort_step": 1}, "abort_step is 1, expected ≥ 2"),
        (
            {"arrival_step": 2, "abort_step": 2, "abort_after": 1},
            "abort_after and abort_step are both given, expected one",
        ),
        ({"hash_ids": (1, 2)}, "hash_ids has 2 blocks, expected ≤ 1 for 16 tokens in blocks of 512"),
        ({"hash_ids": (-1,)}, "a hash id is -1, expected ≥ 0"),
        ({"request_id": ""}, "request_id is empty, expected at least one character"),
        ({"request_id": "a\nb"}, "request_id 'a\\nb' holds characters that cannot be printed"),
        ({"request_id": "x" * 257}, "request_id has 257 characters, expected ≤ 256"),
        ({"lora": "\ud800"}, "lora '\\ud800' holds characters that cannot be printed"),
        ({"session": ""}, "session is empty, expected at least one character"),
        ({"grammar": "\0"}, "grammar '\\x00' holds characters that cannot be printed"),
        ({"images": ((-1, 2, 0),)}, "the first token of an image is -1, expected ≥ 0"),
        ({"images": ((16, 2, 0),)}, "the first token of an image is 16, expected ≤ 15"),
        ({"images": ((2, 3, 0), (4, 2, 1))}, "the first token of an image is 4, expected ≥ 5"),
        ({"images": ((2, 0, 0),)}, "an image's number of tokens is 0, expected ≥ 1"),
        ({"images": ((2, 15, 0),)}, "an image's number of tokens is 15, expected ≤ 14"),
        ({"images": ((2, 1, -1),)}, "the id of an image is -1, expected ≥ 0"),
        ({"images": ((2, 3, 1), (6, 4, 1))}, "image 1 has 4 tokens, expected 3 as before"),
        ({"external_tokens": -1}, "external_tokens is -1, expected ≥ 0"),
        ({"external_tokens": 16}, "external_tokens is 16, expected ≤ 15"),
        ({"external_tokens": 8, "lost_block": -1}, "lost_block is -1, expected ≥ 0"),
        ({"external_tokens": 8, "load_steps": -1}, "load_steps is -1, expected ≥ 0"),
        ({"load_steps": 2}, "load_steps is given without external_tokens, expected both"),
        ({"lost_block": 0}, "lost_block is given without external_tokens, expected both"),
    ],
)
def test_impossible_request_is_described(changes: dict[str, Any], expected: str) -> None:
    assert problem(request(**{"request_id": "a", **changes})) == expected


@pytest.mark.parametrize(
    "changes",
    [
        {"input_length": 2044},
        {"hash_ids": (0,)},
        {"input_length": 513, "hash_ids": (1, 2)},
        {"arrival_step": 3, "abort_step": 3},
        {"abort_after": 4},
        {"grammar": "root ::= a\n\tb"},
        {"priority": -3},
        {"images": ((0, 8, 3), (8, 8, 3))},
        {"external_tokens": 15, "lost_block": 0},
    ],
)
def test_possible_request_has_no_problem(changes: dict[str, Any]) -> None:
    assert problem(request(**changes)) is None


def test_repeated_id_is_refused() -> None:
    assert problem(request("a"), request("b"), request("a")) == 'request_id "a" was used before, expected unique ids'


def test_time_may_stand_still_but_not_go_backwards() -> None:
    assert problem(request("a", timestamp=2), request("b", timestamp=2)) is None
    backwards = problem(request("a", timestamp=2), request("b", timestamp=1))
    assert backwards == "timestamp is 1, expected ≥ 2 of the request before"


def test_arrival_steps_do_not_go_backwards_and_are_given_for_all_or_none() -> None:
    backwards = problem(request("a", arrival_step=2), request("b", arrival_step=1))
    assert backwards == "arrival_step is 1, expected ≥ 2 of the request before"
    mixed = problem(request("a", arrival_step=2), request("b"))
    assert mixed == "arrival_step is given for some requests only, expected for all or for none"


def test_numbers_of_any_size_can_be_shown() -> None:
    assert shown(10**5000) == "a number of more than 30 digits"
    assert len(shown("x" * 1000)) < 70
