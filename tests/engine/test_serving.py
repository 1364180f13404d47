from __future__ import annotations

from pathlib import Path

import pytest

from bench.engine.serving import STEP_LOG_VARIABLE, VARIANT_VARIABLE, server_command, server_environment
from bench.engine.shape import EngineShape, resolve_shape
from bench.options import EngineOptions
from tests.engine.conftest import request, trace_of


@pytest.fixture
def shape() -> EngineShape:
    return resolve_shape(EngineOptions(), trace_of(request("a")))


def test_both_arms_have_one_command_line_and_differ_in_variant_and_log_alone(shape: EngineShape) -> None:
    one, other = (server_environment(spec, Path(spec), 7, 1) for spec in ("list", "dict"))
    assert {name for name in {**one, **other} if one.get(name) != other.get(name)} == {
        VARIANT_VARIABLE,
        STEP_LOG_VARIABLE,
    }
    assert one["PYTHONHASHSEED"] == "7"
    assert one["VLLM_ENABLE_V1_MULTIPROCESSING"] == "1"  # the engine core in its own process, as in production


def test_the_command_line_leaves_nothing_to_the_platform(shape: EngineShape) -> None:
    command = server_command(shape, 8123, on_gpu=False)
    assert command[command.index("--port") + 1] == "8123"
    assert command[command.index("--scheduler-cls") + 1] == "bench.engine.served.Scheduler"
    assert command[command.index("--dtype") + 1] == "float32"
    assert command[command.index("--num-gpu-blocks-override") + 1] == str(shape.num_blocks + 1)
    assert {"--no-async-scheduling", "--enable-prefix-caching", "--no-scheduler-reserve-full-isl"} <= set(command)


def test_async_scheduling_takes_the_async_class(shape: EngineShape) -> None:
    from dataclasses import replace

    command = server_command(replace(shape, async_scheduling=True), 8123, on_gpu=True)
    assert command[command.index("--scheduler-cls") + 1] == "bench.engine.served.AsyncScheduler"
    assert "--async-scheduling" in command
    assert "--dtype" not in command
    assert float(command[command.index("--gpu-memory-utilization") + 1]) < 0.5  # two servers hold one GPU
