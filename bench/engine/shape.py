"""The engine that a trace runs on: the experiment's options, filled up with what the trace asks for.

Plain numbers, so that both tiers and both arms are built from the same ones and a manifest can hold them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.engine.features import check_features
from bench.errors import ConfigError, nearest
from bench.options import EngineOptions
from bench.traces.model import Trace

MODELS = Path(__file__).parent / "models"


@dataclass(frozen=True)
class EngineShape:
    """Resolved engine options in vLLM's names; `num_blocks` counts usable KV blocks, without the null block."""

    model: str
    policy: str
    async_scheduling: bool
    block_size: int
    num_blocks: int
    max_model_len: int
    max_num_seqs: int
    max_num_batched_tokens: int
    enable_prefix_caching: bool
    scheduler_reserve_full_isl: bool
    watermark: float
    long_prefill_token_threshold: int
    log_stats: bool
    enforce_eager: bool = True
    gpu_memory_utilization: float | None = None
    stand_in_model_ms: float | None = None
    max_loras: int = 0
    num_speculative_tokens: int = 0
    prefill_schedule_interval: int = 1
    prefix_cache_reset_interval: int = 0
    pause_interval: int = 0
    max_num_encoder_input_tokens: int = 0
    encoder_cache_size: int = 0
    kv_load_failure_policy: str = ""

    def facts(self) -> dict[str, Any]:
        """For the manifest."""
        return asdict(self)


def resolve_shape(options: EngineOptions, trace: Trace) -> EngineShape:
    """The engine for `trace`; raises ConfigError where the two cannot go together."""
    needs = trace.engine
    kv_tokens = options.kv_tokens or needs.kv_tokens
    shape = EngineShape(
        model=str(_model_folder(options.model)),
        policy=options.policy,
        async_scheduling=options.async_scheduling,
        block_size=options.block_size,
        num_blocks=-(-kv_tokens // options.block_size),
        max_model_len=options.max_model_len or needs.max_model_len,
        max_num_seqs=options.max_num_seqs or needs.max_num_seqs,
        max_num_batched_tokens=options.max_num_batched_tokens or needs.max_num_batched_tokens,
        enable_prefix_caching=options.enable_prefix_caching,
        scheduler_reserve_full_isl=options.scheduler_reserve_full_isl,
        watermark=options.watermark,
        long_prefill_token_threshold=options.long_prefill_token_threshold,
        log_stats=options.log_stats,
        enforce_eager=options.enforce_eager,
        gpu_memory_utilization=options.gpu_memory_utilization,
        stand_in_model_ms=options.stand_in_model_ms,
        max_loras=needs.max_loras if options.max_loras is None else options.max_loras,
        num_speculative_tokens=(
            needs.num_speculative_tokens if options.num_speculative_tokens is None else options.num_speculative_tokens
        ),
        prefill_schedule_interval=options.prefill_schedule_interval,
        prefix_cache_reset_interval=options.prefix_cache_reset_interval,
        pause_interval=options.pause_interval,
        max_num_encoder_input_tokens=needs.max_num_encoder_input_tokens,
        encoder_cache_size=needs.encoder_cache_size,
        kv_load_failure_policy=needs.kv_load_failure_policy,
    )
    _check(shape, trace)
    check_features(shape, trace)
    return shape


def _check(shape: EngineShape, trace: Trace) -> None:
    if shape.max_num_batched_tokens < shape.max_num_seqs:
        raise ConfigError(
            f"trace {trace.workload}: max_num_batched_tokens is {shape.max_num_batched_tokens}, "
            f"expected ≥ max_num_seqs ({shape.max_num_seqs}); vLLM refuses less"
        )
    if shape.long_prefill_token_threshold > shape.max_model_len:
        raise ConfigError(
            f"engine.long_prefill_token_threshold is {shape.long_prefill_token_threshold}, expected ≤ max_model_len "
            f"({shape.max_model_len})"
        )
    longest = max((request.input_length + request.output_length for request in trace.requests), default=0)
    if longest > shape.max_model_len:
        raise ConfigError(
            f"trace {trace.workload}: a request has {longest} tokens, expected ≤ max_model_len ({shape.max_model_len})"
        )
    if longest > shape.num_blocks * shape.block_size:
        raise ConfigError(
            f"trace {trace.workload}: a request of {longest} tokens can never fit in a KV cache of "
            f"{shape.num_blocks} blocks of {shape.block_size}; raise engine.kv_tokens"
        )


def _model_folder(model: str) -> Path:
    shipped = {path.parent.name: path.parent for path in MODELS.glob("*/config.json")}
    folder = shipped.get(model, Path(model))
    if not (folder / "config.json").is_file():
        hint = nearest(model, shipped)
        raise ConfigError(f'engine.model is "{model}": neither a shipped model nor a folder with a config.json{hint}')
    return folder
