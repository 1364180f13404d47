"""A worker process, started with its own hash seed and given tasks one at a time.

What a worker and its arms print (vLLM is talkative) goes to a log file, whose last line is quoted when one is lost.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Self

from bench.engine.environment import worker_environment
from bench.errors import BenchError, MeasureError
from bench.measure.host import Cores
from bench.measure.messages import Result, Task

IMPORT_LIMIT_S = 300.0  # importing vLLM takes 5 s warm, and some tens of seconds from a cold disk
TASK_LIMIT_S = 3600.0  # the worker itself limits each step; this is for a worker that is stuck elsewhere


class WorkerLostError(MeasureError):
    """A worker's process ended or hung in the middle of a task."""


class Worker:
    """One zygote process with its own hash seed."""

    def __init__(self, hash_seed: int, cores: Cores, log: Path) -> None:
        self._hash_seed = hash_seed
        self._cores = cores
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None

    def start(self) -> Self:
        """Start the process and wait until it has imported vLLM; raises the BenchError that it met."""
        return self.launch().await_import()

    def launch(self) -> Self:
        """Start the process, which goes on to import vLLM by itself."""
        ours, theirs = Pipe()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "bench.measure.worker", str(theirs.fileno())],
                env=worker_environment(self._hash_seed, self._cores.arms),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        theirs.close()
        self._pipe = ours
        return self

    def await_import(self) -> Self:
        """Wait until a launched process has imported vLLM; raises the BenchError that it met."""
        pipe = self._pipe
        assert pipe is not None
        try:
            pipe.send(self._cores)
            problem = (
                pipe.recv() if pipe.poll(IMPORT_LIMIT_S) else MeasureError("a worker took too long to import vLLM")
            )
        except (EOFError, BrokenPipeError, ConnectionResetError):
            problem = MeasureError(f"a worker ended while it imported vLLM{self._last_words()}")
        except KeyboardInterrupt:
            self.stop(gently=False)
            raise
        if isinstance(problem, BenchError):
            self.stop(gently=False)
            raise problem
        return self

    def do(self, task: Task) -> Result:
        """The result of `task`; raises WorkerLostError, after which the worker can only be stopped."""
        pipe = self._pipe
        assert pipe is not None
        try:
            pipe.send(task)
            if not pipe.poll(TASK_LIMIT_S):
                raise WorkerLostError(f"the worker did not answer within {TASK_LIMIT_S:g} s")
            result: Result = pipe.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            raise WorkerLostError(f"the worker process was lost{self._last_words()}") from None
        return result

    def stop(self, *, gently: bool) -> None:
        """End the process: told to, where it waits for a task; killed, where it may be in the middle of one."""
        if self._pipe is not None:
            if gently:
                with contextlib.suppress(OSError):
                    self._pipe.send(None)
            self._pipe.close()
        if self._process is not None:
            if not gently:
                self._process.kill()
            self._process.wait(timeout=60)
        self._pipe = self._process = None

    def _last_words(self) -> str:
        lines = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return f"; its last line was: {lines[-1][:200]}" if lines else ""
