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

from bench.measure.host import Cores, host_facts
from bench.measure.messages import Failure, Result, Task
from bench.measure.pool import Worker, WorkerLostError
from bench.records import ZygoteRecord


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
    """One worker after another on this machine; the worker of the last share stays for the next call."""

    def __init__(self, cores: Cores, log: Path, zygotes: Sequence[ZygoteRecord] = ()) -> None:
        self.zygotes = [*zygotes]
        self._cores = cores
        self._log = log
        self._worker: Worker | None = None
        self._hash_seed: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close(gently=kind is None)

    def run(self, shares: Sequence[Share], wanted: Wanted) -> Iterator[Done]:
        """As the protocol says; shares one after another, in their order."""
        for share in shares:
            for task in share.tasks:
                if wanted(task):
                    yield self._do(task, share.hash_seed)

    def _do(self, task: Task, hash_seed: int) -> Done:
        worker = self._open(hash_seed)
        zygote = len(self.zygotes) - 1
        try:
            return Done(task, worker.do(task), zygote)
        except WorkerLostError as error:
            self._close(gently=False)
            return Done(task, Failure(task.setting.comparison, str(error), getattr(task, "pair", -1)), zygote)

    def _open(self, hash_seed: int) -> Worker:
        if self._worker is not None and self._hash_seed == hash_seed:
            return self._worker
        self._close(gently=True)
        self._worker, self._hash_seed = Worker(hash_seed, self._cores, self._log).start(), hash_seed
        self.zygotes.append(ZygoteRecord(hash_seed=hash_seed, host=host_facts()))
        return self._worker

    def _close(self, *, gently: bool) -> None:
        if self._worker is not None:
            self._worker.stop(gently=gently)
        self._worker = None
