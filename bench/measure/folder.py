"""Writes a run folder so that nothing finished is lost: each file is written beside its place, synced, and renamed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.errors import RunFolderError
from bench.manifest import ComparisonRecord, Manifest
from bench.measure.messages import ARMS, INTERFERENCE_FIELDS, READING_FIELDS, ArmRecord, PairResult
from bench.records import LEAD_IN, PAIRS, STEPS, Column

MANIFEST = "manifest.json"
PART = ".part"
FOLDERS = ("traces", "steps", "pairs", "pyperf", "plots")


def create_folder(run_dir: Path, manifest: Manifest) -> None:
    """Make the run folder and its parts; raises RunFolderError where that cannot be done or another run lies there.

    `manifest` is the first file in it. Whatever kills a run therefore leaves one that can be resumed, or empty folders
    that the next run takes.
    """
    if (run_dir / MANIFEST).exists():
        raise RunFolderError(f"run folder {run_dir}: holds a run already; choose another --out, or --resume it")
    if run_dir.exists() and not (run_dir.is_dir() and _is_bare(run_dir)):
        raise RunFolderError(f"run folder {run_dir}: exists and is not empty; choose another --out")
    try:
        for folder in FOLDERS:
            (run_dir / folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunFolderError(f"run folder {run_dir}: cannot be made ({error.strerror})") from error
    write_manifest(run_dir, manifest)


def _is_bare(run_dir: Path) -> bool:
    """True where nothing lies in it but what a run leaves that is killed before its manifest is written."""
    left = {run_dir / folder for folder in FOLDERS} | {_beside(run_dir / MANIFEST)}
    return all(path in left for path in run_dir.rglob("*"))


def write_manifest(run_dir: Path, manifest: Manifest) -> None:
    """Replace `manifest.json`."""
    text = manifest.model_dump_json(indent=1)
    write_whole(run_dir / MANIFEST, lambda path: path.write_text(text + "\n", encoding="utf-8"))


def read_manifest(run_dir: Path) -> Manifest:
    """The manifest of a run to be resumed; raises RunFolderError."""
    if run_dir.is_dir() and _is_bare(run_dir):
        raise RunFolderError(f"run folder {run_dir}: no run was begun in it; leave --resume out")
    try:
        return Manifest.model_validate_json((run_dir / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunFolderError(
            f"run folder {run_dir}: {MANIFEST} cannot be read ({str(error).splitlines()[0]})"
        ) from error


def sweep(run_dir: Path) -> None:
    """Remove what a killed process left half written: tables beside their place, traces and derived files alike."""
    for suffix in (PART, ".tmp"):
        for half in run_dir.rglob(f".*{suffix}"):
            half.unlink(missing_ok=True)


def pair_file(run_dir: Path, comparison: str, pair: int) -> Path:
    """Where the slices of one pair lie; it is written last, so that a pair is finished when it exists."""
    return run_dir / "pairs" / f"{comparison}--p{pair:03d}.parquet"


def write_pair(run_dir: Path, comparison: ComparisonRecord, result: PairResult, zygote: int) -> None:
    """Write the step rows, then the slice rows, of one finished pair."""
    arms = [
        _Arm(arm, spec, record)
        for arm, spec, record in zip(
            ARMS, (comparison.baseline, comparison.candidate), (result.baseline, result.candidate), strict=True
        )
    ]
    identity = {"cell": comparison.cell, "comparison": comparison.id, "pair": result.pair, "zygote": zygote}
    steps = pa.concat_tables([_step_rows(arm, identity, result) for arm in arms])
    slices = pa.concat_tables([_slice_rows(arm, identity, result) for arm in arms])
    step_path = run_dir / "steps" / f"{comparison.id}--p{result.pair:03d}.parquet"
    write_whole(step_path, lambda path: pq.write_table(steps, path, compression="zstd"))
    write_whole(
        pair_file(run_dir, comparison.id, result.pair), lambda path: pq.write_table(slices, path, compression="zstd")
    )


class _Arm:
    def __init__(self, arm: str, variant: str, record: ArmRecord) -> None:
        self.names = {"arm": arm, "variant": variant}
        self.record = record


def _step_rows(arm: _Arm, identity: Mapping[str, Any], result: PairResult) -> pa.Table:
    prepared, rounds, slicing = arm.record.prepared, arm.record.rounds, result.slicing
    readings = np.concatenate([prepared, *rounds])
    ahead = np.arange(len(prepared))
    step = np.concatenate([ahead, *(len(prepared) + np.arange(len(rows)) for rows in rounds)])
    fork = np.repeat(np.arange(-1, len(rounds)), [len(prepared), *(len(rows) for rows in rounds)])
    steady = (step - slicing.first) // slicing.steps_per_slice
    is_sliced = (step >= slicing.first) & (step <= slicing.last)
    is_steady = slicing.is_timed(step)
    admission_ends = int(np.argmax(readings[:, READING_FIELDS.index("running")])) if len(readings) else 0
    before = np.where(is_sliced, LEAD_IN, np.where(step > admission_ends, "warmup", "admission"))
    phase = np.where(is_steady, "steady", before)
    columns = {
        **{name: readings[:, index] for index, name in enumerate(READING_FIELDS)},
        "step": step,
        "fork": fork,
        "phase": phase,
        "slice": np.where(is_steady, fork * slicing.num_slices + steady, -1),
    }
    return table_of(STEPS, {**identity, **arm.names}, columns, len(readings))


def _slice_rows(arm: _Arm, identity: Mapping[str, Any], result: PairResult) -> pa.Table:
    slicing, rounds = result.slicing, arm.record.rounds
    num_steps, num_slices = slicing.steps_per_slice, slicing.num_slices * len(rounds)
    steady = [rows[slicing.first - len(arm.record.prepared) :] for rows in rounds]
    by_slice = np.concatenate(steady).reshape(num_slices, num_steps, len(READING_FIELDS))
    sums = by_slice[:, slicing.lead_in :].sum(axis=1)
    by_name = {name: sums[:, index] for index, name in enumerate(READING_FIELDS)}
    number = np.arange(num_slices)
    columns = {
        **by_name,
        "wall_ns": by_name["schedule_ns"] + by_name["update_ns"] + by_name["finish_ns"],
        "slice": number,
        "fork": number // slicing.num_slices,
        "position": arm.record.positions,
        "first_step": slicing.first + number % slicing.num_slices * num_steps + slicing.lead_in,
        "num_steps": np.full(num_slices, num_steps - slicing.lead_in),
        **{name: arm.record.interference[:, index] for index, name in enumerate(INTERFERENCE_FIELDS)},
    }
    return table_of(PAIRS, {**identity, **arm.names}, columns, num_slices)


def table_of(
    schema: Sequence[Column], constant: Mapping[str, Any], columns: Mapping[str, Any], num_rows: int
) -> pa.Table:
    """A table with exactly the columns of `schema`: from `columns`, or else one value from `constant` in every row."""
    types = {"string": pa.string(), "int64": pa.int64(), "float64": pa.float64(), "bool": pa.bool_()}
    arrays = []
    for column in schema:
        values = columns[column.name] if column.name in columns else [constant[column.name]] * num_rows
        arrays.append(pa.array(values).cast(types[column.type]))
    fields = [pa.field(column.name, types[column.type]) for column in schema]
    return pa.table(arrays, schema=pa.schema(fields))


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a file beside `path`, sync it, and put it in place; raises RunFolderError where it cannot."""
    beside = _beside(path)
    try:
        write(beside)
        with beside.open("rb") as file:
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        reason = f"cannot be written ({error.strerror or error})"
        raise RunFolderError(f"{path}: {reason}; what is finished is kept, `run --resume` goes on") from error


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}{PART}")
