"""How a `serve` arm's server is started: its command line and environment, and what it must have become.

vLLM is not imported here; the server is a process of its own, and so is its engine core.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.engine.environment import worker_environment
from bench.engine.resolved import differences
from bench.engine.shape import EngineShape
from bench.errors import HostError

VARIANT_VARIABLE = "RUNQUEUE_BENCH_VARIANT"
STEP_LOG_VARIABLE = "RUNQUEUE_BENCH_STEP_LOG"
AS_IN_PRODUCTION = {"VLLM_ENABLE_V1_MULTIPROCESSING": "1"}
"""The engine core has a process of its own, as users run it; the other tiers keep it in theirs."""

GPU_MEMORY_SHARE = 0.42  # both servers of a comparison hold one GPU together
CHECKED = ("async_scheduling", "policy", "block_size", "num_blocks", "max_num_seqs", "max_num_batched_tokens")


def server_command(shape: EngineShape, port: int, *, on_gpu: bool) -> list[str]:
    """vLLM's OpenAI server on 127.0.0.1:`port`, with random weights and without a tokenizer."""
    scheduler = "AsyncScheduler" if shape.async_scheduling else "Scheduler"
    options: dict[str, object] = {
        "--model": shape.model,
        "--host": "127.0.0.1",
        "--port": port,
        "--load-format": "dummy",
        "--seed": 0,
        "--max-model-len": shape.max_model_len,
        "--max-num-seqs": shape.max_num_seqs,
        "--max-num-batched-tokens": shape.max_num_batched_tokens,
        "--block-size": shape.block_size,
        "--num-gpu-blocks-override": shape.num_blocks + 1,
        "--scheduling-policy": shape.policy,
        "--watermark": shape.watermark,
        "--long-prefill-token-threshold": shape.long_prefill_token_threshold,
        "--scheduler-cls": f"bench.engine.served.{scheduler}",
        "--uvicorn-log-level": "warning",
    }
    switches = {
        "async-scheduling": shape.async_scheduling,
        "enable-prefix-caching": shape.enable_prefix_caching,
        "scheduler-reserve-full-isl": shape.scheduler_reserve_full_isl,
    }
    if on_gpu:
        options["--gpu-memory-utilization"] = GPU_MEMORY_SHARE
    else:
        # In bfloat16, vLLM takes the AMX kernels of a CPU that has them, which a virtual machine may not let it use.
        options["--dtype"] = "float32"
    return [
        *(sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--skip-tokenizer-init"),
        *(str(word) for option in options.items() for word in option),
        *(f"--{name}" if is_on else f"--no-{name}" for name, is_on in switches.items()),
        *(("--enforce-eager",) if shape.enforce_eager else ()),
        *(() if shape.log_stats else ("--disable-log-stats",)),
    ]


def server_environment(spec: str, step_log: Path, hash_seed: int, core: int) -> dict[str, str]:
    """The whole environment of a server: the two arms differ in the variant and the place of the log only."""
    return {
        **worker_environment(hash_seed, core),
        **AS_IN_PRODUCTION,
        VARIANT_VARIABLE: spec,
        STEP_LOG_VARIABLE: str(step_log),
    }


def check_same_engine(engines: Mapping[str, Mapping[str, str]]) -> None:
    """Raise HostError that names the first option in which the servers' engines differ; `engines` is by arm."""
    for name, (one, other) in differences(*engines.values()).items():
        raise HostError(f"the arms' engines differ in {name}: {one} (baseline) and {other} (candidate)")


def check_served(resolved: Mapping[str, Any], shape: EngineShape) -> None:
    """Raise HostError where the server's engine is not what was asked for, by the facts that it wrote itself."""
    asked = {**shape.facts(), "num_blocks": shape.num_blocks + 1}
    for name in CHECKED:
        if resolved[name] != asked[name]:
            raise HostError(f"server: {name} was asked as {asked[name]} but vLLM resolved it to {resolved[name]} here")
