"""Reads a run folder, and refuses in one line what is missing, damaged or not ours.

What is inside is trusted after that; what it means is the business of the other modules.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from bench.analysis.admission import (
    OWN,
    Bounds,
    admit_folder,
    admit_manifest,
    one_line,
    read_json,
    read_table,
    visible,
)
from bench.analysis.metrics import TIERS
from bench.analysis.verdicts import Limits
from bench.config import VerdictOptions
from bench.errors import RunFolderError
from bench.records import FORMAT, PAIRS, STEPS, Column, ComparisonRecord, Manifest

ARMS = ("baseline", "candidate")
PAIR_FILE = re.compile(r"(?P<comparison>.+)--p(?P<pair>\d{3,})\.parquet", re.ASCII)
SLICE_KEYS = ["comparison", "pair", "slice"]


@dataclass(frozen=True)
class Run:
    """A run folder that was found sound; `pairs` has the columns of `bench.records.PAIRS`, a row a slice and arm.

    A run that stopped early loads too: its `manifest.status` says so. Steps stay on disk until asked for.
    """

    path: Path
    manifest: Manifest
    pairs: pd.DataFrame
    limits: Limits
    bounds: Bounds = OWN

    def comparison(self, comparison_id: str) -> ComparisonRecord:
        """The record of one comparison; raises RunFolderError for an unknown id."""
        for record in self.manifest.comparisons:
            if record.id == comparison_id:
                return record
        raise RunFolderError(f"run {self.path}: no comparison {comparison_id!r} in manifest.json")

    def pairs_of(self, comparison_id: str) -> pd.DataFrame:
        """The slices of one comparison, ordered by pair, slice and arm."""
        return self.pairs[self.pairs["comparison"] == comparison_id]

    def steps_of(self, comparison_id: str, columns: Sequence[str]) -> pd.DataFrame:
        """The given columns of the steps of one comparison, read now; empty where none were saved."""
        files = _pair_files(self.path / "steps", f"{glob.escape(comparison_id)}--p*.parquet")
        files = [file for file in files if _name_of(file).group("comparison") == comparison_id]
        wanted = [column for column in STEPS if column.name in columns]
        return _frame([read_table(file, wanted, self.bounds) for file in files], wanted)


def load_run(run_dir: Path, bounds: Bounds = OWN) -> Run:
    """The run in `run_dir`; raises RunFolderError with the file, what was found, and what was expected.

    A folder past `bounds` is refused; those of UNTRUSTED are for what another job made.
    """
    try:
        return _load(run_dir, bounds)
    except RunFolderError as error:
        raise RunFolderError(visible(str(error))) from error


def _load(run_dir: Path, bounds: Bounds) -> Run:
    path = run_dir.resolve()
    if not path.is_dir():
        raise RunFolderError(f"run {run_dir}: no such folder; the last line that `run` prints names it")
    admit_folder(path, bounds)
    manifest, limits = _read_manifest(path / "manifest.json", bounds)
    known = {record.id for record in manifest.comparisons}
    _check_steps(_pair_files(path / "steps"), known, bounds)
    pairs = _read_pairs(_pair_files(path / "pairs"), known, bounds)
    _check_complete(path, manifest, pairs)
    return Run(path, manifest, pairs, limits, bounds)


def _read_manifest(file: Path, bounds: Bounds) -> tuple[Manifest, Limits]:
    content = read_json(file, bounds)
    _check_format(file, content)
    try:
        manifest = Manifest.model_validate(content)
        options = VerdictOptions.model_validate(manifest.config.get("verdict", {}))
    except ValidationError as error:
        raise RunFolderError(f"{file}: {_first_problem(error)}") from error
    admit_manifest(file, content, bounds)
    _check_comparisons(file, manifest)
    return manifest, Limits(options.margin_pct / 100, options.max_excluded_pct / 100)


def _check_format(file: Path, content: Any) -> None:
    version = content.get("format") if isinstance(content, dict) else None
    if not isinstance(version, int):
        raise RunFolderError(f"{file}: no format number; not a manifest of this project")
    if version > FORMAT:
        raise RunFolderError(f"{file}: format {version}, this version reads up to {FORMAT}; update it")


def _check_comparisons(file: Path, manifest: Manifest) -> None:
    if not manifest.comparisons:
        raise RunFolderError(f"{file}: lists no comparison; nothing was planned in this run")
    seen: set[str] = set()
    for record in manifest.comparisons:
        if record.id in seen:
            raise RunFolderError(f"{file}: comparison {record.id!r} is listed twice")
        if record.tier not in TIERS:
            raise RunFolderError(
                f"{file}: comparison {record.id!r} has tier {record.tier!r}, expected {' or '.join(TIERS)}"
            )
        if not set(record.id).isdisjoint("/\\\0"):
            raise RunFolderError(f"{file}: comparison {record.id!r} cannot be part of a file's name")
        seen.add(record.id)
    for trace in manifest.traces:
        if Path(trace.file).is_absolute() or ".." in Path(trace.file).parts:
            raise RunFolderError(f"{file}: trace {trace.name!r} is at {trace.file!r}, outside the run folder")


def _pair_files(folder: Path, pattern: str = "*.parquet") -> list[Path]:
    files = sorted(folder.glob(pattern))
    for file in files:
        if file.is_symlink() or not file.is_file():
            raise RunFolderError(f"{file}: not a plain file; a run folder holds its own files")
        _name_of(file)
    return files


def _name_of(file: Path) -> re.Match[str]:
    match = PAIR_FILE.fullmatch(file.name)
    if match is None:
        raise RunFolderError(f"{file}: unexpected name, expected COMPARISON--pNNN.parquet")
    return match


def _check_known(file: Path, known: set[str]) -> None:
    comparison = _name_of(file).group("comparison")
    if comparison not in known:
        raise RunFolderError(f"{file}: comparison {comparison!r} is not in manifest.json")


def _check_steps(files: list[Path], known: set[str], bounds: Bounds) -> None:
    rows = 0
    for file in files:
        rows += _check_columns(file, STEPS)
        _check_known(file, known)
    _check_total(files, rows, 10 * bounds.total_rows)  # read one comparison at a time


def _read_pairs(files: list[Path], known: set[str], bounds: Bounds) -> pd.DataFrame:
    tables, rows = [], 0
    for file in files:
        rows += _check_columns(file, PAIRS)
        _check_total(files, rows, bounds.total_rows)
        _check_known(file, known)
        table = read_table(file, PAIRS, bounds)
        _check_rows(file, table)
        tables.append(table)
    pairs = _frame(tables, PAIRS)
    return pairs.sort_values([*SLICE_KEYS, "arm"], kind="stable", ignore_index=True)


def _check_total(files: list[Path], rows: int, most: int) -> None:
    if rows > most:
        raise RunFolderError(f"{files[0].parent}: {rows} rows or more, expected at most {most}")


def _check_columns(file: Path, columns: Sequence[Column]) -> int:
    """The number of rows that the file says it has."""
    try:
        metadata = pq.read_metadata(file)
        schema = metadata.schema.to_arrow_schema()
    except (OSError, pa.ArrowException) as error:
        raise RunFolderError(f"{file}: not a readable Parquet file ({one_line(error)})") from error
    for column in columns:
        if column.name not in schema.names:
            raise RunFolderError(f"{file}: column {column.name!r} is missing")
        found = str(schema.field(column.name).type).replace("large_string", "string").replace("double", "float64")
        if found != column.type:
            raise RunFolderError(f"{file}: column {column.name!r} has type {found}, expected {column.type}")
    return int(metadata.num_rows)


def _check_rows(file: Path, table: Any) -> None:
    if table.num_rows == 0:
        raise RunFolderError(f"{file}: holds no slice")
    for column in PAIRS:
        if table[column.name].null_count:
            raise RunFolderError(f"{file}: column {column.name!r} has an empty value")
        if column.unit in ("ns", "ms") and not _is_duration(table[column.name].to_numpy()):
            raise RunFolderError(f"{file}: column {column.name!r} has a value that is not a duration, expected ≥ 0")
    name, frame = _name_of(file), table.to_pandas()
    if set(frame["comparison"]) != {name.group("comparison")} or set(frame["pair"]) != {int(name.group("pair"))}:
        raise RunFolderError(f"{file}: comparison or pair inside differs from the file's name")
    if not set(frame["arm"]) <= set(ARMS):
        raise RunFolderError(
            f"{file}: arm {sorted(set(frame['arm']) - set(ARMS))[0]!r}, expected baseline or candidate"
        )
    arms = {arm: frame[frame["arm"] == arm].sort_values("slice")[["slice", "num_steps"]].to_numpy() for arm in ARMS}
    if not np.array_equal(arms["baseline"], arms["candidate"]) or frame.duplicated(["slice", "arm"]).any():
        raise RunFolderError(
            f"{file}: the two arms differ in their slices or steps; a pair runs the same steps in both"
        )
    if (frame["num_steps"] < 1).any():
        raise RunFolderError(f"{file}: a slice has no step, expected num_steps ≥ 1")


def _is_duration(values: Any) -> bool:
    return bool(np.isfinite(values).all() and (values >= 0).all())


def _frame(tables: Sequence[Any], columns: Sequence[Column]) -> pd.DataFrame:
    schema = pa.schema([(column.name, pa.type_for_alias(column.type)) for column in columns])
    parts = [table.select(schema.names).cast(schema) for table in tables]
    frame: pd.DataFrame = pa.concat_tables([schema.empty_table(), *parts]).to_pandas()
    return frame


def _check_complete(path: Path, manifest: Manifest, pairs: pd.DataFrame) -> None:
    found = pairs.groupby("comparison")["pair"].nunique()
    for record in manifest.comparisons:
        present = int(found.get(record.id, 0))
        if record.status in ("measured", "partial") and present < record.num_pairs:
            expected = f"manifest.json counts {record.num_pairs} pairs of {record.id!r}"
            raise RunFolderError(f"run {path}: {expected}, pairs/ holds {present}")


def _first_problem(error: ValidationError) -> str:
    problem = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in problem["loc"])
    return f'"{where}": {problem["msg"][:1].lower()}{problem["msg"][1:]}'
