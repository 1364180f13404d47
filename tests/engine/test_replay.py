from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bench.engine.probe import StepReading
from bench.engine.replay import ReplaySession
from tests.engine.conftest import request, trace_of

Open = Callable[..., ReplaySession]


def run(session: ReplaySession) -> list[StepReading]:
    readings = []
    while not session.is_done:
        assert len(readings) < 200
        readings.append(session.step())
    return readings


def tokens_of(session: ReplaySession) -> dict[str, int]:
    """Tokens that each request got, as the engine would hand them out."""
    got: dict[str, int] = {}

    def observe(scheduled: Any, outputs: Any) -> None:
        for batch in (outputs or {}).values():
            for output in batch.outputs:
                got[output.request_id] = got.get(output.request_id, 0) + len(output.new_token_ids)

    while not session.is_done:
        assert session.next_step < 200
        session.step(observe)
    return got


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("variant", ["list", "dict"])
def test_every_request_gets_exactly_its_tokens(open_session: Open, variant: str, ahead: bool) -> None:
    trace = trace_of(request("a", output=3), request("b", output=5), request("c", output=1, arrives=2))
    session = open_session(trace, variant, async_scheduling=ahead)
    assert tokens_of(session) == {"a": 3, "b": 5, "c": 1}


def test_a_request_is_admitted_in_the_step_it_arrives_in(open_session: Open) -> None:
    readings = run(open_session(trace_of(request("a", output=3), request("b", output=2, arrives=1))))
    assert [reading.running for reading in readings[:3]] == [1, 2, 2]
    assert [reading.scheduled_tokens for reading in readings[:3]] == [4, 5, 2]


def test_a_finish_is_counted_in_its_step(open_session: Open) -> None:
    readings = run(open_session(trace_of(request("a", output=1), request("b", output=3))))
    assert [reading.finished for reading in readings[:3]] == [1, 0, 1]


def test_an_abort_step_takes_the_request_out_before_that_step(open_session: Open) -> None:
    readings = run(open_session(trace_of(request("a", output=9, abort_step=3), request("b", output=5))))
    assert [reading.running for reading in readings[:4]] == [2, 2, 2, 1]
    assert [reading.aborted for reading in readings[:4]] == [0, 0, 0, 1]
    assert readings[3].finish_ns > 0
    assert readings[2].finish_ns == 0


def test_a_client_goes_away_after_the_tokens_it_names(open_session: Open) -> None:
    session = open_session(trace_of(request("a", output=9, abort_after=2), request("b", output=5)))
    assert tokens_of(session)["a"] == 2


def test_a_prompt_in_chunks_gets_no_token_before_its_last_chunk(open_session: Open) -> None:
    session = open_session(trace_of(request("a", prompt=40, output=2)), max_num_batched_tokens=16)
    readings = run(session)
    assert [reading.scheduled_tokens for reading in readings[:4]] == [16, 16, 8, 1]
    assert readings[3].finished == 1


def test_starved_requests_are_preempted_and_counted(open_session: Open) -> None:
    trace = trace_of(*(request(name, prompt=30, output=40) for name in "abcd"), kv_tokens=192)
    readings = run(open_session(trace, block_size=16, enable_prefix_caching=False))
    assert sum(reading.preempted for reading in readings) > 0
    assert sum(reading.finished for reading in readings) == 4


def test_steps_between_arrivals_are_idle_and_cost_no_schedule(open_session: Open) -> None:
    readings = run(open_session(trace_of(request("a", output=1), request("b", output=1, arrives=6))))
    assert len(readings) == 7
    assert readings[4].schedule_ns == 0
    assert readings[6].running == 1


def test_parts_of_a_step_lie_within_the_step(open_session: Open) -> None:
    for reading in run(open_session(trace_of(*(request(str(i), output=6) for i in range(8))))):
        assert 0 < reading.schedule_ns + reading.update_ns + reading.finish_ns <= reading.step_ns


def test_both_variants_deliver_prompts_of_the_same_tokens(open_session: Open) -> None:
    trace = trace_of(request("a", prompt=20))
    prompts = []
    for variant in ("list", "dict"):
        session = open_session(trace, variant)
        session.step()
        prompts.append([*session.scheduler.requests["a"].prompt_token_ids])
    assert prompts[0] == prompts[1]
    assert len(prompts[0]) == 20
