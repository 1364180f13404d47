"""What RUNNING-queue operations take of a step in each cell of the `replay` tier: asked for, done, and written down.

It comes after the pairs: code that ran on a counted queue would start the arms with other caches in the interpreter.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Protocol

from bench.manifest import ComparisonRecord
from bench.measure.arm import scheduler_class
from bench.measure.executor import Executor, Share
from bench.measure.host import Cores
from bench.measure.messages import Failure, QueueResult, QueueTask, Setting, Slicing
from bench.measure.progress import Reporter


class Update(Protocol):
    """Changes one comparison's record, on disk too."""

    def __call__(self, comparison_id: str, **changes: object) -> None:
        """Write the record with `changes`."""


def queue_tasks(
    comparisons: Sequence[ComparisonRecord], setting_of: Callable[[ComparisonRecord], Setting]
) -> list[QueueTask]:
    """One task for each cell of the replay tier that has steady steps and no figure yet."""
    first: dict[str, ComparisonRecord] = {}
    for comparison in comparisons:
        if comparison.tier == "replay" and comparison.num_slices and comparison.status != "void":
            first.setdefault(comparison.cell, comparison)
    known = {comparison.cell for comparison in comparisons if comparison.queue_ns_a_step is not None}
    return [
        QueueTask(setting_of(one), Slicing(one.steady_first, one.steps_per_slice, one.num_slices))
        for cell, one in first.items()
        if cell not in known
    ]


def count_queues(
    tasks: Sequence[QueueTask],
    comparisons: Sequence[ComparisonRecord],
    executor: Executor,
    hash_seed: int,
    reporter: Reporter,
    update: Update,
) -> None:
    """Do the tasks and write their figures into every comparison of the cell; one that fails is told and left out."""
    if not tasks:
        return
    cell_of = {comparison.id: comparison.cell for comparison in comparisons}
    with reporter.stage("queue operations", len(tasks), "cells") as advance:
        for done in executor.run([Share(0, hash_seed, tasks)], lambda task: True):
            result = done.result
            if isinstance(result, QueueResult):
                operations = dict(result.operations)
                total = sum(count * ns for count, ns in operations.values())
                for comparison_id in cell_of:
                    if cell_of[comparison_id] == cell_of[result.comparison]:
                        update(comparison_id, queue_ns_a_step=total, queue_operations=operations)
            elif isinstance(result, Failure):
                reporter.say(f"{cell_of[result.comparison]}: queue operations were not counted: {result.message}")
            advance()


def count_queue(task: QueueTask, cores: Cores) -> QueueResult:
    """In a worker: count, and time on the arms' core; raises MeasureError where the baseline's queue is no list."""
    from bench.engine import adapter
    from bench.engine.queue_cost import queue_cost

    setting, before = task.setting, os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cores.arms})
    try:
        cost = queue_cost(
            scheduler_class(setting, setting.baseline),
            setting.trace,
            setting.shape,
            adapter.make_vllm_config(setting.shape),
            first=task.slicing.first,
            last=task.slicing.last,
        )
    finally:
        os.sched_setaffinity(0, before)
    return QueueResult(setting.comparison, {kind: (count, cost.ns[kind]) for kind, count in cost.a_step.items()})
