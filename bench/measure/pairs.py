"""Drives the two arms of one pair in lock-step: alternating slices of the same steps, in random order.

Runs in a worker, on the orchestrator's core; while a slice runs, nothing else of ours does. Where the arms can fork,
the same steps are timed several times, each time in fresh processes: most of what tells two equal arms apart is where
their memory lies, and a fork draws that again for a tenth of a second.
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

from bench.engine.resolved import differences
from bench.errors import MeasureError
from bench.measure.arm import Row, serve_arm
from bench.measure.host import Cores
from bench.measure.messages import (
    ARMS,
    BASELINE,
    CANDIDATE,
    READING_FIELDS,
    Advance,
    ArmRecord,
    Command,
    Describe,
    End,
    Failure,
    Fork,
    PairResult,
    PairTask,
    ProbeCostTask,
)

START_LIMIT_S = 180.0  # an engine loads in seconds; a process that takes minutes is lost
REHEATED_STEPS = 4  # a fork's first steps copy the pages that they write; these are not timed
FIRST_COUNT = READING_FIELDS.index("running")  # from here on a row holds counts, which must be equal in both arms


class NotAlikeError(MeasureError):
    """The arms of a pair did not do the same in a slice; the comparison is void."""


@dataclass
class _Arm:
    pipe: Connection
    pid: int
    prepared: list[Row] = field(default_factory=list)
    rounds: list[list[Row]] = field(default_factory=list)
    interference: list[tuple[float, ...]] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    peak_rss_mib: float = 0.0

    def ask(self, command: Command, limit_s: float) -> Any:
        """Send `command` and wait for the answer; raises MeasureError where the arm is lost, hangs, or raised."""
        self.tell(command)
        return self.answer(limit_s)

    def tell(self, command: Command) -> None:
        """Send `command`; its answer is to be taken with `answer`."""
        try:
            self.pipe.send(command)
        except (BrokenPipeError, ConnectionResetError):
            raise MeasureError("an arm's process is gone") from None

    def answer(self, limit_s: float) -> Any:
        """The next message of the arm."""
        try:
            if not self.pipe.poll(limit_s):
                raise MeasureError(f"an arm did not answer within {limit_s:g} s; it is taken to hang")
            answer = self.pipe.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            raise MeasureError("an arm's process is gone") from None
        if isinstance(answer, str) and answer != "ready":
            raise MeasureError(f"an arm raised {' '.join(answer.split())[:400]}")
        return answer

    def record(self) -> ArmRecord:
        """Everything that was timed."""
        return ArmRecord(
            prepared=_table(self.prepared),
            rounds=tuple(_table(rows) for rows in self.rounds),
            interference=np.array(self.interference, dtype=np.float64),
            positions=np.array(self.positions, dtype=np.int64),
        )


Arms = dict[str, _Arm]


def measure_pair(task: PairTask, cores: Cores) -> PairResult | Failure:
    """Start both arms, run every slice on both, and collect what they recorded; failures come back as a row."""
    setting = task.setting
    rng = np.random.default_rng(task.seed)
    num_reheated = min(REHEATED_STEPS, task.slicing.first) if task.forks else 0
    try:
        with _started_arms(task, cores, rng) as arms:
            engines = _check_same_engine(arms)
            _prepare(arms, task, task.slicing.first - num_reheated)
            for _ in range(max(1, task.forks)):
                _run_round(arms, task, rng, num_reheated)
    except NotAlikeError as error:
        return Failure(setting.comparison, str(error), task.pair, is_void=True)
    except MeasureError as error:
        return Failure(setting.comparison, str(error), task.pair)
    return PairResult(
        comparison=setting.comparison,
        pair=task.pair,
        slicing=task.slicing,
        baseline=arms[BASELINE].record(),
        candidate=arms[CANDIDATE].record(),
        peak_rss_mib=max(arm.peak_rss_mib for arm in arms.values()),
        engines=engines,
    )


def _check_same_engine(arms: Arms) -> dict[str, dict[str, str]]:
    """The resolved options of both arms; raises NotAlikeError where more than the scheduler's class differs."""
    engines = {name: arm.ask(Describe(), START_LIMIT_S) for name, arm in arms.items()}
    for name, (one, other) in differences(engines[BASELINE], engines[CANDIDATE]).items():
        raise NotAlikeError(f"the arms' engines differ in {name}: {one} (baseline) and {other} (candidate)")
    return engines if any(engines.values()) else {}


@contextmanager
def started_arm(task: ProbeCostTask, cores: Cores) -> Iterator[_Arm]:
    """One arm alone, on the baseline of `task`, ready to be asked."""
    arm = _start(task, task.setting.baseline, task.seed, cores.arms, cores.arms)
    try:
        arm.answer(START_LIMIT_S)
        yield arm
    finally:
        _stop(arm)


@contextmanager
def _started_arms(task: PairTask, cores: Cores, rng: np.random.Generator) -> Iterator[Arms]:
    arms: Arms = {}
    prepare_on = [cores.arms, cores.orchestrator if task.forks else cores.arms]
    try:
        for name, core in zip(rng.permutation(ARMS), rng.permutation(prepare_on), strict=True):
            spec = task.setting.baseline if name == BASELINE else task.setting.candidate
            arms[str(name)] = _start(task, spec, int(rng.integers(2**32)), int(core), cores.arms)
        for arm in arms.values():
            arm.answer(START_LIMIT_S)
        yield arms
    finally:
        for arm in arms.values():
            _stop(arm)


def _start(task: PairTask | ProbeCostTask, spec: str, seed: int, prepare_on: int, time_on: int) -> _Arm:
    ours, theirs = Pipe()
    if task.spawn:
        command = [sys.executable, "-m", "bench.measure.arm", str(theirs.fileno())]
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        theirs.close()
        ours.send((task.setting, spec, seed, prepare_on, time_on))
        return _Arm(ours, process.pid)
    pid = os.fork()
    if pid == 0:
        ours.close()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the orchestrator ends its arms
        try:
            serve_arm(theirs, task.setting, spec, seed, prepare_on=prepare_on, time_on=time_on)
        finally:
            os._exit(0)
    theirs.close()
    return _Arm(ours, pid)


def _stop(arm: _Arm) -> None:
    arm.pipe.close()
    os.kill(arm.pid, signal.SIGKILL)
    os.waitpid(arm.pid, 0)


def _prepare(arms: Arms, task: PairTask, num_steps: int) -> None:
    """Bring both arms near the steady phase; side by side, since nothing is timed yet."""
    limit_s = task.setting.step_time_limit_s * max(1, num_steps)
    for arm in arms.values():
        arm.tell(Advance(num_steps))
    for arm in arms.values():
        _, arm.prepared = arm.answer(limit_s)
    _check_alike([arm.prepared for arm in arms.values()], 0)


def _run_round(arms: Arms, task: PairTask, rng: np.random.Generator, num_reheated: int) -> None:
    """Fork, where the pair does, and time every slice of the steady phase once."""
    limit_s = task.setting.step_time_limit_s
    for name in rng.permutation(ARMS):
        arm = arms[str(name)]
        if task.forks:
            arm.ask(Fork(), START_LIMIT_S)
        arm.rounds.append([])
        if num_reheated:
            arm.rounds[-1] += arm.ask(Advance(num_reheated), limit_s * num_reheated)[1]
    _check_alike([arm.rounds[-1] for arm in arms.values()], task.slicing.first - num_reheated)
    for number in range(task.slicing.num_slices):
        _run_slice(arms, task, rng, task.slicing.first + number * task.slicing.steps_per_slice)
    _end_round(arms, limit_s)


def _run_slice(arms: Arms, task: PairTask, rng: np.random.Generator, first_step: int) -> None:
    num_steps = task.slicing.steps_per_slice
    done = []
    for position, name in enumerate(rng.permutation(ARMS)):
        arm = arms[str(name)]
        interference, rows = arm.ask(Advance(num_steps), task.setting.step_time_limit_s * num_steps)
        arm.rounds[-1] += rows
        arm.interference.append(interference)
        arm.positions.append(position)
        done.append(rows)
    _check_alike(done, first_step)


def _check_alike(arms: list[list[Row]], first_step: int) -> None:
    for offset, (one, other) in enumerate(zip(*arms, strict=True)):
        if one[FIRST_COUNT:] != other[FIRST_COUNT:]:
            counts = f"{one[FIRST_COUNT:]} and {other[FIRST_COUNT:]}"
            raise NotAlikeError(f"step {first_step + offset}: the arms did not do the same while timed: {counts}")


def _end_round(arms: Arms, limit_s: float) -> None:
    answers = [arm.ask(End(), limit_s) for arm in arms.values()]
    if answers[0][0] != answers[1][0]:
        raise NotAlikeError("the arms ended the timed steps with different queues")
    for arm, (_, peak_rss_mib) in zip(arms.values(), answers, strict=True):
        arm.peak_rss_mib = max(arm.peak_rss_mib, peak_rss_mib)


def _table(rows: list[Row]) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array(rows, dtype=np.int64).reshape(-1, len(READING_FIELDS))
