"""The zygote: a process that imports vLLM once, proves comparisons, and forks the arms of every pair.

It is given its hash seed by the environment and its tasks over a pipe, one at a time, until it is told None.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from bench.engine.shape import EngineShape
from bench.errors import BenchError, MeasureError
from bench.measure.arm import scheduler_class
from bench.measure.host import Cores, die_with_parent
from bench.measure.messages import (
    PROOF_FIELDS,
    Failure,
    PairTask,
    ProbeCostTask,
    ProveResult,
    ProveTask,
    QueueTask,
    Result,
    Setting,
    Task,
)
from bench.measure.pairs import measure_pair
from bench.measure.probed_steps import measure_probe_cost
from bench.measure.queue_counting import count_queue


def main() -> None:
    """Serve tasks from the pipe whose file descriptor is named on the command line."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the orchestrator's to handle; it closes the pipe
    pipe = Connection(int(sys.argv[1]))
    die_with_parent()
    try:
        _import_all()
        cores: Cores | None = pipe.recv()
        if cores is None:  # told to end before it was needed
            return
        os.sched_setaffinity(0, {cores.orchestrator})
        pipe.send(None)
    except BenchError as error:
        pipe.send(error)
        return
    except EOFError:
        return
    try:
        while (task := pipe.recv()) is not None:
            pipe.send(_answer(task, cores))
    except (EOFError, BrokenPipeError):
        return


def _answer(task: Task, cores: Cores) -> Result:
    try:
        if isinstance(task, ProveTask):
            return _prove(task.setting)
        if isinstance(task, QueueTask):
            return count_queue(task, cores)
        return _measure(task, cores)
    except BenchError as error:
        return Failure(task.setting.comparison, str(error), getattr(task, "pair", -1))
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        return Failure(task.setting.comparison, message.splitlines()[0], getattr(task, "pair", -1))


def _import_all() -> None:
    """Everything that the arms will need, so that a fork has it already."""
    from bench.engine import adapter, inprocess, replay

    for module in (adapter, inprocess, replay):
        assert module.__name__ in sys.modules
    _freeze()


def _freeze() -> None:
    """Keep what exists out of later collections, and shared pages shared after a fork."""
    gc.collect()
    gc.freeze()


_proven: dict[tuple[str, str, str, EngineShape], ProveResult] = {}


def _prove(setting: Setting) -> ProveResult:
    """The proof of `setting`; cells that differ in their simulated model alone are proven by one replay."""
    shape = replace(setting.shape, stand_in_model_ms=None)
    key = (setting.baseline, setting.candidate, setting.trace.digest, shape)
    if key not in _proven:
        _proven[key] = _replay_both(setting)
    return replace(_proven[key], comparison=setting.comparison)


def _replay_both(setting: Setting) -> ProveResult:
    from bench.engine import adapter
    from bench.parity.proof import prove

    proof = prove(
        scheduler_class(setting, setting.baseline),
        scheduler_class(setting, setting.candidate),
        setting.trace,
        setting.shape,
        adapter.make_vllm_config(setting.shape),
        step_time_limit_s=setting.step_time_limit_s,
    )
    return ProveResult(
        comparison=setting.comparison,
        alike=proof.alike,
        num_steps=proof.num_steps,
        message=str(proof),
        readings=np.array(
            [[getattr(reading, name) for name in PROOF_FIELDS] for reading in proof.readings], dtype=np.int64
        ).reshape(-1, len(PROOF_FIELDS)),
    )


def _measure(task: PairTask | ProbeCostTask, cores: Cores) -> Result:
    if not task.spawn:
        _prepare_fork(task)
    return measure_probe_cost(task, cores) if isinstance(task, ProbeCostTask) else measure_pair(task, cores)


def _prepare_fork(task: PairTask | ProbeCostTask) -> None:
    """Load here, in an order drawn for the pair, what both arms would load; refuse to fork a process with threads."""
    from bench.engine import adapter

    specs = [task.setting.baseline, task.setting.candidate]
    for place in np.random.default_rng(task.seed).permutation(2):
        scheduler_class(task.setting, specs[place])
    adapter.make_vllm_config(task.setting.shape)
    _freeze()
    threads = len([*Path("/proc/self/task").iterdir()])
    if threads > 1:
        raise MeasureError(f'the worker has {threads} threads and cannot be forked; set measure.arm_start = "spawn"')


if __name__ == "__main__":
    main()
