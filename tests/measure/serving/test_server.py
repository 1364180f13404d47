"""A server is always ended: with everything it started, and whatever happens to the run, the guard or the server."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from bench.engine.serving import STEP_LOG_VARIABLE
from bench.errors import HostError
from bench.measure.serving.server import Server, ServerLostError, free_ports, telling_line

PATIENCE_S = 240  # nothing here takes so long; a machine that others use may


def fake(tmp_path: Path, mode: str = "well") -> Server:
    (port,) = free_ports(None, 1)
    command = [sys.executable, "-m", "tests.measure.serving.fake_server", str(port), mode, "{}"]
    environment = {**os.environ, STEP_LOG_VARIABLE: str(tmp_path / "log.steps")}
    return Server("baseline", command, environment, port, tmp_path / "server.log")


def family(tmp_path: Path) -> list[psutil.Process]:
    """The fake server and its stubborn child."""
    (child,) = re.findall(r"^child (\d+)$", (tmp_path / "server.log").read_text(), re.MULTILINE)
    process = psutil.Process(int(child))
    server = process.parent()
    assert server is not None
    return [process, server]


def eventually(is_so: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def all_gone(processes: list[psutil.Process]) -> bool:
    return psutil.wait_procs(processes, timeout=PATIENCE_S)[1] == []


def test_a_server_ends_with_its_context_and_so_does_what_ignores_sigterm(tmp_path: Path) -> None:
    with fake(tmp_path) as server:
        server.wait_until_healthy(PATIENCE_S)
        processes = family(tmp_path)
    assert not server.is_running
    assert all_gone(processes)
    with socket.socket() as again:
        again.bind(("127.0.0.1", server.port))  # no port is stuck


def test_ctrl_c_in_the_body_ends_it_too(tmp_path: Path) -> None:
    server = fake(tmp_path)
    with contextlib.suppress(KeyboardInterrupt), server:
        server.wait_until_healthy(PATIENCE_S)
        processes = family(tmp_path)
        raise KeyboardInterrupt
    assert not server.is_running
    assert all_gone(processes)


def test_kill_9_of_the_server_is_noticed_and_takes_its_children_along(tmp_path: Path) -> None:
    with fake(tmp_path) as server:
        server.wait_until_healthy(PATIENCE_S)
        processes = family(tmp_path)
        processes[-1].send_signal(signal.SIGKILL)
        assert eventually(lambda: not server.is_running)
        assert all_gone(processes)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["SIGKILL", "SIGTERM"])
def test_no_orphan_is_left_when_the_run_itself_is_killed(tmp_path: Path, number: signal.Signals) -> None:
    code = """
import pathlib, sys, time
from tests.measure.serving.test_server import fake
with fake(pathlib.Path(sys.argv[1])) as server:
    server.wait_until_healthy(60)
    print("serving", flush=True)
    time.sleep(3600)
"""
    run = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE)
    assert run.stdout is not None
    assert run.stdout.readline() == b"serving\n"
    processes = family(tmp_path)
    guard = processes[-1].parent()
    assert guard is not None
    run.send_signal(number)
    run.wait(PATIENCE_S)
    run.stdout.close()
    assert all_gone([*processes, guard])


def test_a_guard_that_is_killed_takes_the_server_along(tmp_path: Path) -> None:
    with fake(tmp_path) as server:
        server.wait_until_healthy(PATIENCE_S)
        processes = family(tmp_path)
        guard = processes[-1].parent()
        assert guard is not None
        guard.send_signal(signal.SIGKILL)
        assert all_gone(processes[1:])
    processes[0].kill()  # of a session of its own, which only a guard could have adopted


def test_a_server_that_is_never_healthy_is_given_up(tmp_path: Path) -> None:
    with fake(tmp_path, "never-healthy") as server, pytest.raises(ServerLostError, match=r"not healthy within 0.5 s"):
        server.wait_until_healthy(0.5)


def test_a_server_that_ends_at_once_says_why(tmp_path: Path) -> None:
    expected = "the baseline's server ended before it served: ValueError: No available memory for the cache blocks"
    with fake(tmp_path, "no-memory") as server, pytest.raises(ServerLostError, match=expected):
        server.wait_until_healthy(PATIENCE_S)


def test_a_healthy_server_is_pinned_with_all_that_it_started(tmp_path: Path) -> None:
    core = min(os.sched_getaffinity(0))
    with fake(tmp_path) as server:
        server.wait_until_healthy(PATIENCE_S)
        server.pin([core])
        assert [process.cpu_affinity() for process in family(tmp_path)] == [[core], [core]]


def test_a_taken_port_is_refused_by_its_number() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(HostError, match=f"port {port} cannot be served on .* choose another serve.port"):
            free_ports(port)


def test_free_ports_are_different() -> None:
    assert len({*free_ports(None, 4)}) == 4


def test_the_telling_line_is_the_root_cause() -> None:
    lines = [
        "(EngineCore pid=7) ERROR 11-30 12:00:00 [core.py:1] ValueError: too little   memory",
        "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
        "",
    ]
    assert telling_line(lines) == "ValueError: too little memory"
    assert telling_line(lines[1:]).startswith("RuntimeError: Engine core")
    assert telling_line(["nothing", "of interest", " "]) == "of interest"
    assert telling_line([]) == ""
