from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from types import SimpleNamespace
from typing import Any

from bench.engine.resolved import differences, resolved_facts


class Policy(Enum):
    FCFS = 1


@dataclass
class SchedulerConfig:
    max_num_seqs: int = 64
    policy: Policy = Policy.FCFS
    async_scheduling: bool = False
    data_parallel_port: int = 29500
    hidden: list[int] = field(default_factory=list)


@dataclass
class ModelConfig:
    model: str = "/somewhere/on/this/machine/tiny"


class AsyncScheduler:
    kv_cache_config = SimpleNamespace(num_blocks=9)


class Mine(AsyncScheduler):
    pass


def core_of(scheduler: Any, **options: Any) -> Any:
    config = SimpleNamespace(scheduler_config=SchedulerConfig(**options), model_config=ModelConfig())
    return SimpleNamespace(scheduler=scheduler, model_executor=object(), batch_queue_size=2, vllm_config=config)


def test_plain_options_are_named_by_section_and_places_and_drawn_names_are_left_out() -> None:
    facts = resolved_facts(core_of(Mine()), {"VLLM_LOGGING_LEVEL": "ERROR", "HOME": "/root", "PYTHONHASHSEED": "3"})
    assert facts["scheduler_config.max_num_seqs"] == "64"
    assert facts["scheduler_config.policy"] == "FCFS"
    assert facts["model_config.model"] == "tiny"
    assert facts["scheduler_base"] == "AsyncScheduler"
    assert facts["scheduler"].endswith("test_resolved.Mine")
    assert facts["num_gpu_blocks"] == "9"
    assert {name for name in facts if name.startswith("environment")} == {
        "environment.PYTHONHASHSEED",
        "environment.VLLM_LOGGING_LEVEL",
    }
    assert not any("port" in name or "hidden" in name for name in facts)


def test_two_engines_that_differ_in_the_scheduler_alone_are_the_same() -> None:
    one, other = (resolved_facts(core_of(scheduler), {}) for scheduler in (Mine(), AsyncScheduler()))
    assert one != other
    assert differences(one, other) == {}


def test_what_else_differs_is_named_with_both_values() -> None:
    one = resolved_facts(core_of(Mine()), {"PYTHONHASHSEED": "1"})
    other = resolved_facts(core_of(Mine(), max_num_seqs=32), {})
    assert differences(one, other) == {
        "scheduler_config.max_num_seqs": ("64", "32"),
        "environment.PYTHONHASHSEED": ("1", "absent"),
    }
