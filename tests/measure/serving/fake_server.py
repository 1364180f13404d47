"""A small server that streams as vLLM's does, and fails on command; a program, and an application for other tests.

Modes: `well`; `never-healthy`; `no-memory` ends at start as vLLM does; `dies-N` ends when N requests have come;
`waits-N` answers nobody in full before; `refuses`, `cuts`, `hangs`, `errs` and `babbles` do so with every request.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from aiohttp import web

from bench.engine.serving import STEP_LOG_VARIABLE
from bench.engine.step_log import StepLogWriter

FIELDS = ("began_ns", "ended_ns")


class FakeServer:
    """Answers completions token by token; `seen` and `gone` name requests that came, and whose clients left."""

    def __init__(self, mode: str = "well", token_s: float = 0.001) -> None:
        self.mode, self.token_s = mode, token_s
        self.seen: list[dict[str, Any]] = []
        self.gone: list[str] = []

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_get("/health", self.health)
        app.router.add_post("/v1/completions", self.complete)
        return app

    async def health(self, request: web.Request) -> web.Response:
        return web.Response(status=503 if self.mode == "never-healthy" else 200)

    async def complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.seen.append(body)
        if self.mode == "refuses":
            return web.json_response({"error": {"message": "the queue is full"}}, status=429)
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await answer.prepare(request)
        try:
            for number in range(body["max_tokens"]):
                await self.fail_on_purpose(answer, number)
                event = {"choices": [{"index": 0, "text": "", "token_ids": [number]}]}
                await answer.write(b"data: " + json.dumps(event).encode() + b"\n\n")
                await asyncio.sleep(self.token_s)
            await answer.write(b"data: [DONE]\n\n")
        except (ConnectionError, asyncio.CancelledError):
            self.gone.append(body["request_id"])
            raise
        return answer

    async def fail_on_purpose(self, answer: web.StreamResponse, number: int) -> None:
        if number != 2:
            return
        if self.mode.startswith("dies-") and len(self.seen) >= int(self.mode.removeprefix("dies-")):
            os.kill(os.getpid(), signal.SIGKILL)
        while self.mode.startswith("waits-") and len(self.seen) < int(self.mode.removeprefix("waits-")):
            await asyncio.sleep(self.token_s)
        if self.mode == "cuts":
            assert answer._req is not None
            assert answer._req.transport is not None
            answer._req.transport.abort()
        if self.mode == "hangs":
            await asyncio.sleep(3600)
        if self.mode == "errs":
            await answer.write(b'data: {"error": {"message": "the engine is dead"}}\n\n')
        if self.mode == "babbles":
            await answer.write(b"data: [}\n\n")


def main() -> None:
    """Arguments: port, mode, facts of the engine as JSON. Has a child that ignores SIGTERM, as a stuck engine core."""
    port, mode, facts = int(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
    if mode == "no-memory":
        print("ValueError: No available memory for the cache blocks. Try another size.", file=sys.stderr)
        print("RuntimeError: Engine core initialization failed. See root cause above.", file=sys.stderr)
        sys.exit(1)
    StepLogWriter(Path(os.environ[STEP_LOG_VARIABLE]), facts.pop("fields", FIELDS), facts)
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(3600)"
    child = subprocess.Popen([sys.executable, "-c", stubborn], start_new_session=True)
    print(f"child {child.pid}", flush=True)
    web.run_app(FakeServer(mode).app(), host="127.0.0.1", port=port, print=None)


if __name__ == "__main__":
    main()
