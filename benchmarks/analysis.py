"""How long the report of a large run takes, and how much memory: ten million step rows, made up and written first.

Run it from the checkout: `python benchmarks/analysis.py [NUM_STEP_ROWS]`. It times `python -m bench report`, the
command itself, and prints seconds of CPU and wall time and the most memory that it had.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.manifest import ComparisonRecord, Manifest, ParityRecord, TraceRecord
from bench.records import PAIRS, STEPS, Column

WORKLOADS = ("steady-decode", "staggered-finish", "abort-storm", "preemption")
SIZES = (16, 64, 256, 1024, 4096)
NUM_PAIRS = 25
STEPS_A_SLICE = 4
WARMUP = 40
ARMS = (("baseline", "list"), ("candidate", "dict"))
NS_A_REQUEST = 11_000.0
FUNCTIONS = {"schedule_ns": 0.55, "update_ns": 0.45, "finish_ns": 0.0}


def main() -> None:
    """Write the run, report it in a process of its own, and print what that took."""
    num_rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    with tempfile.TemporaryDirectory() as folder:
        run_dir = Path(folder) / "run"
        num_slice_rows = write_run(run_dir, num_rows)
        size_mb = sum(path.stat().st_size for path in run_dir.rglob("*.parquet")) / 1e6
        print(f"{num_rows} step rows, {num_slice_rows} slice rows, {size_mb:.0f} MB in {2 * num_files()} files")
        began = perf_counter()
        command = [sys.executable, "-m", "bench", "report", str(run_dir)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        wall_s = perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{wall_s:.1f} s, {used.ru_utime + used.ru_stime:.1f} s of CPU, {used.ru_maxrss / 1024:.0f} MB at most")


def num_files() -> int:
    """Pairs of the whole run: a file of steps and one of slices each."""
    return len(WORKLOADS) * len(SIZES) * NUM_PAIRS


def write_run(run_dir: Path, num_rows: int) -> int:
    """A run folder with about `num_rows` rows in `steps/`; the number of rows in `pairs/`."""
    rng = np.random.default_rng(1)
    num_slices = (num_rows // (2 * num_files()) - WARMUP) // STEPS_A_SLICE
    cells = [(workload, size) for workload in WORKLOADS for size in SIZES]
    for folder in ("steps", "pairs"):
        (run_dir / folder).mkdir(parents=True)
    for workload, size in cells:
        record = comparison(workload, size, num_slices)
        for pair in range(NUM_PAIRS):
            arms = [arm_columns(record, pair, arm, num_slices, rng) for arm in (0, 1)]
            name = f"{record.id}--p{pair:03d}.parquet"
            write_table(run_dir / "steps" / name, [steps for steps, _ in arms], STEPS)
            write_table(run_dir / "pairs" / name, [slices for _, slices in arms], PAIRS)
    (run_dir / "manifest.json").write_text(manifest(cells, num_slices).model_dump_json())
    return 2 * num_files() * num_slices


def comparison(workload: str, size: int, num_slices: int) -> ComparisonRecord:
    """The record of one comparison, measured in full."""
    cell = f"replay-{workload}-n{size}"
    return ComparisonRecord(
        id=f"{cell}--dict",
        cell=cell,
        tier="replay",
        workload=workload,
        num_running=size,
        trace=workload,
        baseline="list",
        candidate="dict",
        canary=False,
        status="measured",
        num_pairs_planned=NUM_PAIRS,
        num_pairs=NUM_PAIRS,
        steady_first=WARMUP,
        steady_last=WARMUP + num_slices * STEPS_A_SLICE - 1,
        steps_per_slice=STEPS_A_SLICE,
        num_slices=num_slices,
        parity=ParityRecord(alike=True, num_steps=WARMUP + num_slices * STEPS_A_SLICE),
    )


def arm_columns(
    record: ComparisonRecord, pair: int, arm: int, num_slices: int, rng: np.random.Generator
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Steps and slices of one arm of one pair; a column that is not named here is 0 throughout."""
    num_steps = WARMUP + num_slices * STEPS_A_SLICE
    step, number = np.arange(num_steps), np.arange(num_slices)
    scale = NS_A_REQUEST * record.num_running * float(np.exp(rng.normal(0, 0.005)))
    busy = scale * np.exp(rng.normal(0, 0.02, num_steps))
    times = {name: (share * busy).astype(np.int64) for name, share in FUNCTIONS.items()}
    times |= {"cpu_ns": busy.astype(np.int64), "step_ns": (1.03 * busy).astype(np.int64)}
    sums = {name: spent[WARMUP:].reshape(num_slices, -1).sum(axis=1) for name, spent in times.items()}
    names = {"cell": record.cell, "comparison": record.id, "arm": ARMS[arm][0], "variant": ARMS[arm][1]}
    shared = names | {"pair": pair, "zygote": pair % 4}
    steps = (
        shared
        | times
        | {
            "step": step,
            "phase": np.where(step < WARMUP, "warmup", "steady"),
            "slice": np.where(step < WARMUP, -1, (step - WARMUP) // STEPS_A_SLICE),
            "running": record.num_running,
            "scheduled_tokens": record.num_running,
            "finished": (step % 13 == 12).astype(np.int64),
        }
    )
    slices = (
        shared
        | sums
        | {
            "wall_ns": sum(sums[name] for name in FUNCTIONS),
            "slice": number,
            "position": (number + arm) % 2,
            "first_step": WARMUP + number * STEPS_A_SLICE,
            "num_steps": STEPS_A_SLICE,
            "involuntary_switches": (rng.random(num_slices) < 0.02).astype(np.int64),
        }
    )
    return steps, slices


def write_table(file: Path, arms: list[dict[str, Any]], columns: tuple[Column, ...]) -> None:
    """One table with the types of `columns`, the rows of the baseline before those of the candidate."""
    schema = pa.schema([(column.name, pa.type_for_alias(column.type)) for column in columns])
    num_rows = len(next(values for values in arms[0].values() if isinstance(values, np.ndarray)))
    arrays = []
    for column in columns:
        zero = "" if column.type == "string" else 0
        values = [np.broadcast_to(arm.get(column.name, zero), (num_rows,)) for arm in arms]
        arrays.append(pa.array(np.concatenate(values)).cast(schema.field(column.name).type))
    pq.write_table(pa.table(arrays, schema=schema), file, compression="zstd")


def manifest(cells: list[tuple[str, int]], num_slices: int) -> Manifest:
    """What the report must know about the run."""
    return Manifest(
        name="synthetic",
        created="2026-01-01T00:00:00+00:00",
        status="measured",
        config={},
        versions={},
        host={},
        traces=tuple(
            TraceRecord(name=name, digest="0" * 64, file=f"traces/{name}.jsonl", num_requests=1) for name in WORKLOADS
        ),
        comparisons=tuple(comparison(workload, size, num_slices) for workload, size in cells),
    )


if __name__ == "__main__":
    main()
