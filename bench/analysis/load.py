"""Reads a run folder, and refuses in one line what is missing, damaged or not ours.

What is inside is trusted after that; what it means is the business of the other modules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import ValidationError

from bench.analysis.admission import (
    OWN,
    Bounds,
    admit_folder,
    admit_manifest,
    read_json,
    read_table,
    visible,
)
from bench.analysis.looks import Tails, tails_of
from bench.analysis.metrics import SERVE, TIERS
from bench.analysis.raw_tables import (
    ARMS,
    PAIR_FILE,
    check_columns,
    check_known,
    check_total,
    files_of,
    frame,
    pair_files,
)
from bench.analysis.served_tables import check_chunks, read_requests
from bench.analysis.slice_tables import check_slices, read_slices
from bench.analysis.verdicts import Limits
from bench.errors import RunFolderError
from bench.manifest import FORMAT, ComparisonRecord, Manifest
from bench.options import VerdictOptions
from bench.records import CHUNKS, STEPS, Column

__all__ = ["ARMS", "PAIR_FILE", "Run", "load_run"]

MAX_HELD_ROWS = 500_000  # slices kept for whoever asks next: all of a usual run, 150 MB at most


@dataclass(frozen=True)
class Run:
    """A run folder that was found sound; its rows stay on disk until they are asked for.

    `requests` has the columns of `bench.records.REQUESTS`, a row a request and arm of the serve tier. A run that
    stopped early loads too: its `manifest.status` says so.
    """

    path: Path
    manifest: Manifest
    requests: pd.DataFrame
    limits: Limits
    bounds: Bounds = OWN
    _slices: dict[str, pd.DataFrame] = field(default_factory=dict, repr=False, compare=False)

    def comparison(self, comparison_id: str) -> ComparisonRecord:
        """The record of one comparison; raises RunFolderError for an unknown id."""
        for record in self.manifest.comparisons:
            if record.id == comparison_id:
                return record
        raise RunFolderError(f"run {self.path}: no comparison {comparison_id!r} in manifest.json")

    def tails_of(self, record: ComparisonRecord) -> Tails:
        """The errors that the look at this comparison may make."""
        measure = self.manifest.config.get("measure", {})
        return tails_of(record.look, looks_twice=isinstance(measure, dict) and measure.get("max_pairs") is not None)

    def pairs_of(self, comparison_id: str) -> pd.DataFrame:
        """The slices of one comparison, ordered by pair, arm and slice, with the columns of `bench.records.PAIRS`."""
        if comparison_id not in self._slices:
            rows = read_slices(self.path, comparison_id, self.bounds)
            if len(rows) + sum(map(len, self._slices.values())) > MAX_HELD_ROWS:
                self._slices.clear()
            self._slices[comparison_id] = rows
        return self._slices[comparison_id]

    def requests_of(self, comparison_id: str) -> pd.DataFrame:
        """The requests of one comparison of the serve tier, ordered by pair, arm and arrival."""
        return self.requests[self.requests["comparison"] == comparison_id]

    def steps_of(self, comparison_id: str, columns: Sequence[str]) -> pd.DataFrame:
        """The given columns of the steps of one comparison, read now; empty where none were saved."""
        return self._rows_of("steps", STEPS, comparison_id, columns)

    def chunks_of(self, comparison_id: str, columns: Sequence[str]) -> pd.DataFrame:
        """The given columns of the streamed chunks of one comparison of the serve tier, read now."""
        return self._rows_of("chunks", CHUNKS, comparison_id, columns)

    def _rows_of(
        self, folder: str, schema: Sequence[Column], comparison_id: str, columns: Sequence[str]
    ) -> pd.DataFrame:
        wanted = [column for column in schema if column.name in columns]
        files = files_of(self.path / folder, comparison_id)
        return frame([read_table(file, wanted, self.bounds) for file in files], wanted)


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
    _check_steps(pair_files(path / "steps"), known, bounds)
    check_chunks(path, known, bounds)
    num_pairs, requests = check_slices(path, known, bounds), read_requests(path, known, bounds)
    _check_complete(path, manifest, num_pairs, requests)
    return Run(path, manifest, requests, limits, bounds)


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


def _check_steps(files: list[Path], known: set[str], bounds: Bounds) -> None:
    rows = 0
    for file in files:
        rows += check_columns(file, STEPS)
        check_known(file, known)
    check_total(files, rows, 10 * bounds.total_rows)  # read one comparison at a time


def _check_complete(path: Path, manifest: Manifest, num_pairs: Mapping[str, int], requests: pd.DataFrame) -> None:
    served: Mapping[Any, int] = requests.groupby("comparison")["pair"].nunique().to_dict()
    found: dict[str, Mapping[Any, int]] = {"pairs": num_pairs, "requests": served}
    for record in manifest.comparisons:
        folder = "requests" if record.tier == SERVE else "pairs"
        present = int(found[folder].get(record.id, 0))
        if record.status in ("measured", "partial") and present < record.num_pairs:
            expected = f"manifest.json counts {record.num_pairs} pairs of {record.id!r}"
            raise RunFolderError(f"run {path}: {expected}, {folder}/ holds {present}")


def _first_problem(error: ValidationError) -> str:
    problem = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in problem["loc"])
    return f'"{where}": {problem["msg"][:1].lower()}{problem["msg"][1:]}'
