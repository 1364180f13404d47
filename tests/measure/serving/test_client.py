"""The client against a real HTTP server in the same process, which sees what is sent and who leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from aiohttp.test_utils import TestServer

from bench.measure.serving.client import Replay, ReplayError, replay
from bench.measure.serving.schedule import PlannedRequest
from tests.measure.serving.fake_server import FakeServer

MS = 1_000_000


def planned(name: str, due_ms: float = 0, tokens: int = 6, hang_up_after: int | None = None) -> PlannedRequest:
    return PlannedRequest(name, round(due_ms * MS), [5, 6, 7], tokens, hang_up_after=hang_up_after)


def run(fake: FakeServer, requests: Sequence[PlannedRequest], limit_s: float = 60.0) -> Replay:
    async def both() -> Replay:
        async with TestServer(fake.app()) as server:
            done = await replay(str(server.make_url("/")), "model", requests, salt="s", request_limit_s=limit_s)
            while len(fake.gone) < sum(request.hang_up_after is not None for request in requests):
                await asyncio.sleep(0.01)  # the server's handlers notice after the client has gone
            return done

    return asyncio.run(asyncio.wait_for(both(), 120))


def test_every_token_of_every_request_is_counted_when_it_comes() -> None:
    done = run(FakeServer(), [planned("a"), planned("b", tokens=3)])
    assert [answer.total_tokens for answer in done.answers] == [6, 3]
    for answer in done.answers:
        moments = [answer.due_ns, answer.sent_ns, *answer.received_ns, answer.ended_ns, done.ended_ns]
        assert moments == sorted(moments)
        assert not answer.hung_up


def test_times_count_from_the_intended_arrival_and_no_request_is_early() -> None:
    done = run(FakeServer(), [planned("a"), planned("b", due_ms=30)])
    assert [answer.due_ns - done.began_ns for answer in done.answers] == [0, 30 * MS]
    assert all(answer.sent_ns >= answer.due_ns for answer in done.answers)


def test_a_request_is_sent_at_its_time_however_slow_the_answers_are() -> None:
    done = run(FakeServer("waits-2"), [planned("a"), planned("b", due_ms=50)])
    slow_one, later = done.answers
    assert later.sent_ns < slow_one.ended_ns


def test_a_client_that_hangs_up_is_gone_for_the_server_too() -> None:
    fake = FakeServer(token_s=0.02)
    done = run(fake, [planned("stays"), planned("leaves", tokens=500, hang_up_after=2)])
    stays, leaves = done.answers
    assert (leaves.hung_up, leaves.total_tokens) == (True, 2)
    assert (stays.hung_up, stays.total_tokens) == (False, 6)
    assert fake.gone == ["s-leaves"]


def test_what_is_sent_is_what_vllm_needs_to_answer_alike_every_time() -> None:
    fake = FakeServer()
    run(fake, [planned("a")])
    (body,) = fake.seen
    assert body["prompt"] == [5, 6, 7]
    assert (body["max_tokens"], body["ignore_eos"], body["temperature"]) == (6, True, 0)
    assert (body["stream"], body["return_token_ids"]) == (True, True)
    assert body["cache_salt"] == "s"
    assert "priority" not in body  # vLLM refuses one under fcfs


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("refuses", "request a was answered with status 429: .*the queue is full.* after 0 tokens"),
        ("cuts", "request a was cut off: .* after 2 tokens"),
        ("errs", "request a was answered with an error: .*the engine is dead.* after 2 tokens"),
        ("babbles", "request a was answered with something else than a completion .* after 2 tokens"),
    ],
)
def test_what_goes_wrong_is_told_in_one_line(mode: str, message: str) -> None:
    with pytest.raises(ReplayError, match=message) as raised:
        run(FakeServer(mode), [planned("a")])
    assert "\n" not in str(raised.value)


def test_a_request_that_hangs_is_given_up() -> None:
    with pytest.raises(ReplayError, match=r"request a did not end within 3 s .* after 2 tokens"):
        run(FakeServer("hangs"), [planned("a")], limit_s=3.0)


def test_an_answer_without_a_token_is_a_failure() -> None:
    with pytest.raises(ReplayError, match="request a ended after 0 tokens"):
        run(FakeServer(), [planned("a", tokens=0)])


def test_nobody_listening_is_a_refusal_and_stops_the_rest() -> None:
    async def ask() -> None:
        requests = [planned("a"), planned("b", due_ms=3_600_000)]
        await replay("http://127.0.0.1:9", "model", requests, salt="s", request_limit_s=5)

    with pytest.raises(ReplayError, match="request a was refused: "):
        asyncio.run(asyncio.wait_for(ask(), 60))
