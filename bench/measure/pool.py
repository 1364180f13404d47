"""Starts worker processes and gives them tasks, one at a time; a worker that is lost is replaced.

What a worker and its arms print (vLLM is talkative) goes to a log file, whose last line is quoted when one is lost.
"""

from __future__ import annotations

import subprocess
import sys
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Self

from bench.engine.environment import worker_environment
from bench.errors import BenchError, MeasureError
from bench.measure.host import Cores
from bench.measure.messages import Failure, Result, Task

IMPORT_LIMIT_S = 300.0  # importing vLLM takes 5 s warm, and some tens of seconds from a cold disk
TASK_LIMIT_S = 3600.0  # the worker itself limits each step; this is for a worker that is stuck elsewhere


class Worker:
    """One zygote process with its own hash seed; use it as a context."""

    def __init__(self, hash_seed: int, cores: Cores, log: Path) -> None:
        self._hash_seed = hash_seed
        self._cores = cores
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop(gently=kind is None)

    def do(self, task: Task) -> Result:
        """The result of `task`; where the worker is lost or hangs, a Failure, and a new worker for the next task."""
        pipe = self._pipe
        assert pipe is not None
        try:
            pipe.send(task)
            if not pipe.poll(TASK_LIMIT_S):
                raise EOFError
            result: Result = pipe.recv()
            return result
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self._stop(gently=False)
            self._start()
            message = f"the worker process was lost{self._last_words()}"
            return Failure(task.setting.comparison, message, getattr(task, "pair", -1))

    def _start(self) -> None:
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
        ours.send(self._cores)
        try:
            problem = (
                ours.recv() if ours.poll(IMPORT_LIMIT_S) else MeasureError("a worker took too long to import vLLM")
            )
        except EOFError:
            problem = MeasureError(f"a worker ended while it imported vLLM{self._last_words()}")
        if isinstance(problem, BenchError):
            self._stop(gently=False)
            raise problem

    def _last_words(self) -> str:
        lines = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return f"; its last line was: {lines[-1][:200]}" if lines else ""

    def _stop(self, *, gently: bool) -> None:
        if self._pipe is not None:
            if gently:
                self._pipe.send(None)
            self._pipe.close()
        if self._process is not None:
            if not gently:
                self._process.kill()
            self._process.wait(timeout=60)
        self._pipe = self._process = None
