"""The scheduler classes that a `serve` arm's server loads by dotted path: the variant of the environment, probed.

Imported inside vLLM's engine core only. Both arms come this way, so that they differ in the variant and nothing else.
"""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path
from time import monotonic_ns
from typing import Any

from bench.engine.probe import StepProbe, StepReading
from bench.engine.resolved import option_facts
from bench.engine.serving import AS_IN_PRODUCTION, STEP_LOG_VARIABLE, VARIANT_VARIABLE
from bench.engine.step_log import StepLogWriter
from bench.variants import load

os.environ.update(AS_IN_PRODUCTION)  # the adapter, which the probe imports, sets what the other tiers need

READINGS = tuple(field.name for field in fields(StepReading))


class StepRecorder:
    """Appends one row a step of `scheduler` to a log: when it began and ended, and the probe's reading.

    A step lasts from `schedule()` to the end of `update_from_output()`, with the aborts that came before it. What lies
    between the two and is neither grammar nor aborts is the model's.
    """

    def __init__(self, scheduler: Any, log: StepLogWriter) -> None:
        self._probe = StepProbe(scheduler)
        self._log = log
        self._began = self._scheduled = self._finish_before = 0
        self._schedule, self._update = scheduler.schedule, scheduler.update_from_output
        scheduler.schedule, scheduler.update_from_output = self._timed_schedule, self._timed_update

    def _timed_schedule(self, *args: Any, **kwargs: Any) -> Any:
        began = monotonic_ns()
        self._began = self._began or began
        result = self._schedule(*args, **kwargs)
        self._finish_before = self._probe.reading.finish_ns
        self._scheduled = monotonic_ns()
        return result

    def _timed_update(self, *args: Any, **kwargs: Any) -> Any:
        between = monotonic_ns() - self._scheduled
        result = self._update(*args, **kwargs)
        ended = monotonic_ns()
        reading = self._probe.take()
        reading.model_ns = between - reading.grammar_ns - (reading.finish_ns - self._finish_before)
        reading.step_ns = ended - self._began + self._finish_before
        parts = (reading.schedule_ns, reading.update_ns, reading.finish_ns, reading.grammar_ns, reading.model_ns)
        reading.other_ns = reading.step_ns - sum(parts)
        self._log.append((self._began, ended, *(getattr(reading, name) for name in READINGS)))
        self._began = 0
        return result


def resolved_facts(config: Any) -> dict[str, Any]:
    """What vLLM made of the server's options, in our names; `num_blocks` counts the null block too."""
    return {
        "async_scheduling": bool(config.scheduler_config.async_scheduling),
        "policy": str(config.scheduler_config.policy),
        "block_size": config.cache_config.block_size,
        "num_blocks": config.cache_config.num_gpu_blocks,
        "max_num_seqs": config.scheduler_config.max_num_seqs,
        "max_num_batched_tokens": config.scheduler_config.max_num_batched_tokens,
        "options": option_facts(config, {}),
    }


def _probed(base: Any) -> type:
    class Probed(base):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            path = Path(os.environ[STEP_LOG_VARIABLE])
            log = StepLogWriter(path, ("began_ns", "ended_ns", *READINGS), resolved_facts(self.vllm_config))
            self._step_recorder = StepRecorder(self, log)

    Probed.__name__ = Probed.__qualname__ = base.__name__
    return Probed


def __getattr__(name: str) -> type:
    if name not in ("Scheduler", "AsyncScheduler"):
        raise AttributeError(f"module {__name__} has no attribute {name}")
    variant = load(os.environ[VARIANT_VARIABLE])
    return _probed(variant.async_scheduler if name == "AsyncScheduler" else variant.scheduler)
