"""A real engine starts threads and freezes the heap, so each test runs it in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bench.engine.environment import worker_environment

SAME_DECISIONS = """
from bench.config import EngineOptions
from bench.engine import adapter
from bench.engine.inprocess import EngineSession
from bench.engine.replay import ReplaySession
from bench.engine.shape import resolve_shape
from bench.traces.workloads import generate
from bench.variants import load

trace = generate({workload!r}, num_running=16, seed=3, options={{"steps": 40}})
shape = resolve_shape(EngineOptions(), trace)
scheduler = load({variant!r}).scheduler
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
from bench.config import EngineOptions
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


def run_alone(code: str) -> str:
    environment = worker_environment(hash_seed=0, core=0)
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize(("variant", "workload"), [("list", "abort-storm"), ("dict", "preemption")])
def test_a_whole_engine_decides_as_the_replayed_scheduler(variant: str, workload: str) -> None:
    assert "alike" in run_alone(SAME_DECISIONS.format(variant=variant, workload=workload))


def test_what_the_platform_turns_off_without_a_word_is_refused() -> None:
    out = run_alone(ASYNC_IS_REFUSED)
    assert "refused: engine: async_scheduling was asked as True but vLLM resolved it to False" in out
