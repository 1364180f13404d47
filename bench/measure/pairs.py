"""Drives the two arms of one pair in lock-step: alternating slices of the same steps, in random order.

Runs in a worker, on the orchestrator's core; while a slice runs, nothing else of ours does.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from bench.errors import MeasureError
from bench.measure.arm import serve_arm
from bench.measure.host import Cores
from bench.measure.messages import ARMS, BASELINE, CANDIDATE, ArmRecord, Failure, PairResult, PairTask

START_LIMIT_S = 180.0  # an engine loads in seconds; a process that takes minutes is lost


class NotAlikeError(MeasureError):
    """The arms of a pair did not do the same in a slice; the comparison is void."""


@dataclass
class _Arm:
    pipe: Connection
    pid: int
    interference: list[list[float]] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)

    def ask(self, command: Any, limit_s: float) -> Any:
        """Send `command` and wait for the answer; raises MeasureError where the arm is lost, hangs, or raised."""
        try:
            self.pipe.send(command)
            return self.answer(limit_s)
        except (EOFError, BrokenPipeError, ConnectionResetError):
            raise MeasureError("an arm's process is gone") from None

    def answer(self, limit_s: float) -> Any:
        """The next message of the arm."""
        if not self.pipe.poll(limit_s):
            raise MeasureError(f"an arm did not answer within {limit_s:g} s; it is taken to hang")
        try:
            answer = self.pipe.recv()
        except EOFError:
            raise MeasureError("an arm's process is gone") from None
        if isinstance(answer, str) and answer != "ready":
            raise MeasureError(f"an arm raised {answer}")
        return answer


def measure_pair(task: PairTask, cores: Cores) -> PairResult | Failure:
    """Start both arms, run every slice on both, and collect what they recorded; failures come back as a row."""
    setting = task.setting
    rng = np.random.default_rng(task.seed)
    try:
        with _started_arms(task, cores, rng) as arms:
            _bring_to_steady(arms, task)
            for _ in range(task.slicing.num_slices):
                _run_slice(arms, task, rng)
            records, peak_rss_mib = _collect(arms, setting.step_time_limit_s)
    except NotAlikeError as error:
        return Failure(setting.comparison, str(error), task.pair, is_void=True)
    except MeasureError as error:
        return Failure(setting.comparison, str(error), task.pair)
    return PairResult(
        comparison=setting.comparison,
        pair=task.pair,
        slicing=task.slicing,
        baseline=records[BASELINE],
        candidate=records[CANDIDATE],
        peak_rss_mib=peak_rss_mib,
    )


@contextmanager
def _started_arms(task: PairTask, cores: Cores, rng: np.random.Generator) -> Iterator[dict[str, _Arm]]:
    arms: dict[str, _Arm] = {}
    try:
        for name in rng.permutation(ARMS):
            spec = task.setting.baseline if name == BASELINE else task.setting.candidate
            arms[str(name)] = _start(task, spec, cores.arms)
        for arm in arms.values():
            arm.answer(START_LIMIT_S)
        yield arms
    finally:
        for arm in arms.values():
            _stop(arm)


def _start(task: PairTask, spec: str, core: int) -> _Arm:
    ours, theirs = Pipe()
    if task.spawn:
        command = [sys.executable, "-m", "bench.measure.arm", str(theirs.fileno())]
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        theirs.close()
        ours.send((task.setting, spec, core))
        return _Arm(ours, process.pid)
    pid = os.fork()
    if pid == 0:
        ours.close()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the orchestrator ends its arms
        try:
            serve_arm(theirs, task.setting, spec, core)
        finally:
            os._exit(0)
    theirs.close()
    return _Arm(ours, pid)


def _stop(arm: _Arm) -> None:
    arm.pipe.close()
    os.kill(arm.pid, signal.SIGKILL)
    os.waitpid(arm.pid, 0)


def _bring_to_steady(arms: dict[str, _Arm], task: PairTask) -> None:
    limit_s = task.setting.step_time_limit_s * max(1, task.slicing.first)
    counts = [arm.ask(task.slicing.first, limit_s)[1] for arm in arms.values()] if task.slicing.first else [[], []]
    _check_alike(counts, 0)


def _run_slice(arms: dict[str, _Arm], task: PairTask, rng: np.random.Generator) -> None:
    limit_s = task.setting.step_time_limit_s * task.slicing.steps_per_slice
    counts = []
    for position, name in enumerate(rng.permutation(ARMS)):
        arm = arms[str(name)]
        interference, count = arm.ask(task.slicing.steps_per_slice, limit_s)
        arm.interference.append(interference)
        arm.positions.append(position)
        counts.append(count)
    done = len(arms[BASELINE].positions) - 1
    _check_alike(counts, task.slicing.first + done * task.slicing.steps_per_slice)


def _check_alike(counts: list[list[tuple[int, ...]]], first_step: int) -> None:
    for offset, (one, other) in enumerate(zip(*counts, strict=True)):
        if one != other:
            raise NotAlikeError(
                f"step {first_step + offset}: the arms did not do the same while timed: {one} and {other}"
            )


def _collect(arms: dict[str, _Arm], limit_s: float) -> tuple[dict[str, ArmRecord], float]:
    answers = {name: arm.ask(None, limit_s) for name, arm in arms.items()}
    if answers[BASELINE][1] != answers[CANDIDATE][1]:
        raise NotAlikeError("the arms ended the timed steps with different queues")
    records = {
        name: ArmRecord(
            steps=answers[name][0],
            interference=np.array(arm.interference, dtype=np.float64),
            positions=np.array(arm.positions, dtype=np.int64),
        )
        for name, arm in arms.items()
    }
    return records, max(answer[2] for answer in answers.values())
