"""Each workload on vLLM's own scheduler: `list` and `dict` decide alike, and the steps show the promised path."""

from __future__ import annotations

import numpy as np
import pytest

from bench.measure.messages import PROOF_FIELDS
from bench.options import EngineOptions
from bench.parity.examples import Example
from bench.parity.proof import Proof
from bench.parity.prover import Prover, pair_of
from bench.traces.workloads import WORKLOADS, generate, missed_paths

FEATURED = ["lora-mix", "structured-output", "speculative-drafts", "streaming-sessions"]
PRIORITY = {"priority-preemption": "priority"}


@pytest.fixture(scope="module")
def prover() -> Prover:
    return Prover(pair_of("list"), pair_of("dict"), step_time_limit_s=60.0)


def missed_by(example: Example, proof: Proof) -> list[str]:
    readings = {name: np.array([getattr(each, name) for each in proof.readings]) for name in PROOF_FIELDS}
    full = np.flatnonzero(readings["running"] >= example.trace.steady_running)
    steady = slice(int(full[0]), int(full[-1]) + 1)
    return missed_paths(example.trace.workload, example.trace.options, readings, steady)


def example_of(name: str, num_running: int, *, ahead: bool = False, **options: int) -> Example:
    trace = generate(name, num_running=num_running, seed=1, options=options)
    policy = PRIORITY.get(name, "fcfs")
    engine = {"policy": policy, "async_scheduling": ahead}
    return Example(trace, EngineOptions.model_validate(engine))


@pytest.mark.parametrize("name", WORKLOADS)
def test_both_decide_alike_on_the_path_that_is_promised(prover: Prover, name: str) -> None:
    example = example_of(name, 64)
    proof = prover.prove(example)
    assert proof.alike, str(proof)
    assert missed_by(example, proof) == []


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("name", FEATURED)
def test_the_smallest_size_takes_its_path_too_and_ends_as_planned(prover: Prover, name: str, ahead: bool) -> None:
    example = example_of(name, WORKLOADS[name].min_running, ahead=ahead)
    proof = prover.prove(example)
    assert proof.alike, str(proof)
    assert missed_by(example, proof) == []
    full = [step for step, running in enumerate(proof.running) if running >= example.trace.steady_running]
    assert full[-1] - full[0] + 1 in (128, 129)
    assert proof.num_steps - full[-1] <= 4


@pytest.mark.parametrize("name", FEATURED)
def test_a_thousand_running_take_the_path(prover: Prover, name: str) -> None:
    example = example_of(name, 1024, steps=32)
    proof = prover.prove(example)
    assert proof.alike, str(proof)
    assert missed_by(example, proof) == []


@pytest.mark.parametrize("name", FEATURED)
def test_the_path_is_missed_where_nothing_of_it_happens(prover: Prover, name: str) -> None:
    plain = example_of("steady-decode", 16)
    proof = prover.prove(plain)
    readings = {field: np.array([getattr(each, field) for each in proof.readings]) for field in PROOF_FIELDS}
    options = generate(name, num_running=16, seed=1).options
    assert missed_paths(name, options, readings, slice(None))
