"""One arm: a session on one variant, stepped on command and timed slice by slice.

It runs in a process of its own, forked by a worker or spawned. Told to fork, it leaves the timed steps to a child that
starts from its state in memory of its own; while one arm runs a slice, the other waits for its next command.
"""

from __future__ import annotations

import gc
import os
import resource
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from time import thread_time_ns
from typing import Any

import numpy as np

from bench.measure.host import die_with_parent
from bench.measure.messages import READING_FIELDS, Advance, Command, CompareProbe, Describe, End, Fork, Setting

STEAL_FIELD = 8
TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")
LARGEST_PAD = 2**16  # bytes
NUM_PADS = 64

Row = tuple[int, ...]


def serve_arm(pipe: Connection, setting: Setting, spec: str, seed: int, *, prepare_on: int, time_on: int) -> None:
    """Build the session, say ready, and do what is asked for until told to end; never raises.

    `prepare_on` and `time_on` are cores: two arms can be brought to their steady phase side by side, and are timed on
    one. `seed` draws where the session will lie in memory.
    """
    try:
        die_with_parent()
        os.sched_setaffinity(0, {prepare_on})
        pads = _pads(seed)
        session = _open_session(setting, spec)
        _settle()
        pipe.send("ready")
        _serve(pipe, session, time_on)
        del pads
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        pass  # the orchestrator is gone or gave up
    except Exception as error:
        pipe.send(f"{type(error).__name__}: {error}")


def _serve(pipe: Connection, session: Any, core: int) -> None:
    while True:
        command: Command = pipe.recv()
        if isinstance(command, End):
            pipe.send((_final_state(session), _peak_rss_mib()))
            return
        if isinstance(command, Fork):
            _fork(pipe, session, core)
        elif isinstance(command, Describe):
            pipe.send(getattr(session, "resolved", {}))
        elif isinstance(command, CompareProbe):
            pipe.send(_compare_probe(session, command))
        else:
            pipe.send(_advance(session, command, core))


def _fork(pipe: Connection, session: Any, core: int) -> None:
    """Wait while a child serves the pipe; say so where it does not end as it should."""
    _settle()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            die_with_parent()
            os.sched_setaffinity(0, {core})
            pipe.send("ready")
            _serve(pipe, session, core)
            code = 0
        except (EOFError, BrokenPipeError):
            code = 0
        except Exception as error:
            pipe.send(f"{type(error).__name__}: {error}")
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        pipe.send("MeasureError: the process that ran the timed steps is gone")


def _advance(session: Any, command: Advance, core: int) -> tuple[tuple[float, ...], list[Row]]:
    before = _interference(core)
    readings = [session.step() for _ in range(command.num_steps)]
    after = _interference(core)
    disturbed = tuple(late - early for early, late in zip(before, after, strict=True))
    return disturbed, [reading_row(reading) for reading in readings]


def _compare_probe(session: Any, command: CompareProbe) -> list[tuple[int, int]]:
    times = []
    for with_first in np.random.default_rng(command.seed).integers(2, size=command.num_pairs):
        pair = {}
        for is_on in (True, False) if with_first else (False, True):
            session.probe.is_on = is_on
            began = thread_time_ns()
            session.step()
            pair[is_on] = thread_time_ns() - began
        times.append((pair[True], pair[False]))
    return times


def reading_row(reading: Any) -> Row:
    """A StepReading as a row of READING_FIELDS."""
    return tuple(getattr(reading, field) for field in READING_FIELDS)


def scheduler_class(setting: Setting, spec: str) -> type:
    """The class of variant `spec` that the experiment asks for, sync or async."""
    from bench.variants import load

    variant = load(spec)
    return variant.async_scheduler if setting.shape.async_scheduling else variant.scheduler


def _pads(seed: int) -> list[bytearray]:
    """Memory that is taken and not used: what is built after it lies elsewhere in each arm."""
    return [bytearray(int(size)) for size in np.random.default_rng(seed).integers(1, LARGEST_PAD, size=NUM_PADS)]


def _settle() -> None:
    """Keep what exists out of later collections, as the engine does after its start."""
    gc.collect()
    gc.freeze()


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
    setting, spec, seed, prepare_on, time_on = pipe.recv()
    serve_arm(pipe, setting, spec, seed, prepare_on=prepare_on, time_on=time_on)


if __name__ == "__main__":
    main()
