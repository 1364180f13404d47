"""One server of the `serve` tier as a process group: started behind a guard, waited for, and always ended.

What it prints goes to a log, whose telling line is quoted where it fails; what it is started with is the caller's.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from bench.errors import HostError, MeasureError
from bench.measure.serving import guard

HEALTH_POLL_S = 0.25
STOP_LIMIT_S = guard.GRACE_S + 15.0
LOG_TAIL_BYTES = 200_000
SAYS_NOTHING = ("See root cause above", "EngineDeadError", "EngineCore encountered")
"""Errors that only point to another one."""


class ServerLostError(MeasureError):
    """A server ended, or never became healthy."""


def free_ports(first: int | None, count: int = 2) -> list[int]:
    """Ports of 127.0.0.1 that nobody listens on: from `first` on, or any; raises HostError for one that is taken."""
    with contextlib.ExitStack() as held:
        ports = []
        for place in range(count):
            listener = held.enter_context(socket.socket())
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # the last run's may linger in TIME_WAIT
            try:
                listener.bind(("127.0.0.1", 0 if first is None else first + place))
            except OSError as error:
                assert first is not None
                raise HostError(
                    f"port {first + place} cannot be served on ({error.strerror}); choose another serve.port, "
                    "or leave it out for any free one"
                ) from error
            ports.append(int(listener.getsockname()[1]))
        return ports


class Server:
    """A server of one arm; a context that starts it and, on any way out, ends all its processes."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str], port: int, log: Path) -> None:
        self.name, self.port = name, port
        self._command, self._environment, self._log = command, environment, log
        self._guard: subprocess.Popen[bytes] | None = None
        self._leash = -1

    def __enter__(self) -> Self:
        theirs, self._leash = os.pipe()
        os.set_inheritable(self._leash, False)
        try:
            with self._log.open("ab") as log:
                self._log_start = log.tell()
                self._guard = subprocess.Popen(
                    [sys.executable, "-P", guard.__file__, str(theirs), *self._command],
                    env={**self._environment},
                    pass_fds=[theirs],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,  # Ctrl-C is the run's to handle
                )
        except BaseException:
            self.__exit__(None, None, None)
            raise
        finally:
            os.close(theirs)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._leash >= 0:
            os.close(self._leash)
            self._leash = -1
        if self._guard is None:
            return
        try:
            self._guard.wait(STOP_LIMIT_S)
        except BaseException:  # a second Ctrl-C too: what was started must not stay
            self._kill_group()
            raise
        self._kill_group()  # a guard that was killed itself has left what it guarded

    @property
    def is_running(self) -> bool:
        """False once the server, and with it its guard, has ended."""
        return self._guard is not None and self._guard.poll() is None

    def ends_within(self, limit_s: float) -> bool:
        """True where the server has ended, or does so soon: its guard first ends what it left."""
        assert self._guard is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._guard.wait(limit_s)
        return not self.is_running

    def wait_until_healthy(self, limit_s: float) -> None:
        """Return when `/health` answers; raises ServerLostError where the server ends before, or takes too long."""
        deadline = time.monotonic() + limit_s
        while not self._is_healthy():
            if not self.is_running:
                raise self.lost("ended before it served")
            if time.monotonic() > deadline:
                raise self.lost(f"was not healthy within {limit_s:g} s (serve.start_limit_s)")
            time.sleep(HEALTH_POLL_S)

    def pin(self, cores: Iterable[int]) -> None:
        """Bind every thread of the server to `cores`, and with it all that they start from now on.

        Done when it is healthy: until then it may use every core, and starts in half the time.
        """
        assert self._guard is not None
        for pid in guard.descendants(self._guard.pid):
            for task in Path(f"/proc/{pid}/task").glob("*"):
                with contextlib.suppress(ProcessLookupError):
                    os.sched_setaffinity(int(task.name), cores)

    def lost(self, what: str) -> ServerLostError:
        """The error that says what happened to this server, with the telling line of its log."""
        line = self._telling_line()
        return ServerLostError(f"the {self.name}'s server {what}" + (f": {line}" if line else ""))

    def _is_healthy(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _telling_line(self) -> str:
        with self._log.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(self._log_start, size - LOG_TAIL_BYTES))
            lines = log.read().decode("utf-8", errors="replace").splitlines()
        return telling_line(lines)

    def _kill_group(self) -> None:
        assert self._guard is not None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._guard.pid, signal.SIGKILL)
        self._guard.wait()


def telling_line(lines: Sequence[str]) -> str:
    """The last line that names an error and not only another one, without vLLM's prefix; the last of all if none."""
    named = [line for line in lines if re.search(r"\b\w*(Error|Exception)\b.*: ?\S", line)]
    telling = [line for line in named if not any(empty in line for empty in SAYS_NOTHING)]
    found = next(reversed(telling or named or [line for line in lines if line.strip()]), "")
    match = re.search(r"\b[\w.]*(Error|Exception)\b.*", found)
    return " ".join((match[0] if match else found).split())[:300]
