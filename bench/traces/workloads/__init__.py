"""Seeded generators of traces, each made to take one path of the scheduler in most of its steps.

`generate` is the way in; that a workload takes its path is the business of tests and of `bench.engine`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from bench.errors import TraceError, nearest
from bench.options import Scalar
from bench.traces.model import MAX_SEED, Trace
from bench.traces.workloads.aborts import ABORT_STORM, SINGLE_ABORT, WAITING_ABORT_STORM
from bench.traces.workloads.arrivals import ARRIVALS
from bench.traces.workloads.chunked_prefill import CHUNKED_PREFILL
from bench.traces.workloads.describe import describe, describe_markdown
from bench.traces.workloads.evidence import Counts, Steady, missed
from bench.traces.workloads.finish_wave import FINISH_WAVE
from bench.traces.workloads.lora_mix import LORA_MIX
from bench.traces.workloads.preemption import PREEMPTION, PRIORITY_PREEMPTION
from bench.traces.workloads.prefix_tree import PREFIX_TREE
from bench.traces.workloads.speculative_drafts import SPECULATIVE_DRAFTS
from bench.traces.workloads.staggered_finish import STAGGERED_FINISH
from bench.traces.workloads.steady_decode import STEADY_DECODE
from bench.traces.workloads.streaming_sessions import STREAMING_SESSIONS
from bench.traces.workloads.structured_output import STRUCTURED_OUTPUT
from bench.traces.workloads.workload import Counter, Option, Order, Workload

__all__ = [
    "MAX_RUNNING",
    "WORKLOADS",
    "Counter",
    "Option",
    "Workload",
    "describe_workloads",
    "generate",
    "missed_paths",
]

MAX_RUNNING = 16_384  # as an experiment file allows
_NO_OPTIONS: Mapping[str, Scalar] = MappingProxyType({})

WORKLOADS: dict[str, Workload] = {
    workload.name: workload
    for workload in (
        STEADY_DECODE,
        STAGGERED_FINISH,
        FINISH_WAVE,
        SINGLE_ABORT,
        ABORT_STORM,
        WAITING_ABORT_STORM,
        PREEMPTION,
        PRIORITY_PREEMPTION,
        CHUNKED_PREFILL,
        PREFIX_TREE,
        ARRIVALS,
        LORA_MIX,
        STRUCTURED_OUTPUT,
        SPECULATIVE_DRAFTS,
        STREAMING_SESSIONS,
    )
}


def generate(name: str, *, num_running: int, seed: int, options: Mapping[str, Scalar] = _NO_OPTIONS) -> Trace:
    """The trace of the workload `name` that keeps about `num_running` requests in RUNNING; the same for a seed.

    The trace's own `options` hold every option with the value it had, so they make the same trace again.
    Raises TraceError for an unknown workload or option, a value out of bounds, or sizes that cannot be had.
    """
    if name not in WORKLOADS:
        raise TraceError(f"workload {name}: no such workload{nearest(name, WORKLOADS)}")
    workload = WORKLOADS[name]
    if not workload.min_running <= num_running <= MAX_RUNNING:
        raise TraceError(
            f"workload {name}: num_running is {num_running}, expected {workload.min_running} to {MAX_RUNNING}"
        )
    if not 0 <= seed <= MAX_SEED:
        raise TraceError(f"workload {name}: seed is {seed}, expected 0 to {MAX_SEED}")
    complete = _complete(workload, options)
    plan = workload.build(Order(name, num_running, complete, _generator(name, seed), seed))
    return Trace(
        workload=name,
        options={**complete, **plan.settled},
        seed=seed,
        num_running=num_running,
        steady_running=plan.steady_running,
        engine=plan.engine,
        requests=tuple(plan.requests),
        hash_block_tokens=plan.hash_block_tokens,
    )


def missed_paths(
    workload: str, options: Mapping[str, Scalar], readings: Mapping[str, Counts], steady: Steady
) -> list[str]:
    """What a replay of `workload` should have shown and did not, each in one line with its figures; none: it did.

    `readings` are the fields of the baseline's step readings, each (num_steps,) int64; `steady` picks the steady
    steps; `options` are the trace's. A trace of another source promises nothing.
    """
    return missed(WORKLOADS[workload].counters, options, readings, steady) if workload in WORKLOADS else []


def describe_workloads() -> str:
    """Every workload as text: the path it takes, its proof, and its options with units, defaults and bounds."""
    return describe(WORKLOADS.values())


def workloads_markdown() -> str:
    """The same as Markdown, a section a workload; options that all have are left to docs/workloads.md."""
    return describe_markdown(WORKLOADS.values())


def _complete(workload: Workload, options: Mapping[str, Scalar]) -> dict[str, Scalar]:
    known = {option.name: option for option in workload.options}
    for name in options:
        if name not in known:
            raise TraceError(f'workload {workload.name}: no option "{name}"{nearest(name, known)}')
    return {
        name: option.checked(options[name], workload.name) if name in options else option.default
        for name, option in known.items()
    }


def _generator(name: str, seed: int) -> np.random.Generator:
    """A generator of its own for each workload and seed; hash() would differ from process to process."""
    stable = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, stable])))
