"""A real engine starts threads and freezes the heap, so each test runs it in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bench.engine.adapter import kv_cache_bytes, make_vllm_config
from bench.engine.environment import worker_environment
from bench.engine.inprocess import check_cache_fits
from bench.engine.shape import resolve_shape
from bench.errors import HostError
from bench.options import EngineOptions
from bench.traces.workloads import generate

SAME_DECISIONS = """
from bench.options import EngineOptions
from bench.engine import adapter
from bench.engine.inprocess import EngineSession
from bench.engine.replay import ReplaySession
from bench.engine.shape import resolve_shape
from bench.traces.workloads import generate
from bench.variants import load

trace = generate({workload!r}, num_running=16, seed=3, options={{"steps": 40}})
shape = resolve_shape(EngineOptions(**{options!r}), trace)
scheduler = getattr(load({variant!r}), "async_scheduler" if shape.async_scheduling else "scheduler")
counted = ("running", "waiting", "scheduled_tokens", "preempted", "finished", "aborted")

def steps(session):
    seen = []
    while not session.is_done and len(seen) < 200:
        reading = session.step()
        order = [request.request_id for request in session.scheduler.running]
        seen.append(([getattr(reading, name) for name in counted], order))
    return seen

replayed = steps(ReplaySession(scheduler, trace, shape, adapter.make_vllm_config(shape)))
engine = EngineSession(scheduler, trace, shape)
ran = steps(engine)
engine.close()
assert type(engine.scheduler) is scheduler
for number, (one, other) in enumerate(zip(replayed, ran, strict=True)):
    assert one == other, (number, one, other)
print("alike", len(ran))
"""

ASYNC_IS_REFUSED = """
from bench.options import EngineOptions
from bench.engine.inprocess import EngineSession
from bench.engine.shape import resolve_shape
from bench.errors import HostError
from bench.traces.workloads import generate
from bench.variants import load

trace = generate("steady-decode", num_running=4, seed=1, options={"steps": 8})
shape = resolve_shape(EngineOptions(async_scheduling=True), trace)
try:
    EngineSession(load("dict").async_scheduler, trace, shape)
except HostError as error:
    print("refused:", error)
"""


PARTS_ADD_UP = """
from statistics import median
from bench.options import EngineOptions
from bench.engine.inprocess import EngineSession
from bench.engine.shape import resolve_shape
from bench.traces.workloads import generate
from bench.variants import load

trace = generate("staggered-finish", num_running=64, seed=3, options={{"steps": 60}})
shape = resolve_shape(EngineOptions(**{options!r}), trace)
variant = load("dict")
engine = EngineSession(variant.async_scheduler if shape.async_scheduling else variant.scheduler, trace, shape)
readings = [engine.step() for _ in range(60)]
engine.close()
parts = ("schedule", "update", "finish", "grammar", "model", "idle", "input", "output", "other")
for reading in readings:
    times = [getattr(reading, part + "_ns") for part in parts]
    assert sum(times) == reading.step_ns and min(times) >= 0, (times, reading.step_ns)
steady = readings[10:]
for part in ("schedule", "update", "model", "output"):
    assert median(getattr(reading, part + "_ns") for reading in steady) > 0, part
# What no part has would show in every step, the least too; others on this core interrupt most of them.
assert min(reading.other_ns / reading.step_ns for reading in steady) < 0.05
print("waits", int(median(reading.idle_ns for reading in steady)))
"""


def run_alone(code: str) -> str:
    environment = worker_environment(hash_seed=0, core=0)
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


SIMULATED: dict[str, object] = {"stand_in_model_ms": 0.5}
ASYNC = SIMULATED | {"async_scheduling": True}


@pytest.mark.parametrize(
    ("variant", "workload", "options"),
    [
        ("list", "abort-storm", {}),
        ("dict", "preemption", {}),
        ("dict", "staggered-finish", SIMULATED),
        ("list", "preemption", ASYNC),
        ("dict", "abort-storm", ASYNC),
    ],
)
def test_a_whole_engine_decides_as_the_replayed_scheduler(
    variant: str, workload: str, options: dict[str, object]
) -> None:
    assert "alike" in run_alone(SAME_DECISIONS.format(variant=variant, workload=workload, options=options))


def test_what_the_platform_turns_off_without_a_word_is_refused() -> None:
    out = run_alone(ASYNC_IS_REFUSED)
    assert "refused: engine: async_scheduling was asked as True but vLLM resolved it to False" in out


@pytest.mark.parametrize("options", [{}, ASYNC | {"stand_in_model_ms": 20}], ids=["real model", "simulated, async"])
def test_the_parts_of_a_whole_engines_step_add_up(options: dict[str, object]) -> None:
    wait_ns = int(run_alone(PARTS_ADD_UP.format(options=options)).split()[-1])
    if options:  # waited for is only a model that runs beside the scheduler
        assert wait_ns > 2_000_000
    else:
        assert wait_ns < 1_000_000


def test_a_kv_cache_that_cannot_fit_is_refused_in_one_line_with_both_sizes() -> None:
    trace = generate("steady-decode", num_running=4, seed=1, options={"steps": 8})
    shape = resolve_shape(EngineOptions(kv_tokens=64_000), trace)
    check_cache_fits(None, 0, shape)
    check_cache_fits(2**30, 2**30, shape)
    with pytest.raises(HostError, match=r"a KV cache of 2000 blocks of 32 tokens needs 2\.0 GiB and 1\.0 GiB are free"):
        check_cache_fits(2 * 2**30, 2**30, shape)


def test_the_kv_cache_of_a_shipped_model_is_counted_with_all_its_layers() -> None:
    trace = generate("steady-decode", num_running=4, seed=1, options={"steps": 8})
    shape = resolve_shape(EngineOptions(model="small", kv_tokens=3200), trace)
    assert kv_cache_bytes(make_vllm_config(shape), shape) == 101 * 32 * (2 * 4 * 64 * 4) * 4
