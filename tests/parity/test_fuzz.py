from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.engine import adapter
from bench.engine.replay import ReplaySession
from bench.engine.shape import resolve_shape
from bench.errors import EXIT_DONE, EXIT_VOID
from bench.parity import fuzz
from bench.parity.examples import Example, draw_example, random_example
from bench.parity.prover import Prover, pair_of
from bench.traces.files import read_trace
from bench.variants import load

NUM_EXAMPLES = 500
FEATURES = ("loras", "structured", "drafted", "accepted", "paused", "reentered")


@st.composite
def examples(draw: st.DrawFn) -> Example:
    return draw_example(lambda low, high: draw(st.integers(low, high)))


@pytest.fixture(scope="module")
def prover() -> Prover:
    return Prover(pair_of("list"), pair_of("dict"), step_time_limit_s=60.0)


@settings(
    max_examples=NUM_EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(example=examples())
def test_dict_decides_as_list_on_any_trace(prover: Prover, tmp_path: Path, example: Example) -> None:
    proof = prover.prove(example)
    # Hypothesis shrinks a failing example, and the smallest one is written last.
    assert proof.alike, fuzz.kept(example, proof, tmp_path, "smallest", "dict")


def test_most_random_traces_starve_and_all_options_are_met() -> None:
    seen = [_seen(random_example(seed)) for seed in range(120)]
    assert sum(each["preempted"] > 0 for each in seen) > 60
    assert sum(each["aborted"] > 0 for each in seen) > 20
    assert sum(each["finished"] > 1 for each in seen) > 20
    options = [random_example(seed).options for seed in range(120)]
    for name in ("policy", "async_scheduling", "enable_prefix_caching", "scheduler_reserve_full_isl"):
        assert len({getattr(each, name) for each in options}) == 2
    for name in ("prefill_schedule_interval", "prefix_cache_reset_interval", "pause_interval"):
        assert len({getattr(each, name) for each in options}) == 3


def test_random_traces_have_adapters_grammars_drafts_and_sessions() -> None:
    seen = [_seen(random_example(seed)) for seed in range(80)]
    for name in FEATURES:
        least = 1 if name == "paused" else 4  # seldom: the next input is mostly there before the answer ends
        assert sum(each[name] > 0 for each in seen) >= least, name


def test_random_traces_have_images_and_kv_loads() -> None:
    traces = [random_example(seed).trace for seed in range(80)]
    assert sum(any(request.images for request in each.requests) for each in traces) >= 8
    for policy in ("recompute", "fail"):
        lossy = [each for each in traces if each.engine.kv_load_failure_policy == policy]
        assert sum(any(request.lost_block is not None for request in each.requests) for each in lossy) >= 4
        assert sum(any(request.load_steps for request in each.requests) for each in lossy) >= 4


def test_the_same_seed_gives_the_same_example() -> None:
    assert random_example(11) == random_example(11)
    assert random_example(11).trace.digest == random_example(11).trace.digest
    assert random_example(11).trace.digest != random_example(12).trace.digest


def test_a_campaign_prints_how_fast_it_was() -> None:
    result = CliRunner().invoke(fuzz.main, ["--num", "5"], standalone_mode=False)
    assert result.return_value == EXIT_DONE
    assert "5 traces alike" in result.output
    assert "traces/s" in result.output


def test_a_campaign_keeps_the_trace_that_it_stopped_at(tmp_path: Path) -> None:
    found = CliRunner().invoke(fuzz.main, ["--candidate", "seed_patch", "--keep", str(tmp_path)], standalone_mode=False)
    assert found.return_value == EXIT_VOID
    (kept,) = tmp_path.glob("*.jsonl")
    assert read_trace(kept).workload == "fuzz"
    again = CliRunner().invoke(fuzz.main, ["--candidate", "seed_patch", "--trace", str(kept)], standalone_mode=False)
    assert again.return_value == EXIT_VOID
    assert again.output.split("differs at ")[1].strip() in found.output


def _seen(example: Example) -> dict[str, Any]:
    shape = resolve_shape(example.options, example.trace)
    variant = load("list")
    scheduler = variant.async_scheduler if shape.async_scheduling else variant.scheduler
    session = ReplaySession(scheduler, example.trace, shape, adapter.make_vllm_config(shape))
    readings = []
    while not session.is_done and len(readings) < 200:
        readings.append(session.step())
    return {
        "preempted": sum(each.preempted for each in readings),
        "aborted": sum(each.aborted for each in readings),
        "finished": max(each.finished for each in readings),
        **{name: sum(getattr(each, name) for each in readings) for name in FEATURES},
    }
