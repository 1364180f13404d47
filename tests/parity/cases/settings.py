"""The engine that a case runs on, in the words of the shared cases, and vLLM's objects for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bench.engine import adapter
from bench.engine.shape import MODELS, EngineShape

BLOCK_SIZE = 4


@dataclass(frozen=True)
class Settings:
    """`usable` counts KV blocks that can be handed out, `budget` tokens a step; the rest is off unless said."""

    usable: int = 100
    max_num_seqs: int = 16
    budget: int = 8192
    policy: str = "fcfs"
    threshold: int = 0
    prefix_caching: bool = False
    reserve_full_isl: bool = False
    async_scheduling: bool = False
    max_num_active_seqs: int | None = None
    num_drafts: int = 0
    encoder_budget: int = 0
    encoder_cache: int = 0
    max_loras: int = 0
    kv_load_failure_policy: str = ""

    @property
    def shape(self) -> EngineShape:
        return EngineShape(
            model=str(MODELS / "tiny"),
            policy=self.policy,
            async_scheduling=self.async_scheduling,
            block_size=BLOCK_SIZE,
            num_blocks=self.usable,
            max_model_len=256,
            max_num_seqs=self.max_num_seqs,
            max_num_batched_tokens=self.budget,
            enable_prefix_caching=self.prefix_caching,
            scheduler_reserve_full_isl=self.reserve_full_isl,
            watermark=0.0,
            long_prefill_token_threshold=self.threshold,
            log_stats=False,
            max_loras=self.max_loras,
            num_speculative_tokens=self.num_drafts,
            max_num_encoder_input_tokens=self.encoder_budget,
            encoder_cache_size=self.encoder_cache,
            kv_load_failure_policy=self.kv_load_failure_policy,
        )


def make_config(settings: Settings) -> Any:
    """vLLM's configuration, with what the engine shape has no words for."""
    config = adapter.make_vllm_config(settings.shape)
    config.scheduler_config.max_num_active_seqs = settings.max_num_active_seqs
    return config


def make_scheduler(scheduler_class: type, settings: Settings, grammars: Any) -> Any:
    """A scheduler for the V1 model runner, whatever this machine would choose."""
    scheduler = adapter.make_scheduler(scheduler_class, make_config(settings), settings.shape)
    scheduler.use_v2_model_runner = False
    scheduler.structured_output_manager = grammars
    return scheduler
