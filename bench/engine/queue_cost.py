"""What the operations on RUNNING take of a step: counted in an untimed replay, each kind timed in place, multiplied.

No other container can save more than all of it, so the sum bounds the gain of any. Only operations of a `list` are
known here; the baseline must keep its queue in one.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from time import perf_counter_ns
from typing import Any, SupportsIndex, cast

from bench.engine.replay import ReplaySession
from bench.engine.shape import EngineShape
from bench.errors import MeasureError
from bench.traces.model import Trace

REPEATS = 15  # the median of so many loops is the cost, as a step's time is a median too
LOOP = 4096  # operations timed together, 0.1 ms and more

KINDS = ("length", "visit", "iteration", "append", "pop", "comparison", "removal", "rebuild")
"""`length` and truth; `visit`: a read at a position; `iteration`: a request met by a loop; `comparison`: a request
that `index` or `remove` looked at; `removal`: what follows once it is found; `rebuild`: a request that a filtering pass
asked whether to keep."""


@dataclass(frozen=True)
class QueueCost:
    """By kind of KINDS: how often in a step, on average, and what one takes, in ns; kinds that never occur are out."""

    num_steps: int
    a_step: Mapping[str, float]
    ns: Mapping[str, float]

    @property
    def ns_a_step(self) -> float:
        """All of it together."""
        return sum(count * self.ns[kind] for kind, count in self.a_step.items())


def queue_cost(
    scheduler_class: type, trace: Trace, shape: EngineShape, config: Any, *, first: int, last: int
) -> QueueCost:
    """The cost over steps `first` to `last`, timed at the greatest length; MeasureError where the queue is no list."""
    tally: Counter[str] = Counter()
    session = ReplaySession(_counting(scheduler_class, tally), trace, shape, config)
    session.probe.is_on = False  # it asks for the length itself
    for _ in range(first):
        session.step()
    tally.clear()
    queue: list[Any] = []
    for _ in range(first, last + 1):
        session.step()
        running = session.scheduler.running
        if list.__len__(running) >= len(queue):
            queue = list.copy(running)
    num_steps = last + 1 - first
    a_step = {kind: tally[kind] / num_steps for kind in KINDS if tally[kind]}
    if not queue:
        raise MeasureError("RUNNING was empty after every steady step; nothing can be timed on it")
    return QueueCost(num_steps, a_step, {kind: _cost(kind, queue) for kind in a_step})


# ---- counting ---------------------------------------------------------------------------------------------------


class CountedList(list[Any]):
    """A list that notes in `tally` what is done with it."""

    def __init__(self, items: list[Any], tally: Counter[str]) -> None:
        super().__init__(items)
        self.tally = tally

    def __len__(self) -> int:
        self.tally["length"] += 1
        return super().__len__()

    def __getitem__(self, place: Any) -> Any:
        self.tally["visit"] += 1
        return super().__getitem__(place)

    def __iter__(self) -> Iterator[Any]:
        for item in super().__iter__():
            self.tally["iteration"] += 1
            yield item

    def append(self, item: Any) -> None:  # noqa: D102
        self.tally["append"] += 1
        super().append(item)

    def pop(self, place: SupportsIndex = -1) -> Any:  # noqa: D102
        self.tally["pop"] += 1
        return super().pop(place)

    def index(self, item: Any, *bounds: SupportsIndex) -> int:  # noqa: D102
        place = super().index(item, *bounds)
        self.tally["comparison"] += place + 1
        return place

    def remove(self, item: Any) -> None:  # noqa: D102
        self.index(item)
        self.tally["removal"] += 1
        super().remove(item)

    def __delitem__(self, place: Any) -> None:
        self.tally["removal"] += 1
        super().__delitem__(place)


def _counting(scheduler_class: type, tally: Counter[str]) -> type:
    """`scheduler_class` with its RUNNING counted, also after it was assigned anew: then its survivors were copied."""

    def get(scheduler: Any) -> CountedList:
        return cast(CountedList, scheduler.__dict__["running"])

    def put(scheduler: Any, queue: object) -> None:
        if type(queue) is list:
            if (before := scheduler.__dict__.get("running")) is not None:
                passed = list.__len__(before)
                tally["rebuild"] += passed
                tally["iteration"] -= passed
            queue = CountedList(queue, tally)
        if not isinstance(queue, CountedList):
            kind = type(queue).__name__
            raise MeasureError(f"RUNNING of {scheduler_class.__name__} is a {kind}, expected a list")
        scheduler.__dict__["running"] = queue

    return type(scheduler_class.__name__, (scheduler_class,), {"running": property(get, put)})


# ---- timing -----------------------------------------------------------------------------------------------------


class _Holder:
    """Has the queue as an attribute, as a scheduler has it."""

    def __init__(self, queue: list[Any]) -> None:
        self.running = queue


def _cost(kind: str, queue: list[Any]) -> float:
    """ns that one operation takes on `queue` at its length, less the turns of the loop around it."""
    loop, holder = _LOOPS[kind], _Holder(queue)
    collects = gc.isenabled()
    gc.disable()
    try:
        turn = median(_timed(_nothing, holder)[0] for _ in range(REPEATS))
        return median(max(0.0, each - turns * turn) for each, turns in (_timed(loop, holder) for _ in range(REPEATS)))
    finally:
        if collects:
            gc.enable()


def _timed(loop: Callable[[_Holder], tuple[int, int]], holder: _Holder) -> tuple[float, float]:
    """ns an operation, and turns of the surrounding `for` an operation."""
    began = perf_counter_ns()
    operations, turns = loop(holder)
    return (perf_counter_ns() - began) / operations, turns / operations


def _nothing(holder: _Holder) -> tuple[int, int]:
    for _ in range(LOOP):
        pass
    return LOOP, LOOP


def _length(holder: _Holder) -> tuple[int, int]:
    for _ in range(LOOP):
        len(holder.running)
    return LOOP, LOOP


def _visit(holder: _Holder) -> tuple[int, int]:
    """From front to back, with the comparison and the step of the cursor that such a walk needs."""
    size = len(holder.running)
    rounds = -(-LOOP // size)
    for _ in range(rounds):
        place = 0
        while place < size:
            holder.running[place]
            place += 1
    return rounds * size, 0


def _iteration(holder: _Holder) -> tuple[int, int]:
    """The dearest pass that vLLM makes: for the victim of the priority policy, with the key that it is found by."""
    rounds = -(-LOOP // len(holder.running))
    for _ in range(rounds):
        max(holder.running, key=lambda request: (request.priority, request.arrival_time))
    return rounds * len(holder.running), 0


def _append_and_pop(holder: _Holder) -> tuple[int, int]:
    """Both, so that the length stays; each is taken for half of it."""
    request = holder.running[-1]
    for _ in range(LOOP):
        holder.running.append(request)
        holder.running.pop()
    return 2 * LOOP, LOOP


def _comparison(holder: _Holder) -> tuple[int, int]:
    """A search for the last one: those before it are compared by `==`, which a request does not define."""
    rounds = -(-LOOP // len(holder.running))
    last = holder.running[-1]
    for _ in range(rounds):
        holder.running.index(last)
    return rounds * len(holder.running), 0


def _removal(holder: _Holder) -> tuple[int, int]:
    """Out of the middle and in again; each is taken for half of it."""
    middle = len(holder.running) // 2
    for _ in range(LOOP):
        holder.running.insert(middle, holder.running.pop(middle))
    return 2 * LOOP, LOOP


def _rebuild(holder: _Holder) -> tuple[int, int]:
    rounds = -(-LOOP // len(holder.running))
    stopped = {*holder.running[1::16]}
    for _ in range(rounds):
        [request for request in holder.running if request not in stopped]
    return rounds * len(holder.running), 0


_LOOPS: Mapping[str, Callable[[_Holder], tuple[int, int]]] = {
    "length": _length,
    "visit": _visit,
    "iteration": _iteration,
    "append": _append_and_pop,
    "pop": _append_and_pop,
    "comparison": _comparison,
    "removal": _removal,
    "rebuild": _rebuild,
}
