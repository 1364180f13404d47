"""Reads what a client of the serve tier saved: a row a request, and a row a streamed chunk; refuses what is damaged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from bench.analysis.admission import Bounds, read_table
from bench.analysis.raw_tables import ARMS, check_columns, check_known, check_total, frame, is_duration, name_of
from bench.analysis.raw_tables import pair_files as files_of
from bench.errors import RunFolderError
from bench.records import CHUNKS, REQUESTS

REQUEST_KEYS = ["comparison", "pair", "arm", "request"]


def read_requests(run_dir: Path, known: set[str], bounds: Bounds) -> pd.DataFrame:
    """Every request of a run, ordered by REQUEST_KEYS; empty where no server was measured. Raises RunFolderError."""
    files, tables, rows = files_of(run_dir / "requests"), [], 0
    for file in files:
        rows += check_columns(file, REQUESTS)
        check_total(files, rows, bounds.total_rows)
        check_known(file, known)
        table = read_table(file, REQUESTS, bounds)
        _check_rows(file, table)
        tables.append(table)
    return frame(tables, REQUESTS).sort_values(REQUEST_KEYS, kind="stable", ignore_index=True)


def check_chunks(run_dir: Path, known: set[str], bounds: Bounds) -> None:
    """Every file of chunks has its columns and is of a known comparison; raises RunFolderError. Rows stay on disk."""
    files, rows = files_of(run_dir / "chunks"), 0
    for file in files:
        rows += check_columns(file, CHUNKS)
        check_known(file, known)
    check_total(files, rows, 10 * bounds.total_rows)  # read one comparison at a time


def _check_rows(file: Path, table: Any) -> None:
    if table.num_rows == 0:
        raise RunFolderError(f"{file}: holds no request")
    for column in REQUESTS:
        if table[column.name].null_count:
            raise RunFolderError(f"{file}: column {column.name!r} has an empty value")
        if column.unit == "ns" and not is_duration(table[column.name].to_numpy()):
            raise RunFolderError(f"{file}: column {column.name!r} has a value that is not a duration, expected ≥ 0")
    name, rows = name_of(file), table.to_pandas()
    if set(rows["comparison"]) != {name.group("comparison")} or set(rows["pair"]) != {int(name.group("pair"))}:
        raise RunFolderError(f"{file}: comparison or pair inside differs from the file's name")
    if not set(rows["arm"]) <= set(ARMS):
        raise RunFolderError(f"{file}: arm {sorted(set(rows['arm']) - set(ARMS))[0]!r}, expected baseline or candidate")
    asked = [sorted(rows.loc[rows["arm"] == arm, "request"]) for arm in ARMS]
    if asked[0] != asked[1] or rows.duplicated(["arm", "request"]).any():
        raise RunFolderError(f"{file}: the two arms differ in their requests; a pair replays the same ones in both")
    if (rows["num_tokens"] < 1).any():
        raise RunFolderError(f"{file}: a request got no token; such a replay is not a pair")
