from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.errors import ConfigError, MeasureError
from bench.measure.messages import PROOF_FIELDS, ProveResult, Slicing
from bench.measure.plan import check_path, describe_plan, plan_cells, plan_comparisons, plan_slices
from bench.options import Experiment, MeasureOptions
from bench.traces.files import write_trace
from bench.traces.workloads import generate
from bench.variants import load


def proof(running: list[int], cpu_ns: int = 1_000_000, **counts: list[int]) -> ProveResult:
    """A proof whose baseline had these queue lengths, by step."""
    readings = np.zeros((len(running), len(PROOF_FIELDS)), dtype=np.int64)
    for name, values in {"running": running, "cpu_ns": [cpu_ns] * len(running), **counts}.items():
        readings[:, PROOF_FIELDS.index(name)] = values
    return ProveResult("c", alike=True, num_steps=len(running), message="", readings=readings)


def experiment(*cells: dict[str, object], **changes: object) -> Experiment:
    return Experiment.model_validate({"cells": list(cells), **changes})


def test_each_workload_and_size_is_a_cell() -> None:
    cells = plan_cells(experiment({"workloads": ["steady-decode", "finish-wave"], "num_running": [16, 32]}))
    assert [cell.id for cell in cells] == [
        "replay-steady-decode-n16",
        "replay-steady-decode-n32",
        "replay-finish-wave-n16",
        "replay-finish-wave-n32",
    ]
    assert cells[0].shape.max_num_seqs == cells[0].trace.engine.max_num_seqs


def test_a_cell_asked_for_twice_is_refused() -> None:
    group = {"workloads": ["steady-decode"], "num_running": [16]}
    with pytest.raises(ConfigError, match="replay-steady-decode-n16 is asked for twice"):
        plan_cells(experiment(group, group))


def test_a_trace_file_is_a_cell(tmp_path: Path) -> None:
    write_trace(generate("steady-decode", num_running=16, seed=9), tmp_path / "my chat.jsonl")
    (cell,) = plan_cells(experiment({"traces": [str(tmp_path / "my chat.jsonl")]}))
    assert cell.id == "replay-my-chat"
    assert cell.trace.seed == 9


def test_the_canary_runs_in_the_first_cell_of_each_tier() -> None:
    asked = experiment(
        {"workloads": ["steady-decode"], "num_running": [16, 32]},
        {"tier": "engine", "workloads": ["steady-decode"], "num_running": [16]},
    )
    comparisons = plan_comparisons(asked, plan_cells(asked), load("list"), [load("dict")])
    canaries = [c for c in comparisons if c.canary]
    assert [c.id for c in canaries] == ["replay-steady-decode-n16--aa", "engine-steady-decode-n16--aa"]
    assert all(c.baseline == c.candidate == "list" for c in canaries)
    assert len(comparisons) == 5


def test_slices_cover_the_steady_phase_after_warm_up() -> None:
    running = [4, 8, 10, 10, *[10] * 40, 9, 2]
    slicing = plan_slices(proof(running), 10, MeasureOptions(slice_ms=2.5, warmup_steps=2))
    assert slicing.first == 4  # full from step 2 on
    assert slicing.steps_per_slice == 3  # 2.5 ms of 1 ms steps
    assert slicing.num_slices == 13  # 40 steps


def test_short_steps_make_longer_slices_until_there_are_too_few() -> None:
    slicing = plan_slices(proof([10] * 80, 1000), 10, MeasureOptions(warmup_steps=0, min_slices=8))
    assert (slicing.steps_per_slice, slicing.num_slices) == (10, 8)


def test_a_lead_in_is_one_more_step_of_a_slice() -> None:
    running = [10] * 40
    plain, led = (plan_slices(proof(running), 10, MeasureOptions(slice_ms=2.5, warmup_steps=2), n) for n in (0, 1))
    assert (plain.steps_per_slice, plain.num_slices, plain.lead_in) == (3, 12, 0)
    assert (led.steps_per_slice, led.num_slices, led.lead_in) == (3, 12, 1)  # not 4: an even number meets periods
    assert led.is_timed(np.arange(7)).tolist() == [False, False, False, True, True, False, True]
    with pytest.raises(MeasureError, match="has 10 steps after warm-up, expected ≥ 16"):
        plan_slices(proof([10] * 10), 10, MeasureOptions(warmup_steps=0), 1)


def test_a_queue_that_never_fills_is_told_with_its_length() -> None:
    with pytest.raises(MeasureError, match="reached 5 running, expected at least 6"):
        plan_slices(proof([1, 5, 5]), 6, MeasureOptions())


def test_a_steady_phase_that_is_too_short_says_how_short() -> None:
    with pytest.raises(MeasureError, match="has 4 steps after warm-up, expected ≥ 8"):
        plan_slices(proof([6] * 12), 6, MeasureOptions())


def test_a_sweep_makes_a_cell_of_every_combination() -> None:
    group = {
        "workloads": ["steady-decode"],
        "num_running": [16],
        "sweep": {"policy": ["fcfs", "priority"], "block_size": [32, 64]},
    }
    cells = plan_cells(experiment(group))
    assert [cell.id for cell in cells] == [
        "replay-steady-decode-n16-policy_fcfs-block_size_32",
        "replay-steady-decode-n16-policy_fcfs-block_size_64",
        "replay-steady-decode-n16-policy_priority-block_size_32",
        "replay-steady-decode-n16-policy_priority-block_size_64",
    ]
    assert [(cell.shape.policy, cell.shape.block_size) for cell in cells][2] == ("priority", 32)
    assert {cell.trace_name for cell in cells} == {"steady-decode-n16"}


def test_two_traces_of_one_name_lie_in_two_files() -> None:
    cells = plan_cells(
        experiment(
            {"workloads": ["steady-decode"], "num_running": [16], "options": {"steps": 40}},
            {"tier": "engine", "workloads": ["steady-decode"], "num_running": [16], "options": {"steps": 50}},
        )
    )
    assert len({cell.trace_name for cell in cells}) == 2
    assert all(cell.trace.digest[:8] in cell.trace_name for cell in cells)


def test_a_dry_run_lists_what_would_be_measured() -> None:
    asked = experiment({"workloads": ["steady-decode"], "num_running": [16], "pairs": 7})
    text = describe_plan(asked, load("list"), [load("dict")])
    assert "replay-steady-decode-n16  A/A" in text
    assert text.endswith("2 comparisons in 1 cells, 14 pairs")


def test_a_trace_that_missed_its_path_is_refused_with_the_figures() -> None:
    trace = generate("preemption", num_running=16, seed=1)
    taken = proof([16] * 40, preempted=[1] * 40, finished=[1] * 40)
    missed = proof([16] * 40)
    check_path(taken, trace, Slicing(first=4, steps_per_slice=1, num_slices=30))
    with pytest.raises(MeasureError, match=r"missed the path of its workload: .*preempt"):
        check_path(missed, trace, Slicing(first=4, steps_per_slice=1, num_slices=30))


def test_a_path_that_is_taken_in_steps_that_are_not_timed_is_missed() -> None:
    trace = generate("preemption", num_running=16, seed=1)
    every_other = [1, 0] * 20
    taken = proof([16] * 40, preempted=every_other, finished=[1] * 40)
    check_path(taken, trace, Slicing(first=5, steps_per_slice=2, num_slices=15, lead_in=1))
    with pytest.raises(MeasureError, match=r"missed the path of its workload: .*preempt"):
        check_path(taken, trace, Slicing(first=4, steps_per_slice=2, num_slices=15, lead_in=1))
