"""The variant in production form: vLLM's own server, its engine core in a process of its own, asked over HTTP."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from bench.engine.environment import worker_environment
from bench.variants import load

MODEL = Path(__file__).resolve().parents[2] / "bench" / "engine" / "models" / "tiny"
SCHEDULER = "bench.variants.dict.Scheduler"
START_LIMIT_S = 400  # takes 15 to 30 s on an idle machine
SIZES = ["--block-size", "32", "--max-model-len", "256", "--max-num-seqs", "8", "--max-num-batched-tokens", "256"]

pytestmark = pytest.mark.timeout(900)


@dataclass(frozen=True)
class Server:
    """A server that answers at `url`; its log is complete up to now."""

    process: subprocess.Popen[bytes]
    url: str
    log: Path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def ask(url: str, body: dict[str, Any] | None = None) -> bytes:
    request = urllib.request.Request(url, headers={"Content-Type": "application/json"})
    data = None if body is None else json.dumps(body).encode()
    # No proxy of the surroundings may stand between the test and its own server.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, data, timeout=300) as answer:
        content: bytes = answer.read()
        return content


def complete(server: Server, prompt: list[int] | list[list[int]], max_tokens: int) -> dict[str, Any]:
    body = {"model": str(MODEL), "prompt": prompt, "max_tokens": max_tokens, "temperature": 0, "ignore_eos": True}
    answer: dict[str, Any] = json.loads(ask(f"{server.url}/v1/completions", {**body, "return_token_ids": True}))
    return answer


def wait_until_it_answers(server: Server) -> None:
    deadline = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline:
        if server.process.poll() is not None:
            break
        with suppress(OSError):
            ask(f"{server.url}/health")
            return
        time.sleep(0.3)
    pytest.fail(f"the server did not come up:\n{server.log.read_text(errors='replace')[-3000:]}")


def stop_group(group: int) -> None:
    """End every process of the session that the server leads, politely first."""
    for number, wait_s in ((signal.SIGTERM, 20.0), (signal.SIGKILL, 10.0)):
        with suppress(ProcessLookupError):
            os.killpg(group, number)
        deadline = time.monotonic() + wait_s
        while members_of(group) and time.monotonic() < deadline:
            time.sleep(0.1)


def members_of(group: int) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError):
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    _ = load("dict").scheduler  # built here, so that the server's start is only vLLM's
    log = tmp_path_factory.mktemp("serve") / "server.log"
    port = free_port()
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(MODEL)]
    # In bfloat16, vLLM takes the AMX kernels of a CPU that has them, which a virtual machine may not let it use.
    command += ["--dtype", "float32", "--load-format", "dummy", "--skip-tokenizer-init", "--enforce-eager", *SIZES]
    command += ["--scheduler-cls", SCHEDULER, "--host", "127.0.0.1", "--port", str(port)]
    # As in production: the engine core runs in its own process, and says what it does.
    environment = {**worker_environment(hash_seed=0), "VLLM_ENABLE_V1_MULTIPROCESSING": "1"}
    environment["VLLM_LOGGING_LEVEL"] = "INFO"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, env=environment, stdout=output, stderr=output, start_new_session=True, cwd=log.parent
        )
    started = Server(process, f"http://127.0.0.1:{port}", log)
    try:
        wait_until_it_answers(started)
        yield started
    finally:
        stop_group(process.pid)
        process.wait(timeout=120)
    assert members_of(process.pid) == [], "processes of the server outlived it"


def test_a_prompt_of_token_ids_is_answered_in_full(server: Server) -> None:
    answer = complete(server, [5, 6, 7, 8], max_tokens=12)
    (choice,) = answer["choices"]
    assert answer["usage"]["prompt_tokens"] == 4
    assert answer["usage"]["completion_tokens"] == len(choice["token_ids"]) == 12
    assert choice["finish_reason"] == "length"
    assert all(0 <= token < 256 for token in choice["token_ids"])


def test_more_prompts_than_fit_at_once_each_get_the_answer_they_get_alone(server: Server) -> None:
    prompts = [[1 + number, 2, 3] for number in range(12)]
    together = complete(server, prompts, max_tokens=9)["choices"]
    assert [choice["index"] for choice in together] == [*range(12)]
    assert {len(choice["token_ids"]) for choice in together} == {9}
    alone = complete(server, prompts[0], max_tokens=9)["choices"][0]
    assert together[0]["token_ids"] == alone["token_ids"]


def test_the_engine_core_is_another_process_and_uses_the_variant(server: Server) -> None:
    log = server.log.read_text(errors="replace")
    used = re.search(rf"\(EngineCore\w* pid=(\d+)\) .*Using custom scheduler class {re.escape(SCHEDULER)}\.", log)
    assert used is not None, log[-3000:]
    core = psutil.Process(int(used[1]))
    assert server.process.pid in [parent.pid for parent in core.parents()]
