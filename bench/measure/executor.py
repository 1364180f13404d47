"""Where the workers of a run live: this machine, or a cluster (`bench.measure.cluster`), behind one interface.

Both arms of a pair always run in one worker, and so on one machine. A worker that is lost is replaced, and the new
one is another zygote: pairs that share a zygote share a process and a machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from bench.manifest import ZygoteRecord
from bench.measure.host import Cores, host_facts
from bench.measure.messages import Failure, PairTask, Result, Task
from bench.measure.pool import Worker, WorkerLostError

MAX_AHEAD = 4  # idle workers cost nothing but memory: about half a GiB each


@dataclass(frozen=True)
class Share:
    """Tasks that one worker does in their order, and the hash seed that it is started with."""

    number: int
    hash_seed: int
    tasks: Sequence[Task]


@dataclass(frozen=True)
class Done:
    """A task with its result, and the zygote that did it: an index into the executor's `zygotes`."""

    task: Task
    result: Result
    zygote: int


Wanted = Callable[[Task], bool]
"""Asked right before a task is given out: a comparison may have become void in the meantime."""


class Executor(Protocol):
    """Runs shares and hands back what is done; use it as a context, which ends every worker."""

    zygotes: list[ZygoteRecord]

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def run(self, shares: Sequence[Share], wanted: Wanted) -> Iterator[Done]:
        """Every wanted task, done or failed, as soon as it is; a failure is a result and never an exception."""
        ...


class LocalExecutor:
    """One worker after another on this machine; those of the next shares import vLLM ahead, while nothing is timed."""

    def __init__(
        self, cores: Cores, log: Path, zygotes: Sequence[ZygoteRecord] = (), hash_seeds: Sequence[int] = ()
    ) -> None:
        self.zygotes = [*zygotes]
        self._hash_seeds = hash_seeds  # in the order in which they will be asked for
        self._cores = cores
        self._log = log
        self._workers: dict[int, Worker] = {}  # by hash seed
        self._zygote_of: dict[int, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for hash_seed in [*self._workers]:
            self._close(hash_seed, gently=kind is None)

    def run(self, shares: Sequence[Share], wanted: Wanted) -> Iterator[Done]:
        """As the protocol says; shares one after another, in their order."""
        for number, share in enumerate(shares):
            for task in share.tasks:
                if wanted(task):
                    yield self._do(task, share.hash_seed)
            if number + 1 < len(shares):
                self._close(share.hash_seed, gently=True)

    def _do(self, task: Task, hash_seed: int) -> Done:
        if hash_seed not in self._workers:
            self._launch(hash_seed)
        self._await_import(hash_seed)
        if isinstance(task, PairTask):  # other workers' imports would disturb it
            for other in [*self._workers]:
                self._await_import(other)
        zygote = self._zygote_of[hash_seed]
        try:
            return Done(task, self._workers[hash_seed].do(task), zygote)
        except WorkerLostError as error:
            self._close(hash_seed, gently=False)
            return Done(task, Failure(task.setting.comparison, str(error), getattr(task, "pair", -1)), zygote)

    def _launch(self, hash_seed: int) -> None:
        """Start the worker of `hash_seed`, and where none waits for its share yet, those of the next ones with it."""
        place = self._hash_seeds.index(hash_seed) if hash_seed in self._hash_seeds else None
        ahead = [] if place is None or self._workers else self._hash_seeds[place + 1 : place + MAX_AHEAD]
        for seed in (hash_seed, *ahead):
            self._workers[seed] = Worker(seed, self._cores, self._log).launch()

    def _await_import(self, hash_seed: int) -> None:
        if hash_seed not in self._zygote_of:
            self._workers[hash_seed].await_import()
            self.zygotes.append(ZygoteRecord(hash_seed=hash_seed, host=host_facts()))
            self._zygote_of[hash_seed] = len(self.zygotes) - 1

    def _close(self, hash_seed: int, *, gently: bool) -> None:
        worker = self._workers.pop(hash_seed, None)
        self._zygote_of.pop(hash_seed, None)
        if worker is not None:
            worker.stop(gently=gently)
