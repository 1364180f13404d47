from __future__ import annotations

import signal
import time
from typing import Any

import pytest

from bench.engine.shape import EngineShape, resolve_shape
from bench.errors import StepTimeoutError
from bench.parity.examples import Example
from bench.parity.faults import MUTANTS, Edit, Mutant
from bench.parity.mutants import mutated
from bench.parity.proof import Difference, Proof, step_time_limit
from bench.parity.prover import Prover, SchedulerPair, pair_of
from bench.parity.starving import starving_examples


def proof_of(example: Example, candidate: SchedulerPair, limit_s: float = 5.0) -> Proof:
    return Prover(pair_of("list"), candidate, step_time_limit_s=limit_s).prove(example)


def starving(name: str) -> Example:
    return dict(starving_examples())[name]


def faulty(before: str, after: str) -> SchedulerPair:
    return mutated(Mutant("by-hand", "by hand", (Edit(before, after),)))


def test_equal_decisions_are_counted_by_step() -> None:
    proof = proof_of(starving("outgrown fcfs"), pair_of("dict"))
    assert proof.alike
    assert proof.num_steps == len(proof.running) == len(proof.readings)
    assert max(proof.running) > min(proof.running)
    assert str(proof) == f"{proof.num_steps} steps alike"


def test_the_first_step_that_differs_is_named() -> None:
    proof = proof_of(starving("outgrown fcfs"), mutated(MUTANTS["resume-at-front"]))
    assert not proof.alike
    assert proof.difference is not None
    assert (proof.difference.field, proof.difference.step) == ("running", proof.num_steps)
    assert str(proof).startswith(f"differs at step {proof.num_steps}: running: baseline [")


def test_an_error_of_the_candidate_alone_is_a_difference() -> None:
    proof = proof_of(starving("outgrown fcfs"), mutated(MUTANTS["iterator-kept-fcfs"]))
    assert proof.difference == Difference(1, "error", None, "RuntimeError: dictionary changed size during iteration")


def test_a_step_that_hangs_is_a_difference() -> None:
    hanging = faulty("req_index = 0", "req_index = 0\nwhile self.waiting:\n    pass")
    proof = proof_of(starving("one-slot fcfs"), hanging, limit_s=0.2)
    assert proof.difference is not None
    assert "ran for more than 0.2 s; it is taken to hang" in proof.difference.candidate


def test_a_fault_of_both_is_not_called_equivalence() -> None:
    both = faulty("self.running[request] = None", "raise RuntimeError('cannot admit')")
    prover = Prover(both, both, step_time_limit_s=60.0)
    proof = prover.prove(starving("one-slot fcfs"))
    assert not proof.alike
    assert str(proof) == "step 0: both variants: RuntimeError: cannot admit"


def test_requests_that_evict_one_another_for_ever_end_the_proof() -> None:
    proof = proof_of(starving("evicting-each-other priority"), pair_of("dict"))
    assert proof.alike
    assert 64 < proof.num_steps < 150
    assert min(proof.running[-20:]) > 0


@pytest.mark.parametrize("somebody_elses", [0.0, 200.0])
def test_the_limit_ends_a_step_and_leaves_the_timer_as_it_was(somebody_elses: float) -> None:
    mine, _ = signal.setitimer(signal.ITIMER_REAL, somebody_elses)
    try:
        with pytest.raises(StepTimeoutError, match=r"more than 0\.05 s"), step_time_limit(0.05):
            time.sleep(10)
        left, _ = signal.getitimer(signal.ITIMER_REAL)
    finally:
        signal.setitimer(signal.ITIMER_REAL, mine)
    assert (left == 0) == (somebody_elses == 0)
    assert left <= max(0.0, somebody_elses - 0.05)


def test_long_values_are_shown_around_their_difference() -> None:
    baseline: list[Any] = [*range(100)]
    candidate = [*range(50), 0, *range(51, 100)]
    text = str(Difference(3, "running", baseline, candidate))
    assert text == (
        "step 3: running: baseline […49 alike, 49, 50, 51, 52, 53, …] (100), "
        "candidate […49 alike, 49, 0, 51, 52, 53, …] (100)"
    )


def test_shapes_of_equal_numbers_are_one_configuration() -> None:
    prover = Prover(pair_of("list"), pair_of("dict"), step_time_limit_s=60.0)
    for _ in range(2):
        prover.prove(starving("one-slot fcfs"))
    assert len(prover._configs) == 1
    (shape,) = prover._configs
    assert isinstance(shape, EngineShape)
    assert shape == resolve_shape(starving("one-slot fcfs").options, starving("one-slot fcfs").trace)
