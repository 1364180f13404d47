"""A worker that hangs or is gone: told in one line, ended, and never waited for without end."""

from __future__ import annotations

import subprocess
import sys
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import pytest

from bench.errors import MeasureError
from bench.measure.host import Cores
from bench.measure.pool import Worker, WorkerLostError

CORES = Cores(arms=0, orchestrator=0)
SLEEPS = [sys.executable, "-c", "import time; time.sleep(600)"]
ENDS = [sys.executable, "-c", "print('the model is gone')"]

Started = tuple[Worker, "subprocess.Popen[bytes]"]


def worker_that_runs(command: list[str], log: Path, monkeypatch: pytest.MonkeyPatch) -> Started:
    """A launched worker whose process is `command` in place of a zygote, and that process."""
    made: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def start(_: list[str], **options: Any) -> subprocess.Popen[bytes]:
        made.append(popen(command, **options))
        return made[-1]

    monkeypatch.setattr("bench.measure.pool.subprocess.Popen", start)
    return Worker(1, CORES, log).launch(), made[0]


def test_a_worker_that_never_imports_is_given_up_and_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.measure.pool.IMPORT_LIMIT_S", 0.05)
    worker, process = worker_that_runs(SLEEPS, tmp_path / "worker.log", monkeypatch)
    with pytest.raises(MeasureError, match="a worker took too long to import vLLM"):
        worker.await_import()
    assert process.poll() is not None


def test_a_worker_that_hangs_in_a_task_is_lost_and_can_be_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.measure.pool.TASK_LIMIT_S", 0.05)
    worker, process = worker_that_runs(SLEEPS, tmp_path / "worker.log", monkeypatch)
    with pytest.raises(WorkerLostError, match=r"the worker did not answer within 0\.05 s"):
        worker.do("a task")  # type: ignore[arg-type]
    worker.stop(gently=False)
    assert process.poll() is not None


def test_a_worker_that_ends_while_it_imports_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker, _ = worker_that_runs(ENDS, tmp_path / "worker.log", monkeypatch)
    with pytest.raises(MeasureError, match="its last line was: the model is gone"):
        worker.await_import()


def test_a_worker_that_is_gone_is_lost_with_its_last_words(tmp_path: Path) -> None:
    (tmp_path / "worker.log").write_text("first\nlast words\n")
    worker = Worker(1, CORES, tmp_path / "worker.log")
    worker._pipe, theirs = Pipe()
    theirs.close()
    with pytest.raises(WorkerLostError, match="the worker process was lost; its last line was: last words"):
        worker.do("a task")  # type: ignore[arg-type]
    worker.stop(gently=True)
