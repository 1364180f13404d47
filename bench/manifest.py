"""`manifest.json` of a run folder: what was asked for, built, proven and measured, as frozen records.

The tables beside it are in `bench.records`; writing belongs to `bench.measure`, reading to `bench.analysis`.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

FORMAT = 1
CANARY = "aa"
SIMULATED_MODEL = "simulated model"  # in the name of every cell whose model is the engine tier's stand-in

Verdict = Literal["FASTER", "SLOWER", "EQUIVALENT", "INCONCLUSIVE", "VOID"]
Status = Literal["planned", "void", "measured", "partial", "failed"]


class Record(BaseModel):
    """A frozen part of the manifest; unknown keys are refused, so that a foreign file is noticed."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class VariantRecord(Record):
    """What a variant was: `digest` is SHA-256 of the sources its classes were made from."""

    spec: str
    digest: str


class ZygoteRecord(Record):
    """One process that imported vLLM and forked arms, and the machine that it ran on."""

    hash_seed: int
    host: dict[str, Any]


class TraceRecord(Record):
    """One frozen trace of the run; `file` is relative to the run folder."""

    name: str
    digest: str
    file: str
    num_requests: int


class ParityRecord(Record):
    """The step-by-step comparison that came before any timing."""

    alike: bool
    num_steps: int
    message: str = ""


class ComparisonRecord(Record):
    """One candidate in one cell: what was planned, proven and measured."""

    id: str
    cell: str
    tier: str
    workload: str
    num_running: int
    trace: str
    baseline: str
    candidate: str
    canary: bool
    status: Status = "planned"
    look: Literal[1, 2] = 1
    num_pairs_planned: int = 0
    num_pairs: int = 0
    steady_first: int = -1
    steady_last: int = -1
    steps_per_slice: int = 0
    num_slices: int = 0
    lead_in: int = 0
    pilot_s: float = 0.0
    peak_rss_mib: float = 0.0
    queue_ns_a_step: float | None = None
    queue_operations: dict[str, tuple[float, float]] = {}  # by kind: how often in a step, and ns for one
    parity: ParityRecord | None = None
    message: str = ""


class Manifest(Record):
    """`manifest.json`: everything that must be known to read the raw files, written again after each pair."""

    format: int = FORMAT
    name: str
    created: str = Field(description="UTC, ISO 8601")
    status: Status = "planned"
    config: dict[str, Any]
    versions: dict[str, str]
    host: dict[str, Any]
    engine: dict[str, Any] = Field(default_factory=dict, description="resolved engine options, by cell")
    hash_seeds: tuple[int, ...] = Field((), description="one a share of the pairs")
    zygotes: tuple[ZygoteRecord, ...] = Field((), description="in the order in which they started")
    variants: tuple[VariantRecord, ...] = ()
    traces: tuple[TraceRecord, ...] = ()
    comparisons: tuple[ComparisonRecord, ...] = ()
