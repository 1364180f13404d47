"""Replays planned requests by clock over HTTP: streams every answer, and really hangs up where the plan says so.

Open loop: a request is due at its own time whatever became of the others, so a slow server cannot slow its own load.
Every time is read from the monotonic clock; latencies are made of them in `bench.analysis.latencies`.
"""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic_ns
from typing import Any

import aiohttp

from bench.errors import MeasureError
from bench.measure.serving.schedule import PlannedRequest
from bench.units import NS_PER_S

LEAD_NS = NS_PER_S // 20  # from the making of the tasks to the first moment that may be due
DATA = b"data: "
DONE = b"[DONE]"


class ReplayError(MeasureError):
    """A request of a replay was refused, cut off, or hung; the replay was broken off."""


@dataclass
class Answer:
    """What one request got: `received_ns` and `num_tokens` hold an entry a streamed chunk."""

    planned: PlannedRequest
    due_ns: int
    sent_ns: int = 0
    ended_ns: int = 0
    hung_up: bool = False
    received_ns: list[int] = field(default_factory=list)
    num_tokens: list[int] = field(default_factory=list)

    @property
    def total_tokens(self) -> int:
        """Output tokens that came."""
        return sum(self.num_tokens)


@dataclass(frozen=True)
class Replay:
    """All answers of one replay, in the order planned, and the moment that the plan's times count from."""

    began_ns: int
    ended_ns: int
    answers: tuple[Answer, ...]


async def replay(
    url: str, model: str, requests: Sequence[PlannedRequest], *, salt: str, request_limit_s: float
) -> Replay:
    """Send every request at its time and wait for all; raises ReplayError for the first that goes wrong.

    `salt` keeps prefix blocks of this replay apart from those of earlier ones in the server's cache.
    """
    gc.collect()  # here, and not while answers come in
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(url, connector=connector, timeout=timeout) as session:
        began_ns = monotonic_ns() + LEAD_NS
        answers = tuple(Answer(planned, began_ns + planned.due_ns) for planned in requests)
        try:
            async with asyncio.TaskGroup() as tasks:
                for answer in answers:
                    body = _body(answer.planned, model, salt)
                    tasks.create_task(_ask(session, answer, body, request_limit_s))
        except ExceptionGroup as group:  # the first to fail has cancelled the others
            raise group.exceptions[0] from None
    return Replay(began_ns, monotonic_ns(), answers)


def _body(planned: PlannedRequest, model: str, salt: str) -> bytes:
    """The request as JSON, made before it is due; `return_token_ids` is the only way to count without a tokenizer."""
    content: dict[str, Any] = {
        "model": model,
        "prompt": planned.prompt,
        "max_tokens": planned.max_tokens,
        "temperature": 0,
        "ignore_eos": True,
        "stream": True,
        "return_token_ids": True,
        "cache_salt": salt,
        "request_id": f"{salt}-{planned.request_id}",  # one id never means two requests
    }
    if planned.priority:
        content["priority"] = planned.priority
    return json.dumps(content).encode()


async def _ask(session: aiohttp.ClientSession, answer: Answer, body: bytes, limit_s: float) -> None:
    wait_ns = answer.due_ns - monotonic_ns()
    if wait_ns > 0:
        await asyncio.sleep(wait_ns / NS_PER_S)
    answer.sent_ns = monotonic_ns()
    try:
        async with asyncio.timeout(limit_s):
            await _stream(session, answer, body)
    except TimeoutError:
        raise _failed(answer, f"did not end within {limit_s:g} s (serve.request_limit_s)") from None
    except aiohttp.ClientConnectorError as error:
        raise _failed(answer, f"was refused: {error.os_error.strerror or error}") from error
    except (aiohttp.ClientError, ConnectionError) as error:
        raise _failed(answer, f"was cut off: {type(error).__name__}") from error
    answer.ended_ns = monotonic_ns()


async def _stream(session: aiohttp.ClientSession, answer: Answer, body: bytes) -> None:
    async with session.post("/v1/completions", data=body, headers={"Content-Type": "application/json"}) as response:
        if response.status != 200:
            text = " ".join((await response.text(errors="replace")).split())
            raise _failed(answer, f"was answered with status {response.status}: {text[:200]}")
        async for line in response.content:
            received_ns = monotonic_ns()
            if not line.startswith(DATA):
                continue
            if line[len(DATA) :].strip() == DONE:
                if not answer.total_tokens:
                    raise _failed(answer, "ended")
                return
            _note(answer, line[len(DATA) :], received_ns)
            if answer.planned.hang_up_after is not None and answer.total_tokens >= answer.planned.hang_up_after:
                answer.hung_up = True
                response.close()  # closes the connection: the server sees its client go
                return
    raise _failed(answer, "was cut off: the stream ended early")


def _note(answer: Answer, data: bytes, received_ns: int) -> None:
    try:
        event = json.loads(data)
        if "error" in event:
            raise _failed(answer, f"was answered with an error: {str(event['error'])[:200]}")
        num_tokens = sum(len(choice.get("token_ids") or ()) for choice in event["choices"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _failed(answer, f"was answered with something else than a completion ({type(error).__name__})") from error
    if num_tokens:
        answer.received_ns.append(received_ns)
        answer.num_tokens.append(num_tokens)


def _failed(answer: Answer, what: str) -> ReplayError:
    return ReplayError(f"request {answer.planned.request_id} {what} after {answer.total_tokens} tokens")
