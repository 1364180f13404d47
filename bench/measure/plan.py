"""An experiment becomes cells, comparisons and slices: what will be measured, before anything is."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from pydantic import ValidationError
from tabulate import tabulate

from bench.engine.features import refuse_beyond_replay
from bench.engine.shape import EngineShape, resolve_shape
from bench.errors import ConfigError, MeasureError
from bench.manifest import CANARY, ComparisonRecord
from bench.measure.cell_names import suffix_of, words_of
from bench.measure.messages import PROOF_FIELDS, ProveResult, Setting, Slicing
from bench.options import CellGroup, EngineOptions, Experiment, MeasureOptions, Scalar, Tier
from bench.traces.files import read_trace
from bench.traces.model import Trace
from bench.traces.workloads import generate, missed_paths
from bench.units import NS_PER_MS
from bench.variants import Variant


@dataclass(frozen=True)
class Cell:
    """One workload × size × tier, with its frozen trace and the engine that it runs on."""

    id: str
    tier: Tier
    trace: Trace
    trace_name: str
    shape: EngineShape
    num_pairs: int
    variation: str = ""


def plan_cells(experiment: Experiment) -> list[Cell]:
    """Every cell in the order of the experiment file; raises ConfigError where two have one name."""
    cells = [cell for group in experiment.cells for cell in _cells_of(group, experiment)]
    seen: set[str] = set()
    for cell in cells:
        if cell.id in seen:
            raise ConfigError(f"cells: {cell.id} is asked for twice; one cell has one set of options")
        seen.add(cell.id)
    return _with_own_trace_names(cells)


def describe_plan(experiment: Experiment, baseline: Variant, candidates: list[Variant]) -> str:
    """What `run` would measure, without measuring it: a line a comparison."""
    cells = plan_cells(experiment)
    requests = {cell.id: len(cell.trace.requests) for cell in cells}
    comparisons = plan_comparisons(experiment, cells, baseline, candidates)
    rows = [[c.cell, "A/A" if c.canary else c.candidate, requests[c.cell], c.num_pairs_planned] for c in comparisons]
    table = tabulate(rows, headers=["cell", "candidate", "requests", "pairs"], tablefmt="plain")
    total = sum(c.num_pairs_planned for c in comparisons)
    return f"{table}\n\n{len(comparisons)} comparisons in {len(cells)} cells, {total} pairs"


def plan_comparisons(
    experiment: Experiment, cells: list[Cell], baseline: Variant, candidates: list[Variant]
) -> list[ComparisonRecord]:
    """Every candidate in every cell, and the canary in the first cell of each tier."""
    comparisons = []
    tiers: set[str] = set()
    for cell in cells:
        comparisons += [_comparison(cell, baseline, candidate, candidate.label) for candidate in candidates]
        if experiment.measure.canary and cell.tier not in tiers:
            comparisons.append(_comparison(cell, baseline, baseline, CANARY))
        tiers.add(cell.tier)
    return comparisons


def setting_of(comparison: ComparisonRecord, cell: Cell, step_time_limit_s: float) -> Setting:
    """What a worker must know to prove or measure `comparison`."""
    return Setting(
        comparison=comparison.id,
        tier=cell.tier,
        baseline=comparison.baseline,
        candidate=comparison.candidate,
        trace=cell.trace,
        shape=cell.shape,
        step_time_limit_s=step_time_limit_s,
    )


def lead_in_of(cell: Cell) -> int:
    """Steps to run before the timed ones of a slice.

    A model that runs beside the scheduler goes on while its arm waits for the other's slice, and its answer is there
    when the next one begins: the first step waits for nothing, as no step in a row of steps would.
    """
    return 1 if cell.tier == "engine" and cell.shape.async_scheduling else 0


def plan_slices(proof: ProveResult, steady_running: int, options: MeasureOptions, lead_in: int = 0) -> Slicing:
    """Slices of the steady phase, from the queue length and the pilot's scheduler time by step.

    Steady: from the first to the last step with at least `steady_running` requests running, less the warm-up.
    Raises MeasureError where that leaves fewer slices than a pair must have.
    """
    running, cpu_ns = proof.field("running"), proof.field("cpu_ns")
    full = np.flatnonzero(running >= steady_running)
    if full.size == 0:
        raise MeasureError(f"the queue reached {running.max(initial=0)} running, expected at least {steady_running}")
    first = int(full[0]) + options.warmup_steps
    num_steps = int(full[-1]) + 1 - first
    if num_steps < options.min_slices * (1 + lead_in):
        raise MeasureError(
            f"the steady phase has {max(0, num_steps)} steps after warm-up, "
            f"expected ≥ {options.min_slices * (1 + lead_in)}; "
            "give the workload more `steps`"
        )
    step_ns = max(1.0, float(np.median(cpu_ns[first : first + num_steps])))
    wanted = int(np.ceil(options.slice_ms * NS_PER_MS / step_ns))
    steps_per_slice = max(1, min(wanted + lead_in, num_steps // options.min_slices))
    if lead_in and steps_per_slice > 2:
        # Workloads do things every so many steps, mostly an even number: not always in the step that leads in.
        steps_per_slice -= 1 - steps_per_slice % 2
    return Slicing(first, steps_per_slice, num_steps // steps_per_slice, lead_in)


def check_path(proof: ProveResult, trace: Trace, slicing: Slicing) -> None:
    """Raise MeasureError, with the figures, where the timed steps did not do what their workload promises."""
    readings = {name: proof.field(name) for name in PROOF_FIELDS}
    timed = slicing.is_timed(np.arange(len(readings["running"])))
    missed = missed_paths(trace.workload, trace.options, readings, timed)
    if missed:
        raise MeasureError(f"the trace missed the path of its workload: {'; '.join(missed)}")


def _cells_of(group: CellGroup, experiment: Experiment) -> Iterator[Cell]:
    num_pairs = group.pairs or experiment.measure.pairs
    for name, trace in _traces_of(group, experiment.seed):
        for swept, options in _swept(group, experiment.engine):
            shape = resolve_shape(options, trace)
            refuse_beyond_replay(trace, shape, group.tier)
            yield Cell(
                id=f"{group.tier}-{name}{suffix_of(swept, options)}",
                tier=group.tier,
                trace=trace,
                trace_name=name,
                shape=shape,
                num_pairs=num_pairs,
                variation=words_of(swept, options),
            )


def _with_own_trace_names(cells: list[Cell]) -> list[Cell]:
    """Two traces of one name (the same workload with other options) are told apart by their digests."""
    digests: dict[str, set[str]] = {}
    for cell in cells:
        digests.setdefault(cell.trace_name, set()).add(cell.trace.digest)
    return [
        replace(cell, trace_name=f"{cell.trace_name}-{cell.trace.digest[:8]}")
        if len(digests[cell.trace_name]) > 1
        else cell
        for cell in cells
    ]


def _traces_of(group: CellGroup, seed: int) -> Iterator[tuple[str, Trace]]:
    for workload in group.workloads:
        for num_running in group.num_running:
            trace = generate(workload, num_running=num_running, seed=seed, options=group.options)
            yield f"{workload}-n{num_running}", trace
    for file in group.traces:
        yield re.sub(r"[^A-Za-z0-9._-]", "-", Path(file).stem), read_trace(Path(file))


def _swept(group: CellGroup, engine: EngineOptions) -> Iterator[tuple[dict[str, Scalar], EngineOptions]]:
    """What is swept and the engine options, for each combination of the group's sweep."""
    for values in itertools.product(*group.sweep.values()):
        swept = dict(zip(group.sweep, values, strict=True))
        try:
            yield swept, EngineOptions.model_validate({**engine.model_dump(), **swept})
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            raise ConfigError(
                f"cells.sweep: {problem['loc'][0]} cannot be {problem['input']!r}: {problem['msg']}"
            ) from error


def _comparison(cell: Cell, baseline: Variant, candidate: Variant, label: str) -> ComparisonRecord:
    return ComparisonRecord(
        id=f"{cell.id}--{label}",
        cell=cell.id,
        tier=cell.tier,
        workload=f"{cell.trace.workload}{cell.variation}",
        num_running=cell.trace.num_running,
        trace=cell.trace_name,
        baseline=baseline.spec,
        candidate=candidate.spec,
        canary=label == CANARY,
        num_pairs_planned=cell.num_pairs,
    )
