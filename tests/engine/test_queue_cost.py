from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from bench.engine import adapter
from bench.engine.queue_cost import KINDS, CountedList, QueueCost, queue_cost
from bench.engine.shape import resolve_shape
from bench.errors import MeasureError
from bench.options import EngineOptions
from bench.traces.model import Trace
from bench.variants import load
from tests.engine.conftest import request, trace_of


def cost_of(trace: Trace, first: int, last: int, variant: str = "list", **options: Any) -> QueueCost:
    shape = resolve_shape(EngineOptions.model_validate(options), trace)
    loaded = load(variant)
    scheduler = loaded.async_scheduler if shape.async_scheduling else loaded.scheduler
    return queue_cost(scheduler, trace, shape, adapter.make_vllm_config(shape), first=first, last=last)


def four(**changes: Any) -> Trace:
    return trace_of(*(request(name, output=20, **changes) for name in "abcd"))


@pytest.mark.parametrize(
    ("use", "noted"),
    [
        (len, {"length": 1}),
        (bool, {"length": 1}),
        (lambda q: q[-1], {"visit": 1}),
        (lambda q: sum(1 for _ in q), {"iteration": 4}),
        (lambda q: any(one == "b" for one in q), {"iteration": 2}),
        (lambda q: max(q), {"iteration": 4}),
        (lambda q: q.append("e"), {"append": 1}),
        (lambda q: q.pop(), {"pop": 1}),
        (lambda q: q.index("c"), {"comparison": 3}),
        (lambda q: q.remove("b"), {"comparison": 2, "removal": 1}),
        (lambda q: q.__delitem__(0), {"removal": 1}),
    ],
)
def test_each_operation_is_noted_once(use: Callable[[Any], object], noted: dict[str, int]) -> None:
    tally: Counter[str] = Counter()
    use(CountedList(["a", "b", "c", "d"], tally))
    assert tally == noted


@pytest.mark.parametrize("ahead", [False, True])
def test_a_steady_step_visits_each_request_once(ahead: bool) -> None:
    cost = cost_of(four(), 5, 14, async_scheduling=ahead)
    assert cost.num_steps == 10
    assert cost.a_step["visit"] == 4
    assert cost.a_step["length"] >= 5  # asked before each visit, and once at the end
    assert set(cost.a_step) == {"length", "visit"}


def test_a_lone_removal_is_a_search_and_several_are_a_rebuild() -> None:
    lone = cost_of(trace_of(request("a", output=20), request("b", output=20), request("c", output=8)), 3, 12)
    assert lone.a_step["comparison"] == 0.3  # the third of three, in one step of ten
    assert lone.a_step["removal"] == 0.1
    assert "rebuild" not in lone.a_step
    several = cost_of(trace_of(request("a", output=20), *(request(name, output=8) for name in "bcd")), 3, 12)
    assert several.a_step["rebuild"] == 0.4
    assert not several.a_step.keys() & {"comparison", "removal", "iteration"}


def test_priority_preemption_passes_over_the_queue() -> None:
    trace = replace(four(prompt=60, priority=1), engine=replace(four().engine, kv_tokens=256))
    cost = cost_of(trace, 0, 12, policy="priority")
    assert cost.a_step["iteration"] > 0
    assert cost.a_step["comparison"] > 0
    assert cost.a_step["removal"] > 0


def test_every_kind_that_occurs_has_a_cost_and_the_sum_is_theirs() -> None:
    cost = cost_of(four(), 5, 14)
    assert cost.ns.keys() == cost.a_step.keys()
    assert all(ns >= 0 for ns in cost.ns.values())
    by_hand = QueueCost(10, {"length": 5.0, "visit": 4.0}, {"length": 10.0, "visit": 20.0})
    assert by_hand.ns_a_step == 130.0


def test_every_kind_can_be_timed() -> None:
    from bench.engine import queue_cost as module

    queue = [adapter.make_request(request(name), [1, 2], None) for name in "abcd"]
    assert module._LOOPS.keys() == {*KINDS}
    for kind in KINDS:
        assert module._cost(kind, queue) >= 0
        assert [each.request_id for each in queue] == [*"abcd"], kind


def test_a_queue_that_is_no_list_is_refused() -> None:
    with pytest.raises(MeasureError, match="RUNNING of Scheduler is a dict, expected a list"):
        cost_of(four(), 5, 14, variant="dict")
