"""Workers on a Ray cluster: one actor a share, with the cores of one node reserved for its two arms and itself.

The actor holds an ordinary local worker, so what is measured, and how, is the same code as on one machine. A node
that is lost takes nothing with it but the pair in flight: its share goes on elsewhere, as another zygote.
"""

from __future__ import annotations

import contextlib
import socket
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bench.errors import BenchError, HostError, MeasureError
from bench.manifest import ZygoteRecord
from bench.measure.executor import Done, Share, Wanted
from bench.measure.host import choose_cores, host_facts, versions
from bench.measure.messages import Failure, Result, Task
from bench.measure.pool import Worker

CORES_A_WORKER = 2  # one for the arms, one for the orchestrator of their slices
MAX_MOVES = 3  # a share that lost so many nodes has a trouble of its own
STOP_LIMIT_S = 30.0
CONNECT_LIMIT_S = 10.0
NODE_IS_DYING_S = 10.0  # Ray may still place work on a node that is gone; ask again after it has noticed
READY_LIMIT_S = 300.0  # a node must free its cores and import vLLM


class _Actor:
    """Runs on a node: a local worker, started in its own process there."""

    def __init__(self, hash_seed: int) -> None:
        folder = Path(tempfile.mkdtemp(prefix="runqueue-bench-"))
        self._worker = Worker(hash_seed, choose_cores(), folder / "worker.log").start()

    def facts(self) -> tuple[dict[str, Any], dict[str, str]]:
        """Host and versions of this node."""
        return host_facts(), versions()

    def do(self, task: Task) -> Result:
        """The result of `task`, a Failure where it failed."""
        try:
            return self._worker.do(task)
        except BenchError as error:
            return Failure(task.setting.comparison, str(error), getattr(task, "pair", -1))

    def stop(self) -> None:
        """End the worker, and with it its arms."""
        self._worker.stop(gently=True)


@dataclass
class _Running:
    """A share on its way: what is left of it, the actor that has it, and the zygote that this actor is once started."""

    share: Share
    left: deque[Task]
    actor: Any = None
    zygote: int = -1
    is_started: bool = False
    moves: int = 0


class RayExecutor:
    """Shares side by side on the nodes of the Ray cluster at `address` ("auto": the one that this host belongs to)."""

    def __init__(self, address: str, zygotes: Sequence[ZygoteRecord] = (), *, num_gpus: int = 0) -> None:
        self.zygotes = [*zygotes]
        self._address = address
        self._num_gpus = num_gpus
        self._ray: Any = None
        self._actors: list[Any] = []
        self._in_flight: dict[Any, _Running] = {}

    def __enter__(self) -> Self:
        self._ray = connect(self._address)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for actor in [*self._actors]:
            self._end(actor)
        self._ray.shutdown()

    def run(self, shares: Sequence[Share], wanted: Wanted) -> Iterator[Done]:
        """As the protocol says; shares side by side, as many as the cluster has room for."""
        waiting = deque(_Running(share, deque(share.tasks)) for share in shares)
        self._in_flight = {}
        while waiting or self._in_flight:
            while waiting and len(self._in_flight) < max(1, self._room()):
                self._start(waiting.popleft())
            ready, _ = self._ray.wait([*self._in_flight], num_returns=1, timeout=READY_LIMIT_S)
            if not ready and not any(running.is_started for running in self._in_flight.values()):
                raise MeasureError(f"no node of the Ray cluster started a worker within {READY_LIMIT_S:g} s")
            for answer in ready:
                running = self._in_flight.pop(answer)
                try:
                    yield from self._take(answer, running, wanted)
                except self._ray.exceptions.RayError as error:
                    yield from self._move(running, waiting, str(error).strip().splitlines()[-1])

    def _room(self) -> int:
        """How many workers the living nodes have cores for."""
        nodes = (node["Resources"].get("CPU", 0) for node in self._ray.nodes() if node["Alive"])
        return sum(int(cores // CORES_A_WORKER) for cores in nodes)

    def _start(self, running: _Running) -> None:
        """Ask for an actor; its first answer, once a node has room, says what that node is."""
        running.actor = (
            self._ray.remote(_Actor)
            .options(num_cpus=CORES_A_WORKER, num_gpus=self._num_gpus, scheduling_strategy="SPREAD")
            .remote(running.share.hash_seed)
        )
        self._actors.append(running.actor)
        running.is_started = False
        self._in_flight[running.actor.facts.remote()] = running

    def _take(self, answer: Any, running: _Running, wanted: Wanted) -> Iterator[Done]:
        """One answer of an actor, its node's facts or a result; then the share's next task, or the actor's end."""
        value = self._ray.get(answer)
        if running.is_started:
            yield Done(running.left.popleft(), value, running.zygote)
        else:
            host, found = value
            if found != versions():
                raise HostError(f"a node has other versions than this one: {_first_difference(found, versions())}")
            self.zygotes.append(ZygoteRecord(hash_seed=running.share.hash_seed, host=host))
            running.zygote = len(self.zygotes) - 1
            running.is_started = True
        while running.left and not wanted(running.left[0]):
            running.left.popleft()
        if running.left:
            self._in_flight[running.actor.do.remote(running.left[0])] = running
        else:
            self._end(running.actor)

    def _move(self, running: _Running, waiting: deque[_Running], reason: str) -> Iterator[Done]:
        """The node is gone: what is left of the share goes to another one, or fails where that happened too often."""
        self._actors.remove(running.actor)
        running.moves += 1
        if running.moves <= MAX_MOVES:
            time.sleep(NODE_IS_DYING_S)
            waiting.append(running)
            return
        message = f"lost {running.moves} nodes over this share; the last one: {reason}"
        for task in running.left:
            yield Done(task, Failure(task.setting.comparison, message, getattr(task, "pair", -1)), running.zygote)

    def _end(self, actor: Any) -> None:
        with contextlib.suppress(self._ray.exceptions.RayError):
            self._ray.get(actor.stop.remote(), timeout=STOP_LIMIT_S)
        self._ray.kill(actor)
        self._actors.remove(actor)


def connect(address: str) -> Any:
    """The `ray` module, connected to the cluster at `address`, once however often; raises HostError."""
    try:
        import ray
    except ImportError:
        raise HostError("ray is not installed; pip install 'runqueue-bench[cluster]'") from None
    _check_that_somebody_listens(address)
    try:
        ray.init(address=address, log_to_driver=False, configure_logging=False, ignore_reinit_error=True)
    except (ConnectionError, RuntimeError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise HostError(f"no Ray cluster answers at {address} ({reason}); start one: ray start --head") from None
    total = sum(node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"])
    if total < CORES_A_WORKER:
        raise HostError(f"the Ray cluster has {total:g} cores, expected ≥ {CORES_A_WORKER} on one node")
    return ray


def _check_that_somebody_listens(address: str) -> None:
    """Ray itself waits for minutes where nobody does."""
    host, separator, port = address.rpartition(":")
    if not separator or "://" in address:
        return
    try:
        socket.create_connection((host, int(port)), timeout=CONNECT_LIMIT_S).close()
    except (OSError, ValueError, OverflowError) as error:
        raise HostError(f"no Ray cluster answers at {address} ({error}); start one: ray start --head") from None


def _first_difference(found: dict[str, str], expected: dict[str, str]) -> str:
    name = next(name for name in {**expected, **found} if found.get(name) != expected.get(name))
    return f"{name} is {found.get(name, 'absent')} there and {expected.get(name, 'absent')} here"
