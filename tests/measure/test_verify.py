from __future__ import annotations

import numpy as np

from bench.measure.messages import PROOF_FIELDS, ProveResult
from bench.measure.verify import missed_path
from bench.traces.workloads import generate

TRACE = generate("lora-mix", num_running=8, seed=1, options={"steps": 40})


def proof(**counts: int) -> ProveResult:
    readings = np.zeros((40, len(PROOF_FIELDS)), dtype=np.int64)
    for name, value in counts.items():
        readings[:, PROOF_FIELDS.index(name)] = value
    return ProveResult("x", True, 40, "40 steps alike", readings)


def test_a_proof_that_shows_the_path_misses_nothing() -> None:
    assert missed_path(TRACE, proof(running=8, loras=4, waiting=1, finished=1)) == []


def test_a_path_that_was_missed_is_told_with_its_figures() -> None:
    (missed,) = missed_path(TRACE, proof(running=8, loras=3, waiting=1, finished=1))
    assert missed.startswith("loras ≥ 4 in 0.0 % of 40 steady steps; expected")


def test_a_queue_that_never_fills_is_told() -> None:
    assert missed_path(TRACE, proof(running=7)) == ["never so many running as 8"]
