from __future__ import annotations

from typing import Any

import pytest

from bench.errors import TraceError
from bench.traces.model import EngineNeeds
from bench.traces.streaming import SessionChecks, SessionInput, session_inputs, session_tokens

from .examples import request, trace


def problem(*requests: Any, streaming: bool = True) -> str | None:
    checks = SessionChecks(60, streaming=streaming)
    found = [checks.problem(each) for each in requests]
    assert all(each is None for each in found[:-1])
    return found[-1]


def test_a_session_is_known_by_its_first_request_and_ends_with_its_last() -> None:
    requests = (request("a", session="s"), request("b"), request("c", session="s"), request("d", session="t"))
    inputs = session_inputs(requests)
    assert inputs == {
        "a": SessionInput("a", False),
        "c": SessionInput("a", True),
        "d": SessionInput("d", True),
    }


def test_a_session_holds_the_tokens_of_all_its_inputs() -> None:
    assert session_tokens((request("a", session="s"), request("b"), request("c", session="s"))) == {"s": 40}


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        ({"lora": "x"}, "lora is 'x', expected that of the first input of its session"),
        ({"grammar": "x"}, "grammar is 'x', expected that of the first input of its session"),
        ({"priority": 2}, "priority is 2, expected that of the first input of its session"),
        ({"abort_after": 2}, "abort_after is given in a streaming session, expected abort_step"),
        ({"external_tokens": 4}, "external_tokens is 4 in a streaming session, expected 0"),
        ({"input_length": 37}, "its session has 61 tokens so far, expected ≤ 60, the trace's max_model_len"),
    ],
)
def test_an_impossible_input_is_described(later: dict[str, Any], expected: str) -> None:
    assert problem(request("a", session="s"), request("b", session="s", **later)) == expected
    assert problem(request("a", session="s"), request("b", session="s", **later), streaming=False) is None


def test_nothing_comes_after_an_abort() -> None:
    gone = request("a", session="s", arrival_step=1, abort_step=2)
    found = problem(gone, request("b", session="s", arrival_step=3))
    assert found == "session 's' goes on after an input with an abort, expected it to be the last one"


def test_a_trace_of_an_impossible_session_is_refused() -> None:
    needs = EngineNeeds(8, 64, 4096, 30, streaming_sessions=True)
    with pytest.raises(TraceError, match=r"request 2 \('b'\): its session has 40 tokens so far, expected ≤ 30"):
        trace(request("a", session="s"), request("b", session="s"), engine=needs)
