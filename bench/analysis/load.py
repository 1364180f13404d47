"""Reads a run folder, and refuses in one line what is missing, damaged or not ours.

What is inside is trusted after that; what it means is the business of the other modules.
"""

from __future__ import annotations

import json
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

from bench.analysis.metrics import TIERS
from bench.analysis.verdicts import Limits
from bench.config import VerdictOptions
from bench.errors import RunFolderError
from bench.records import FORMAT, PAIRS, STEPS, Column, ComparisonRecord, Manifest

ARMS = ("baseline", "candidate")
PAIR_FILE = re.compile(r"(?P<comparison>.+)--p(?P<pair>\d{3,})\.parquet", re.ASCII)
MAX_MANIFEST_BYTES = 64 * 2**20  # a manifest of ten thousand comparisons has about 5 MB
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
        tables = [
            _read(file, columns)
            for file in _pair_files(self.path / "steps")
            if _name_of(file).group("comparison") == comparison_id
        ]
        return _frame(tables, [column for column in STEPS if column.name in columns])


def load_run(run_dir: Path) -> Run:
    """The run in `run_dir`; raises RunFolderError with the file, what was found, and what was expected."""
    path = run_dir.resolve()
    _check_folder(path, run_dir)
    manifest, limits = _read_manifest(path / "manifest.json")
    known = {record.id for record in manifest.comparisons}
    for file in _pair_files(path / "steps"):
        _check_columns(file, STEPS)
        _check_known(file, known)
    pairs = _read_pairs(_pair_files(path / "pairs"), known)
    _check_complete(path, manifest, pairs)
    return Run(path, manifest, pairs, limits)


def _check_folder(path: Path, given: Path) -> None:
    if not path.is_dir():
        raise RunFolderError(f"run {given}: no such folder; the last line that `run` prints names it")
    links = [entry for entry in sorted(path.iterdir()) if entry.is_symlink()]
    if links:
        raise RunFolderError(f"run {given}: {links[0].name} is a symbolic link; a run folder holds its own files")


def _read_manifest(file: Path) -> tuple[Manifest, Limits]:
    try:
        if file.stat().st_size > MAX_MANIFEST_BYTES:
            raise RunFolderError(f"{file}: {file.stat().st_size} bytes, expected at most {MAX_MANIFEST_BYTES}")
        content = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RunFolderError(f"{file}: missing; a run folder has one from its first moment") from None
    except (OSError, UnicodeDecodeError, RecursionError) as error:
        raise RunFolderError(f"{file}: cannot be read ({_one_line(error)})") from error
    except json.JSONDecodeError as error:
        raise RunFolderError(f"{file}: not valid JSON ({_one_line(error)})") from error
    _check_format(file, content)
    try:
        manifest = Manifest.model_validate(content)
        options = VerdictOptions.model_validate(manifest.config.get("verdict", {}))
    except ValidationError as error:
        raise RunFolderError(f"{file}: {_first_problem(error)}") from error
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
        seen.add(record.id)
    for trace in manifest.traces:
        if Path(trace.file).is_absolute() or ".." in Path(trace.file).parts:
            raise RunFolderError(f"{file}: trace {trace.name!r} is at {trace.file!r}, outside the run folder")


def _pair_files(folder: Path) -> list[Path]:
    files = sorted(folder.glob("*.parquet"))
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


def _read_pairs(files: list[Path], known: set[str]) -> pd.DataFrame:
    tables = []
    for file in files:
        _check_columns(file, PAIRS)
        _check_known(file, known)
        table = _read(file, [column.name for column in PAIRS])
        _check_rows(file, table)
        tables.append(table)
    pairs = _frame(tables, PAIRS)
    return pairs.sort_values([*SLICE_KEYS, "arm"], kind="stable", ignore_index=True)


def _check_columns(file: Path, columns: Sequence[Column]) -> None:
    try:
        schema = pq.read_schema(file)
    except (OSError, pa.ArrowException) as error:
        raise RunFolderError(f"{file}: not a readable Parquet file ({_one_line(error)})") from error
    for column in columns:
        if column.name not in schema.names:
            raise RunFolderError(f"{file}: column {column.name!r} is missing")
        found = str(schema.field(column.name).type).replace("large_string", "string").replace("double", "float64")
        if found != column.type:
            raise RunFolderError(f"{file}: column {column.name!r} has type {found}, expected {column.type}")


def _read(file: Path, columns: Sequence[str]) -> Any:
    try:
        with pq.ParquetFile(file) as parquet:
            return parquet.read(columns=list(columns), use_threads=False)
    except (OSError, pa.ArrowException) as error:
        raise RunFolderError(f"{file}: not a readable Parquet file ({_one_line(error)})") from error


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


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
