from __future__ import annotations

import pytest

from bench.engine.delivery import Delivery
from bench.errors import TraceError
from bench.traces.model import TraceRequest
from tests.engine.conftest import request, trace_of


def names(requests: list[TraceRequest]) -> list[str]:
    return [one.request_id for one in requests]


def test_arrivals_come_at_their_step_in_trace_order() -> None:
    delivery = Delivery(trace_of(request("b"), request("a"), request("c", arrives=2)))
    assert [names(delivery.arrivals(step)) for step in range(3)] == [["b", "a"], [], ["c"]]


def test_aborts_at_one_step_come_in_one_call() -> None:
    delivery = Delivery(trace_of(request("a", abort_step=2), request("b", abort_step=2), request("c")))
    assert [delivery.aborts(step) for step in range(4)] == [[], [], ["a", "b"], []]


def test_a_client_goes_away_once_it_got_its_tokens() -> None:
    delivery = Delivery(trace_of(request("a", output=9, abort_after=3), request("b")))
    delivery.note_tokens("a", 2)
    assert delivery.aborts(1) == []
    delivery.note_tokens("a", 1)
    delivery.note_tokens("b", 5)
    assert delivery.aborts(2) == ["a"]
    delivery.note_tokens("a", 1)
    assert delivery.aborts(3) == []


def test_totals_and_increments_count_alike() -> None:
    delivery = Delivery(trace_of(request("a", output=9, abort_after=3)))
    delivery.note_total("a", 2)
    delivery.note_total("a", 3)
    assert delivery.aborts(1) == ["a"]


def test_the_last_event_is_the_last_arrival_or_abort() -> None:
    assert Delivery(trace_of(request("a", output=9, abort_step=7), request("b", arrives=3))).last_event == 7


def test_a_trace_without_steps_is_refused_by_request() -> None:
    by_clock = TraceRequest(request_id="a", timestamp=0.0, input_length=4, output_length=4)
    with pytest.raises(TraceError, match="request a has no arrival_step"):
        Delivery(trace_of(by_clock))
