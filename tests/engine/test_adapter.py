"""What is asked of vLLM for an experiment; that vLLM takes it on a GPU can only be tried on one."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.config import load_experiment
from bench.engine.adapter import engine_arguments
from bench.engine.shape import MODELS, resolve_shape
from bench.measure.plan import plan_cells
from bench.options import EngineOptions
from bench.traces.workloads import generate
from bench.variants import load

GPU = plan_cells(load_experiment(Path("configs/gpu.toml")))


@pytest.mark.parametrize("cell", [cell for cell in GPU if cell.tier == "engine"], ids=lambda cell: str(cell.id))
def test_the_gpu_experiment_asks_for_production_on_a_real_models_shape(cell: object) -> None:
    arguments = engine_arguments(cell.shape, load("dict").scheduler)  # type: ignore[attr-defined]
    assert arguments.enforce_eager is False
    assert arguments.load_format == "dummy"
    assert arguments.model == str(MODELS / "llama-3.1-8b")
    assert arguments.gpu_memory_utilization < 0.5
    assert arguments.async_scheduling is ("-async" in cell.id)  # type: ignore[attr-defined]
    assert arguments.num_gpu_blocks_override > 0


def test_the_gpu_experiment_fits_twice_into_80_gb() -> None:
    token_bytes = 2 * 2 * 32 * 8 * 128  # keys and values of 32 layers, 8 heads of 128, in bfloat16
    weights_bytes = 2 * 8.03e9
    shapes = [cell.shape for cell in GPU if cell.tier == "engine"]
    most = max(shape.num_blocks * shape.block_size for shape in shapes) * token_bytes + weights_bytes
    assert most < shapes[0].gpu_memory_utilization * 79e9  # type: ignore[operator]


@pytest.mark.parametrize("model", ["tiny", "small", "llama-3.1-8b"])
def test_every_shipped_model_resolves_by_name(model: str) -> None:
    trace = generate("steady-decode", num_running=16, seed=1, options={"steps": 16})
    arguments = engine_arguments(resolve_shape(EngineOptions(model=model), trace))
    config = arguments.create_model_config()
    assert config.architecture == "LlamaForCausalLM"
    assert config.get_head_size() * config.hf_config.num_attention_heads == config.get_hidden_size()


def test_absent_options_are_left_to_vllm() -> None:
    trace = generate("steady-decode", num_running=16, seed=1, options={"steps": 16})
    arguments = engine_arguments(resolve_shape(EngineOptions(), trace))
    assert arguments.gpu_memory_utilization == type(arguments).gpu_memory_utilization
    assert arguments.distributed_executor_backend is None
