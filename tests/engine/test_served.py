"""The scheduler classes that a server loads, built here in this process as the engine core would."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.engine import adapter, served
from bench.engine.replay import ReplaySession
from bench.engine.serving import STEP_LOG_VARIABLE, VARIANT_VARIABLE
from bench.engine.shape import resolve_shape
from bench.engine.step_log import StepLog, read_step_log
from bench.options import EngineOptions
from bench.variants import load
from tests.engine.conftest import request, trace_of

PARTS = ("schedule_ns", "update_ns", "finish_ns", "grammar_ns", "model_ns", "other_ns")


@pytest.fixture
def steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StepLog:
    """The log of two requests, one of which is aborted, on the dict variant."""
    monkeypatch.setenv(VARIANT_VARIABLE, "dict")
    monkeypatch.setenv(STEP_LOG_VARIABLE, str(tmp_path / "log.steps"))
    trace = trace_of(request("a", output=6), request("b", output=9, abort_step=3))
    shape = resolve_shape(EngineOptions(), trace)
    scheduler_class = served.__getattr__("Scheduler")
    assert issubclass(scheduler_class, load("dict").scheduler)
    session = ReplaySession(scheduler_class, trace, shape, adapter.make_vllm_config(shape))
    while not session.is_done:
        session.step()
    return read_step_log(tmp_path / "log.steps")


def test_each_step_is_a_row_with_what_it_did(steps: StepLog) -> None:
    assert steps.field("running").tolist()[:6] == [2, 2, 2, 1, 1, 1]
    assert steps.field("aborted").tolist()[:6] == [0, 0, 0, 1, 0, 0]
    assert steps.field("finished").sum() == 1


def test_the_parts_of_a_step_add_up_to_it(steps: StepLog) -> None:
    assert sum(steps.field(name) for name in PARTS).tolist() == steps.field("step_ns").tolist()
    assert (steps.field("model_ns") >= 0).all()
    assert (steps.field("schedule_ns") > 0).all()


def test_steps_follow_one_another_on_the_clock_that_the_client_reads(steps: StepLog) -> None:
    moments = steps.rows[:, :2].ravel().tolist()
    assert moments == sorted(moments)


def test_the_engine_says_what_vllm_made_of_its_options(steps: StepLog) -> None:
    assert steps.facts["block_size"] == 32
    assert steps.facts["policy"] == "fcfs"
    assert steps.facts["async_scheduling"] is False


def test_no_other_name_is_served() -> None:
    with pytest.raises(AttributeError, match="no attribute Other"):
        served.__getattr__("Other")
