"""Makes run folders with a known effect in them, as `bench.measure` would leave them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from bench.manifest import ComparisonRecord, Manifest, ParityRecord, Status, TraceRecord, VariantRecord
from bench.records import PAIRS, STEPS, Column

NUM_SLICES = 12
STEPS_PER_SLICE = 5
ADMISSION, WARMUP, STEADY, DRAIN = 4, 4, NUM_SLICES * STEPS_PER_SLICE, 6

Columns = dict[str, Any]


ALIKE = ParityRecord(alike=True, num_steps=74)


@dataclass(frozen=True)
class Planned:
    """One comparison to make: `effect` is the planted fraction, `sd` the spread of a pair's log-ratio."""

    workload: str = "steady-decode"
    num_running: int = 256
    tier: str = "replay"
    candidate: str = "dict"
    canary: bool = False
    effect: float = 0.0
    wall_effect: float | None = None
    sd: float = 0.006
    pairs: int = 20
    disturbed: float = 0.0
    status: Status = "measured"
    message: str = ""
    parity: ParityRecord | None = ALIKE

    @property
    def cell(self) -> str:
        return f"{self.tier}-{self.workload}-n{self.num_running}"

    @property
    def id(self) -> str:
        return f"{self.cell}--{'aa' if self.canary else self.candidate}"


CANARY = Planned(candidate="list", canary=True)
TYPICAL = (
    CANARY,
    Planned(),
    Planned(workload="abort-storm", effect=-0.04),
    Planned(workload="abort-storm", num_running=1024, effect=-0.12),
    Planned(workload="preemption", effect=0.03),
    Planned(num_running=1024, sd=0.05),
    Planned(
        workload="finish-wave",
        status="void",
        parity=ParityRecord(alike=False, num_steps=31, message="step 31: r7 is scheduled by list only"),
        pairs=0,
    ),
    replace(CANARY, tier="engine"),
    Planned(tier="engine", sd=0.003),
)


def write_run(
    folder: Path, planned: Sequence[Planned] = TYPICAL, seed: int = 1, *, with_steps: bool = True, **manifest: Any
) -> Path:
    """A whole run folder; the same arguments give the same bytes."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    for comparison in planned:
        for pair in range(comparison.pairs):
            name = f"{comparison.id}--p{pair:03d}.parquet"
            steps = _steps(comparison, pair, rng)
            write_table(folder / "pairs" / name, _slices(comparison, steps, rng), PAIRS)
            if with_steps:
                write_table(folder / "steps" / name, steps, STEPS)
    write_manifest(folder, planned, **manifest)
    return folder


def write_manifest(folder: Path, planned: Sequence[Planned], **changes: Any) -> None:
    """`manifest.json` for `planned`, with top-level fields changed."""
    content = {
        "name": "synthetic",
        "created": "2026-11-30T07:00:00Z",
        "status": "measured",
        "config": {
            "name": "synthetic",
            "seed": 1,
            "measure": {"pairs": 20, "zygotes": 4},
            "verdict": {"margin_pct": 1.5, "max_excluded_pct": 20.0},
        },
        "versions": {"python": "3.11.2", "vllm": "0.32.0", "runqueue-bench": "0.1.0"},
        "host": {"cpu": "Example CPU", "cores": 2, "kernel": "6.1.0"},
        "hash_seeds": (11, 12, 13, 14),
        "variants": tuple(
            VariantRecord(spec=spec, digest=letter * 64) for spec, letter in (("list", "a"), ("dict", "b"))
        ),
        "traces": tuple(
            TraceRecord(name=name, digest="c" * 64, file=f"traces/{name}.jsonl", num_requests=300)
            for name in sorted({one.workload for one in planned})
        ),
        "comparisons": tuple(_record(one) for one in planned),
    }
    (folder / "manifest.json").write_text(Manifest.model_validate(content | changes).model_dump_json(indent=1))


def change_manifest(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Edits `manifest.json` as plain JSON, so that it can be made wrong."""
    content = json.loads((folder / "manifest.json").read_text())
    change(content)
    (folder / "manifest.json").write_text(json.dumps(content))


def change_pair(folder: Path, change: Callable[[pd.DataFrame], pd.DataFrame]) -> Path:
    """Rewrites the first file of `pairs/` with its table changed, types as pandas finds them."""
    file = sorted((folder / "pairs").iterdir())[0]
    pq.write_table(pa.Table.from_pandas(change(pq.read_table(file).to_pandas()), preserve_index=False), file)
    return file


def write_table(file: Path, arms: Sequence[Columns], columns: Sequence[Column]) -> None:
    """One table, the rows of the baseline before those of the candidate, with the types of its columns."""
    file.parent.mkdir(exist_ok=True)
    arrays = [pa.array(np.concatenate([arm[column.name] for arm in arms])) for column in columns]
    schema = pa.schema([(column.name, pa.type_for_alias(column.type)) for column in columns])
    pq.write_table(pa.table(arrays, names=schema.names).cast(schema), file)


def _record(planned: Planned) -> ComparisonRecord:
    return ComparisonRecord(
        id=planned.id,
        cell=planned.cell,
        tier=planned.tier,
        workload=planned.workload,
        num_running=planned.num_running,
        trace=planned.workload,
        baseline="list",
        candidate=planned.candidate,
        canary=planned.canary,
        status=planned.status,
        num_pairs_planned=max(planned.pairs, 20),
        num_pairs=planned.pairs,
        steady_first=FIRST,
        steady_last=AFTER - 1,
        steps_per_slice=STEPS_PER_SLICE,
        num_slices=NUM_SLICES,
        parity=planned.parity,
        message=planned.message,
    )


PHASES = np.repeat(["admission", "warmup", "steady", "drain"], [ADMISSION, WARMUP, STEADY, DRAIN])
NUM_STEPS = PHASES.size
FIRST, AFTER = ADMISSION + WARMUP, ADMISSION + WARMUP + STEADY


def _steps(planned: Planned, pair: int, rng: np.random.Generator) -> list[Columns]:
    step = np.arange(NUM_STEPS)
    events = {
        "aborted": np.where(step % 11 == 9, 3, 0) * (planned.workload == "abort-storm"),
        "preempted": np.where(step % 17 == 5, 2, 0) * (planned.workload == "preemption"),
        "finished": np.where(step % 13 == 12, 4, 0),
    }
    slices = np.where(PHASES == "steady", (step - FIRST) // STEPS_PER_SLICE, -1)
    scale = np.exp(rng.normal(0, planned.sd / np.sqrt(2), size=2))
    return [
        _identity(planned, pair, arm, NUM_STEPS)
        | {"step": step, "fork": np.where(slices < 0, -1, 0), "phase": PHASES, "slice": slices}
        | {"waiting": np.zeros(NUM_STEPS, dtype=np.int64)}
        | dict.fromkeys(("running", "scheduled_tokens"), np.full(NUM_STEPS, planned.num_running))
        | events
        | _times(planned, arm, scale[arm], events["aborted"], rng)
        for arm in (0, 1)
    ]


def _times(planned: Planned, arm: int, scale: float, aborted: np.ndarray, rng: np.random.Generator) -> Columns:
    factor = (1.0, 1 + planned.effect)[arm]
    wall_factor = factor if planned.wall_effect is None else (1.0, 1 + planned.wall_effect)[arm]
    busy = 11_000.0 * planned.num_running * scale * np.exp(rng.normal(0, 0.01, NUM_STEPS))
    busy *= np.where(PHASES == "admission", 6.0, 1.0)
    finish = np.where(aborted > 0, 0.05 * factor * busy, 0.0)
    model = 40e6 * np.exp(rng.normal(0, 0.002, NUM_STEPS)) * (planned.tier == "engine")
    times = {
        "cpu_ns": factor * busy + finish,
        "schedule_ns": 0.55 * wall_factor * busy,
        "update_ns": 0.45 * wall_factor * busy,
        "finish_ns": finish,
        **dict.fromkeys(("grammar_ns", "idle_ns", "input_ns", "output_ns"), np.zeros(NUM_STEPS)),
        "model_ns": model,
        "other_ns": 0.03 * (wall_factor * busy + finish) * (planned.tier == "engine"),
        "step_ns": 1.03 * (wall_factor * busy + finish) + model,
    }
    return {name: spent.astype(np.int64) for name, spent in times.items()}


def _slices(planned: Planned, steps: list[Columns], rng: np.random.Generator) -> list[Columns]:
    first = rng.integers(0, 2, NUM_SLICES)
    disturbed = (rng.random(NUM_SLICES) < planned.disturbed).astype(np.int64)
    number = np.arange(NUM_SLICES)
    return [
        {name: values[:NUM_SLICES] for name, values in steps[arm].items()}
        | _sums(steps[arm])
        | dict.fromkeys(("minor_faults", "major_faults", "gc_collections"), 0 * number)
        | {
            "slice": number,
            "fork": np.zeros(NUM_SLICES, dtype=np.int64),
            "position": first if arm == 0 else 1 - first,
            "first_step": FIRST + STEPS_PER_SLICE * number,
            "num_steps": np.full(NUM_SLICES, STEPS_PER_SLICE),
            "involuntary_switches": arm * disturbed,
            "steal_ms": np.zeros(NUM_SLICES),
        }
        for arm in (0, 1)
    ]


def _sums(steps: Columns) -> Columns:
    names = [column.name for column in PAIRS if column.unit == "ns" and column.name in steps]
    sums = {name: steps[name][FIRST:AFTER].reshape(NUM_SLICES, -1).sum(axis=1) for name in names}
    return sums | {"wall_ns": sums["schedule_ns"] + sums["update_ns"] + sums["finish_ns"]}


def _identity(planned: Planned, pair: int, arm: int, count: int) -> Columns:
    values = {
        "cell": planned.cell,
        "comparison": planned.id,
        "pair": pair,
        "zygote": pair // 5,
        "arm": ("baseline", "candidate")[arm],
        "variant": ("list", planned.candidate)[arm],
    }
    return {name: np.full(count, value) for name, value in values.items()}
