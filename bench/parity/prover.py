"""Proves examples one after another, with one vLLM configuration a shape: thousands of small traces a minute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bench.engine import adapter
from bench.engine.shape import EngineShape, resolve_shape
from bench.parity.examples import Example
from bench.parity.proof import Proof, prove
from bench.variants import load

MAX_CONFIGS = 4096  # shapes differ in a few small numbers; a campaign must not keep them all


@dataclass(frozen=True)
class SchedulerPair:
    """The sync and the async scheduler class of one variant."""

    scheduler: type
    async_scheduler: type

    def of(self, shape: EngineShape) -> type:
        """The class that `shape` asks for."""
        return self.async_scheduler if shape.async_scheduling else self.scheduler


def pair_of(spec: str) -> SchedulerPair:
    """The pair of a variant that has both; raises VariantError."""
    variant = load(spec)
    return SchedulerPair(variant.scheduler, variant.async_scheduler)


class Prover:
    """Compares a candidate with a baseline on any number of examples."""

    def __init__(self, baseline: SchedulerPair, candidate: SchedulerPair, *, step_time_limit_s: float) -> None:
        self._baseline = baseline
        self._candidate = candidate
        self._limit_s = step_time_limit_s
        self._configs: dict[EngineShape, Any] = {}

    def prove(self, example: Example) -> Proof:
        """The proof of one example; raises ConfigError where trace and options cannot go together."""
        shape = resolve_shape(example.options, example.trace)
        return prove(
            self._baseline.of(shape),
            self._candidate.of(shape),
            example.trace,
            shape,
            self._config(shape),
            step_time_limit_s=self._limit_s,
        )

    def _config(self, shape: EngineShape) -> Any:
        if shape not in self._configs:
            if len(self._configs) >= MAX_CONFIGS:
                self._configs.clear()
            self._configs[shape] = adapter.make_vllm_config(shape)
        return self._configs[shape]
