"""The Parquet files of a run folder, one a pair: their names, their columns, and frames of them.

What a table means is the business of those who ask for it.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from bench.analysis.admission import one_line
from bench.errors import RunFolderError
from bench.records import Column

ARMS = ("baseline", "candidate")
PAIR_FILE = re.compile(r"(?P<comparison>.+)--p(?P<pair>\d{3,})\.parquet", re.ASCII)


def pair_files(folder: Path, pattern: str = "*.parquet") -> list[Path]:
    """The files of a folder that match `pattern`, in order; raises RunFolderError for one that is none of ours."""
    files = sorted(folder.glob(pattern))
    for file in files:
        if file.is_symlink() or not file.is_file():
            raise RunFolderError(f"{file}: not a plain file; a run folder holds its own files")
        name_of(file)
    return files


def files_of(folder: Path, comparison: str) -> list[Path]:
    """The files of one comparison, in the order of its pairs."""
    files = [
        file
        for file in pair_files(folder, f"{glob.escape(comparison)}--p*.parquet")
        if name_of(file).group("comparison") == comparison
    ]
    return sorted(files, key=lambda file: int(name_of(file).group("pair")))


def name_of(file: Path) -> re.Match[str]:
    """Comparison and pair that a file is of; raises RunFolderError for another name."""
    match = PAIR_FILE.fullmatch(file.name)
    if match is None:
        raise RunFolderError(f"{file}: unexpected name, expected COMPARISON--pNNN.parquet")
    return match


def check_known(file: Path, known: set[str]) -> None:
    """Raise RunFolderError for a file of a comparison that the manifest does not list."""
    comparison = name_of(file).group("comparison")
    if comparison not in known:
        raise RunFolderError(f"{file}: comparison {comparison!r} is not in manifest.json")


def check_total(files: list[Path], rows: int, most: int) -> None:
    """Raise RunFolderError where the files of a folder have more rows together than are read."""
    if rows > most:
        raise RunFolderError(f"{files[0].parent}: {rows} rows or more, expected at most {most}")


def check_columns(file: Path, columns: Sequence[Column]) -> int:
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


def is_duration(values: Any) -> bool:
    """True where no value is negative, missing or endless."""
    return bool(np.isfinite(values).all() and (values >= 0).all())


def frame(tables: Sequence[Any], columns: Sequence[Column]) -> pd.DataFrame:
    """One frame of all tables, with the types of `columns`; empty for none."""
    schema = pa.schema([(column.name, pa.type_for_alias(column.type)) for column in columns])
    parts = [table.select(schema.names).cast(schema) for table in tables]
    frame: pd.DataFrame = pa.concat_tables([schema.empty_table(), *parts]).to_pandas()
    return frame
