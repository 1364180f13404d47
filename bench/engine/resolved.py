"""What vLLM made of the options of one engine: plain facts that are saved for each arm, and compared.

The two arms of a pair may differ in the scheduler's class and in nothing else.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

SECTIONS = (
    "model_config",
    "cache_config",
    "scheduler_config",
    "parallel_config",
    "load_config",
    "attention_config",
    "compilation_config",
    "observability_config",
)
VARIANT = "scheduler"
"""The one fact in which arms differ."""

_PLACES = {"model", "tokenizer", "served_model_name", "model_weights"}  # paths of this machine: the last part is enough
_DRAWN = ("port", "instance_id")  # chosen anew by every engine
_ENVIRONMENT = ("VLLM_", "PYTHONHASHSEED", "OMP_", "OPENBLAS_", "MKL_", "CUDA_VISIBLE_DEVICES")

Facts = dict[str, str]


def resolved_facts(core: Any, environment: Mapping[str, str]) -> Facts:
    """Every plain option of a started engine core, by `section.option`, and what it was told by `environment`.

    That is the environment before the engine started: vLLM adds names to it that are drawn anew by every engine.
    """
    scheduler = type(core.scheduler)
    bases = {base.__name__ for base in scheduler.__mro__}
    facts = {
        VARIANT: f"{scheduler.__module__}.{scheduler.__qualname__}",
        "scheduler_base": "AsyncScheduler" if "AsyncScheduler" in bases else "Scheduler",
        "executor": type(core.model_executor).__name__,
        "batch_queue_size": str(core.batch_queue_size),
        "num_gpu_blocks": str(core.scheduler.kv_cache_config.num_blocks),
    }
    return facts | option_facts(core.vllm_config, environment)


def option_facts(config: Any, environment: Mapping[str, str]) -> Facts:
    """Every plain option of a resolved vLLM configuration, by `section.option`, and those of `environment`."""
    facts: Facts = {}
    for section in SECTIONS:
        facts |= {f"{section}.{name}": value for name, value in _plain(getattr(config, section, None))}
    kept = {name: value for name, value in environment.items() if name.startswith(_ENVIRONMENT)}
    return facts | {f"environment.{name}": kept[name] for name in sorted(kept)}


def differences(baseline: Mapping[str, str], candidate: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Facts that are not the same in both arms, without the variant itself: (baseline, candidate) by name."""
    names = [*baseline, *(name for name in candidate if name not in baseline)]
    both = {name: (baseline.get(name, "absent"), candidate.get(name, "absent")) for name in names if name != VARIANT}
    return {name: values for name, values in both.items() if values[0] != values[1]}


def _plain(section: Any) -> Iterator[tuple[str, str]]:
    if not dataclasses.is_dataclass(section):
        return
    for field in dataclasses.fields(section):
        value = getattr(section, field.name, None)
        if isinstance(value, Enum):
            value = value.name
        is_drawn = field.name.startswith("_") or field.name.endswith(_DRAWN)
        if is_drawn or not isinstance(value, bool | int | float | str | None):
            continue
        yield field.name, Path(str(value)).name if field.name in _PLACES else str(value)
