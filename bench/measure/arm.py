"""One arm: a session on one variant, stepped on command and timed slice by slice.

It runs in a process of its own, forked by a worker or spawned, on the core that both arms of the pair share;
while one arm runs a slice, the other waits for its next command.
"""

from __future__ import annotations

import gc
import os
import resource
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure.messages import READING_FIELDS, Setting

STEAL_FIELD = 8
TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")


def serve_arm(pipe: Connection, setting: Setting, spec: str, core: int) -> None:
    """Build the session, say ready, run what is asked for, and send every reading at the end; never returns early.

    Commands: a number of steps to run as one slice (answered with its interference and counts), or None to end
    (answered with the readings of all steps).
    """
    os.sched_setaffinity(0, {core})
    try:
        session = _open_session(setting, spec)
        readings: list[tuple[int, ...]] = []
        gc.collect()
        gc.freeze()  # as the engine does after its start
        pipe.send("ready")
        while (num_steps := pipe.recv()) is not None:
            before = _interference(core)
            for _ in range(num_steps):
                reading = session.step()
                readings.append(reading_row(reading))
            after = _interference(core)
            counts = [row[6:] for row in readings[-num_steps:]]
            pipe.send(([late - early for early, late in zip(before, after, strict=True)], counts))
        pipe.send((np.array(readings, dtype=np.int64), _final_state(session), _peak_rss_mib()))
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        pass  # the orchestrator is gone or gave up
    except Exception as error:
        pipe.send(f"{type(error).__name__}: {error}")


def reading_row(reading: Any) -> tuple[int, ...]:
    """A StepReading as a row of READING_FIELDS."""
    return tuple(getattr(reading, field) for field in READING_FIELDS)


def scheduler_class(setting: Setting, spec: str) -> type:
    """The class of variant `spec` that the experiment asks for, sync or async."""
    from bench.variants import load

    variant = load(spec)
    return variant.async_scheduler if setting.shape.async_scheduling else variant.scheduler


def _open_session(setting: Setting, spec: str) -> Any:
    from bench.engine import adapter
    from bench.engine.inprocess import EngineSession
    from bench.engine.replay import ReplaySession

    scheduler = scheduler_class(setting, spec)
    if setting.tier == "engine":
        return EngineSession(scheduler, setting.trace, setting.shape)
    return ReplaySession(scheduler, setting.trace, setting.shape, adapter.make_vllm_config(setting.shape))


def _final_state(session: Any) -> tuple[list[str], list[str], int]:
    """Both queues and the number of known tokens: a cheap last check that both arms ended alike."""
    scheduler = session.scheduler
    running = [request.request_id for request in scheduler.running]
    waiting = [request.request_id for request in scheduler.waiting]
    return running, waiting, sum(request.num_tokens for request in scheduler.requests.values())


def _peak_rss_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # Linux counts KiB


def _interference(core: int) -> tuple[float, ...]:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    collections = gc.get_stats()[2]["collections"]
    return (usage.ru_nivcsw, usage.ru_minflt, usage.ru_majflt, _steal_ms(core), collections)


def _steal_ms(core: int) -> float:
    """Time that the hypervisor has taken from `core` since boot, in ms; 0 where the kernel does not say."""
    try:
        lines = Path("/proc/stat").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0
    fields = next((line.split() for line in lines if line.startswith(f"cpu{core} ")), [])
    return float(fields[STEAL_FIELD]) * TICK_MS if len(fields) > STEAL_FIELD else 0.0


def main() -> None:
    """A spawned arm: its pipe is the file descriptor named on the command line, its orders are the first message."""
    pipe = Connection(int(sys.argv[1]))
    setting, spec, core = pipe.recv()
    serve_arm(pipe, setting, spec, core)


if __name__ == "__main__":
    main()
