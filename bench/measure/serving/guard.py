"""Stands between the run and one server, so that the server's processes end when the run does, however it ends.

The guard leads a process group and adopts whatever the server leaves behind. It ends the server when its end of a
pipe closes, which the kernel does for a run that was killed too; and it ends the rest when the server itself dies.
Imports nothing of this package: it must start at once, and need nothing that could be missing.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # of <linux/prctl.h>
GRACE_S = 15.0  # vLLM's server ends its engine core within a few seconds of SIGTERM
POLL_S = 0.05


def main() -> int:
    """Arguments: the pipe's file descriptor, then the command; ends with its exit status, or 128 + its signal."""
    pipe, command = int(sys.argv[1]), sys.argv[2:]
    signal.signal(signal.SIGTERM, lambda *_: None)  # the pipe tells when to end; a handler is not inherited by exec
    signal.signal(signal.SIGINT, lambda *_: None)
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    os.set_inheritable(pipe, False)
    server = subprocess.Popen(command, preexec_fn=lambda: prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
    watched = os.pidfd_open(server.pid)
    select.select([pipe, watched], [], [])
    if server.poll() is None:
        server.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(GRACE_S)
    _end_the_rest(time.monotonic() + POLL_S)
    status = server.wait()
    return status if status >= 0 else 128 - status


def _end_the_rest(kill_from: float) -> None:
    """Reap what is left until nothing is, killing from the given moment of the monotonic clock on."""
    while True:
        try:
            ended, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if ended:
            continue
        if time.monotonic() >= kill_from:
            for pid in descendants(os.getpid()):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(POLL_S)


def descendants(pid: int) -> list[int]:
    """Children of `pid` and theirs, by what /proc says now."""
    children: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The name in parentheses may hold anything; the state and the parent stand behind the last of them.
            parent = int(status.read_text(errors="replace").rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(status.parent.name))
    found, open_ends = [], [pid]
    while open_ends:
        below = children.get(open_ends.pop(), [])
        found += below
        open_ends += below
    return found


if __name__ == "__main__":
    sys.exit(main())
