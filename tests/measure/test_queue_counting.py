from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from bench.manifest import ComparisonRecord
from bench.measure.executor import Done, Executor, Share, Wanted
from bench.measure.folder import read_manifest
from bench.measure.messages import Failure, QueueResult, QueueTask, Result, Setting
from bench.measure.progress import Reporter
from bench.measure.queue_counting import count_queues, queue_tasks


def record(comparison_id: str, cell: str = "c", **changes: Any) -> ComparisonRecord:
    planned = {"tier": "replay", "steady_first": 9, "steps_per_slice": 2, "num_slices": 5} | changes
    return ComparisonRecord(
        id=comparison_id, cell=cell, workload="w", num_running=4, trace="t", baseline="list", candidate="dict",
        canary=False, **planned,
    )  # fmt: skip


def setting(comparison: ComparisonRecord) -> Setting:
    return Setting(comparison.id, "replay", "list", "dict", cast(Any, None), cast(Any, None), 1.0)


class Scripted:
    """An executor that gives out what it was told, by comparison."""

    def __init__(self, results: dict[str, Result]) -> None:
        self.results = results
        self.shares: list[Share] = []

    def run(self, shares: Sequence[Share], wanted: Wanted) -> Iterator[Done]:
        self.shares += shares
        for task in shares[0].tasks:
            yield Done(task, self.results[task.setting.comparison], 0)


def count(comparisons: list[ComparisonRecord], results: dict[str, Result]) -> tuple[dict[str, Any], Scripted]:
    updates: dict[str, Any] = {}
    executor = Scripted(results)

    def update(comparison_id: str, **changes: object) -> None:
        updates[comparison_id] = changes

    tasks = queue_tasks(comparisons, setting)
    count_queues(tasks, comparisons, cast(Executor, executor), 7, Reporter(), update)
    return updates, executor


def test_one_task_a_cell_over_its_steady_steps() -> None:
    (task,) = queue_tasks([record("a"), record("b")], setting)
    assert isinstance(task, QueueTask)
    assert (task.setting.comparison, task.slicing.first, task.slicing.last) == ("a", 9, 18)


@pytest.mark.parametrize(
    "changes", [{"tier": "engine"}, {"num_slices": 0}, {"status": "void"}, {"queue_ns_a_step": 1.0}]
)
def test_what_cannot_or_need_not_be_counted_has_no_task(changes: dict[str, Any]) -> None:
    assert queue_tasks([record("a", **changes)], setting) == []


def test_the_figure_goes_to_every_comparison_of_the_cell() -> None:
    operations = {"length": (5.0, 20.0), "visit": (4.0, 30.0)}
    updates, executor = count([record("a"), record("b"), record("x", "other")], {
        "a": QueueResult("a", operations), "x": Failure("x", "RUNNING is a dict"),
    })  # fmt: skip
    assert updates == {each: {"queue_ns_a_step": 220.0, "queue_operations": operations} for each in "ab"}
    assert [share.hash_seed for share in executor.shares] == [7]


def test_a_failure_is_told_and_fails_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    updates, _ = count([record("a")], {"a": Failure("a", "RUNNING is a dict")})
    assert updates == {}
    assert "c: queue operations were not counted: RUNNING is a dict" in capsys.readouterr().err


def test_a_real_run_has_the_figure_in_its_manifest(finished_run: Path) -> None:
    for comparison in read_manifest(finished_run).comparisons:
        assert comparison.queue_ns_a_step
        assert comparison.queue_ns_a_step > 0
        visits, _ = comparison.queue_operations["visit"]
        assert 15 <= visits <= 16  # one abort at a time leaves a place empty for a step at most
