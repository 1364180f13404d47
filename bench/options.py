"""The experiment file's options: each has its meaning, unit, default and bounds here and nowhere else.

Reading a file is the business of `bench.config`; what the options do to vLLM is that of `bench.engine`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from bench.errors import nearest

Tier = Literal["replay", "engine", "serve"]
Scalar = bool | int | float | str


class Section(BaseModel):
    """A frozen table of the experiment file; types are not coerced and unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class EngineOptions(Section):
    """How both arms' engines are built; vLLM's own names and meanings unless said."""

    model: str = Field("tiny", description="a shipped model config by name, or a folder that holds a config.json")
    policy: Literal["fcfs", "priority"] = Field("fcfs", description="scheduling policy")
    async_scheduling: bool = Field(False, description="AsyncScheduler, one step ahead")
    block_size: int = Field(
        32, ge=1, le=256, description="tokens in a KV block; vLLM's CPU attention wants multiples of 32"
    )
    max_model_len: int | None = Field(
        None, ge=2, description="tokens of prompt and output together; absent: what the trace's header asks for"
    )
    max_num_seqs: int | None = Field(None, ge=1, description="RUNNING slots; absent: what the trace's header asks for")
    max_num_batched_tokens: int | None = Field(
        None, ge=1, description="tokens a step; absent: what the trace's header asks for"
    )
    kv_tokens: int | None = Field(
        None, ge=1, description="KV cache size in tokens; absent: what the trace's header asks for"
    )
    enable_prefix_caching: bool = Field(True, description="as vLLM's default")
    scheduler_reserve_full_isl: bool = Field(False, description="vLLM's default is true, which hides most preemption")
    watermark: float = Field(0.0, ge=0, lt=1, description="fraction of KV blocks kept free at admission")
    long_prefill_token_threshold: int = Field(0, ge=0, description="tokens; 0: no cap on a prefill chunk")
    max_loras: int | None = Field(
        None, ge=0, le=1000, description="adapters in one step, replay tier; absent: what the trace's header asks for"
    )
    num_speculative_tokens: int | None = Field(
        None, ge=0, le=64, description="drafts a request and step, replay tier; absent: what the header asks for"
    )
    prefill_schedule_interval: int = Field(
        1, ge=1, description="steps from one with prefills to the next, as data-parallel engines have it; replay tier"
    )
    prefix_cache_reset_interval: int = Field(
        0, ge=0, description="steps between resets of the prefix cache, which preempt all; 0: none; replay tier"
    )
    pause_interval: int = Field(
        0,
        ge=0,
        description="steps from a pause of one step to the next, from step 0 on, of all and of new requests in turn; "
        "0: none, or ≥ 2; replay tier",
    )
    log_stats: bool = Field(True, description="scheduler statistics and events, as `vllm serve` keeps them")
    gpu_memory_utilization: float | None = Field(
        None, gt=0, lt=0.5, description="of one arm, and both are on the GPU at once; absent: vLLM's, on a CPU"
    )
    enforce_eager: bool = Field(True, description="false: CUDA graphs and compilation, as vLLM serves on a GPU")
    stand_in_model_ms: float | None = Field(
        None, gt=0, le=10_000, description="engine tier: simulate a model step of so many ms; absent: the model runs"
    )

    @field_validator("pause_interval")
    @classmethod
    def _pauses_end(cls, value: int) -> int:
        if value == 1:
            raise ValueError("1 pauses in every step, and no request would ever be admitted; expected 0 or ≥ 2")
        return value


class CellGroup(Section):
    """Workloads × sizes on one tier; each combination is one cell."""

    tier: Tier = Field("replay", description="where the steps run")
    workloads: tuple[str, ...] = Field((), description="generators by name")
    traces: tuple[str, ...] = Field((), description="trace files, in place of or beside workloads")
    num_running: tuple[int, ...] = Field((64, 256), description="target length of the RUNNING queue, for workloads")
    options: dict[str, Scalar] = Field(default_factory=dict, description="options for every workload of the group")
    sweep: dict[str, tuple[Scalar, ...]] = Field(
        default_factory=dict, description="engine options with several values each: a cell for every combination"
    )
    pairs: int | None = Field(None, ge=2, le=10_000, description="pairs a comparison; absent: measure.pairs")

    @field_validator("workloads", "traces", "num_running", mode="before")
    @classmethod
    def _tuple_from_array(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("sweep", mode="before")
    @classmethod
    def _tuples_from_arrays(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        return {name: tuple(values) if isinstance(values, list) else values for name, values in value.items()}

    @field_validator("sweep")
    @classmethod
    def _sweeps_engine_options(cls, value: dict[str, tuple[Scalar, ...]]) -> dict[str, tuple[Scalar, ...]]:
        for name, values in value.items():
            if name not in EngineOptions.model_fields:
                raise ValueError(f'"{name}" is no engine option{nearest(name, EngineOptions.model_fields)}')
            if not values or len(set(values)) != len(values):
                raise ValueError(f'"{name}" needs several different values, found {list(values)}')
        return value

    @field_validator("num_running")
    @classmethod
    def _sizes_are_possible(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        wrong = [n for n in value if not 1 <= n <= 16_384]
        if wrong:
            raise ValueError(f"{wrong[0]} is not a possible number of running requests, expected 1 to 16384")
        return value

    @model_validator(mode="after")
    def _asks_for_something(self) -> Self:
        if not self.workloads and not self.traces:
            raise ValueError("names neither workloads nor traces")
        if self.workloads and not self.num_running:
            raise ValueError("num_running is empty")
        if self.tier != "engine" and "stand_in_model_ms" in self.sweep:
            raise ValueError(f"the {self.tier} tier has no simulated model; sweep stand_in_model_ms in the engine tier")
        return self


class MeasureOptions(Section):
    """How pairs are taken; see docs/method.md for the reasons."""

    pairs: int = Field(20, ge=2, le=10_000, description="pairs a comparison: the replicates of the analysis")
    max_pairs: int | None = Field(
        None, ge=3, le=10_000, description="pairs at a second look, where the first settled nothing; absent: one look"
    )
    zygotes: int = Field(
        4, ge=1, le=1000, description="processes that import vLLM and fork the arms; each has its own hash seed"
    )
    forks: int = Field(
        3, ge=0, le=100, description="times that a pair's arms are forked and timed; 0: once, not forked (engine tier)"
    )
    slice_ms: float = Field(2.5, ge=0.1, le=1000, description="least scheduler time timed together, in ms")
    warmup_steps: int = Field(8, ge=0, le=100_000, description="steps left out after the queue reached its length")
    min_slices: int = Field(8, ge=2, le=100_000, description="fewest slices that a pair may have")
    step_time_limit_s: float = Field(20.0, gt=0, le=3600, description="a step that runs longer is taken to hang, in s")
    arm_start: Literal["auto", "fork", "spawn"] = Field(
        "auto", description="how arms start; auto: forked, but spawned for engines on a GPU"
    )
    canary: bool = Field(True, description="also compare the baseline with itself on the first cell of each tier")

    @model_validator(mode="after")
    def _second_look_is_larger(self) -> Self:
        if self.max_pairs is not None and self.max_pairs <= self.pairs:
            raise ValueError(f"max_pairs is {self.max_pairs}, expected more than pairs ({self.pairs})")
        return self


class ServeOptions(Section):
    """How the `serve` tier runs its servers and replays a trace by clock; see docs/serving.md."""

    request_rate: float | None = Field(
        None, gt=0, le=100_000, description="requests a second, Poisson gaps; absent: the trace's own timestamps"
    )
    pairs_a_start: int = Field(
        12, ge=1, le=10_000, description="pairs that the same two servers serve before both are started anew"
    )
    idle_s: float = Field(0.5, ge=0, le=600, description="rest before each replay, in s")
    ttft_slo_ms: float | None = Field(None, gt=0, description="goodput counts a request only with a TTFT up to this")
    tpot_slo_ms: float | None = Field(None, gt=0, description="goodput counts a request only with a TPOT up to this")
    e2el_slo_ms: float | None = Field(None, gt=0, description="goodput counts a request only with an E2EL up to this")
    port: int | None = Field(
        None, ge=1, le=65_534, description="the baseline's; the candidate's is the next one; absent: any two free ones"
    )
    start_limit_s: float = Field(300.0, gt=0, le=7200, description="a server that is not healthy by then is given up")
    request_limit_s: float = Field(60.0, gt=0, le=7200, description="a request that takes longer hangs, in s")


class VerdictOptions(Section):
    """When a difference counts; fractions are written in percent."""

    margin_pct: float = Field(1.5, gt=0, le=100, description="smallest difference that matters, in % of the step")
    max_excluded_pct: float = Field(
        20.0, ge=0, le=100, description="more slices excluded than this, in %: INCONCLUSIVE"
    )


class Experiment(Section):
    """The whole experiment file."""

    name: str = Field("experiment", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", description="names the run folder")
    baseline: str = Field("list", min_length=1, description="variant SPEC of the baseline")
    candidates: tuple[str, ...] = Field(
        ("dict",), min_length=1, description="variant SPECs, each compared with the baseline"
    )
    seed: int = Field(1, ge=0, lt=2**32, description="every order, seed and trace of the run derives from it")
    engine: EngineOptions = Field(default_factory=EngineOptions)
    cells: tuple[CellGroup, ...] = Field(min_length=1)
    measure: MeasureOptions = Field(default_factory=MeasureOptions)
    serve: ServeOptions = Field(default_factory=ServeOptions)
    verdict: VerdictOptions = Field(default_factory=VerdictOptions)

    @field_validator("candidates", "cells", mode="before")
    @classmethod
    def _tuple_from_array(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("candidates")
    @classmethod
    def _candidates_differ(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(value)) != len(value):
            raise ValueError("names a candidate twice")
        return value

    @model_validator(mode="after")
    def _simulates_only_in_the_engine_tier(self) -> Self:
        other = next((group.tier for group in self.cells if group.tier != "engine"), None)
        if self.engine.stand_in_model_ms is not None and other is not None:
            raise ValueError(
                f"engine.stand_in_model_ms is for the engine tier and this file has {other} cells; "
                "name it in the sweep of the engine cells"
            )
        return self


def section_at(location: Sequence[int | str]) -> type[Section]:
    """The section that holds the key at `location`: its parts as pydantic names them."""
    sections: dict[str, type[Section]] = {
        "engine": EngineOptions,
        "cells": CellGroup,
        "measure": MeasureOptions,
        "serve": ServeOptions,
        "verdict": VerdictOptions,
    }
    names = [part for part in location if isinstance(part, str)]
    return sections[names[0]] if names else Experiment


def describe_options() -> Iterator[tuple[str, str, str]]:
    """(dotted key, default, meaning) of every option, for docs and help."""
    sections: list[tuple[str, type[Section]]] = [
        ("", Experiment),
        ("engine.", EngineOptions),
        ("cells.", CellGroup),
        ("measure.", MeasureOptions),
        ("serve.", ServeOptions),
        ("verdict.", VerdictOptions),
    ]
    for prefix, section in sections:
        for name, field in section.model_fields.items():
            if field.description:
                default = "required" if field.is_required() else str(field.get_default(call_default_factory=True))
                yield f"{prefix}{name}", default, field.description
