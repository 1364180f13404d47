"""Equivalence only: proves traces alike in a worker with a fixed hash seed, and measures nothing."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from bench.engine.shape import resolve_shape
from bench.errors import MeasureError
from bench.measure.executor import LocalExecutor, Share
from bench.measure.host import choose_cores
from bench.measure.messages import PROOF_FIELDS, Failure, ProveResult, ProveTask, Setting
from bench.options import EngineOptions
from bench.traces.files import read_trace
from bench.traces.model import Trace
from bench.traces.workloads import WORKLOADS, generate, missed_paths
from bench.variants import load


def traces_to_verify(
    workloads: Sequence[str], trace_file: Path | None, num_running: int, seeds: int
) -> Mapping[str, Trace]:
    """Traces by a name to print; all workloads where none is named."""
    if trace_file is not None:
        return {str(trace_file): read_trace(trace_file)}
    return {
        f"{workload} n={num_running} seed={seed}": generate(workload, num_running=num_running, seed=seed)
        for workload in workloads or WORKLOADS
        for seed in range(1, seeds + 1)
    }


def verify_traces(
    baseline: str, candidate: str, traces: Mapping[str, Trace], options: EngineOptions, step_time_limit_s: float
) -> Iterator[tuple[str, ProveResult]]:
    """The proof of each trace as soon as it is there; raises MeasureError where one could not be made."""
    for spec in (baseline, candidate):
        load(spec).check(is_async=options.async_scheduling)
    tasks = [
        ProveTask(_setting(name, trace, baseline, candidate, options, step_time_limit_s))
        for name, trace in traces.items()
    ]
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalExecutor(choose_cores(), Path(folder) / "worker.log") as executor,
    ):
        for done in executor.run([Share(0, 0, tasks)], lambda task: True):
            if isinstance(done.result, Failure):
                raise MeasureError(f"{done.result.comparison}: {done.result.message}")
            assert isinstance(done.result, ProveResult)
            yield done.result.comparison, done.result


def missed_path(trace: Trace, proof: ProveResult) -> list[str]:
    """What the steps of an equal proof should have shown and did not, by the trace's workload; none: all was there.

    Judged from the first to the last step with `steady_running` running; where there is none, that is what is said.
    """
    full = np.flatnonzero(proof.field("running") >= trace.steady_running)
    if not full.size:
        return [f"never so many running as {trace.steady_running}"]
    readings = {name: proof.field(name) for name in PROOF_FIELDS}
    return missed_paths(trace.workload, trace.options, readings, slice(int(full[0]), int(full[-1]) + 1))


def _setting(
    name: str, trace: Trace, baseline: str, candidate: str, options: EngineOptions, step_time_limit_s: float
) -> Setting:
    return Setting(
        comparison=name,
        tier="replay",
        baseline=baseline,
        candidate=candidate,
        trace=trace,
        shape=resolve_shape(options, trace),
        step_time_limit_s=step_time_limit_s,
    )
