"""Slices of pairs: every file is checked once when a run is loaded, and read again by comparison when asked for.

So a run of any number of comparisons needs the memory of one. What slices say is the business of `slices`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bench.analysis.admission import Bounds, read_table
from bench.analysis.raw_tables import (
    ARMS,
    check_columns,
    check_known,
    check_total,
    files_of,
    frame,
    is_duration,
    name_of,
    pair_files,
)
from bench.errors import RunFolderError
from bench.records import PAIRS


def check_slices(run_dir: Path, known: set[str], bounds: Bounds) -> dict[str, int]:
    """The number of pairs of each comparison; raises RunFolderError for the first file that is damaged or not ours."""
    files, rows = pair_files(run_dir / "pairs"), 0
    num_pairs: dict[str, int] = {}
    for file in files:
        rows += check_columns(file, PAIRS)
        check_total(files, rows, bounds.total_rows)
        check_known(file, known)
        _check_rows(file, read_table(file, PAIRS, bounds))
        comparison = name_of(file).group("comparison")
        num_pairs[comparison] = num_pairs.get(comparison, 0) + 1
    return num_pairs


def read_slices(run_dir: Path, comparison: str, bounds: Bounds) -> pd.DataFrame:
    """The slices of one comparison with the columns of PAIRS, ordered by pair, arm and slice; empty where none are."""
    files = files_of(run_dir / "pairs", comparison)
    rows = frame([read_table(file, PAIRS, bounds) for file in files], PAIRS)
    order = np.lexsort((rows["slice"], rows["arm"] == ARMS[1], rows["pair"]))
    is_ordered = bool((order == np.arange(len(rows))).all())  # as they were measured; moving names about takes long
    return rows if is_ordered else rows.iloc[order].reset_index(drop=True)


def _check_rows(file: Path, table: Any) -> None:
    if table.num_rows == 0:
        raise RunFolderError(f"{file}: holds no slice")
    for column in PAIRS:
        if table[column.name].null_count:
            raise RunFolderError(f"{file}: column {column.name!r} has an empty value")
        if column.unit in ("ns", "ms") and not is_duration(table[column.name].to_numpy()):
            raise RunFolderError(f"{file}: column {column.name!r} has a value that is not a duration, expected ≥ 0")
    name = name_of(file)
    told = {column: set(table[column].unique().to_pylist()) for column in ("comparison", "pair", "arm")}
    if told["comparison"] != {name.group("comparison")} or told["pair"] != {int(name.group("pair"))}:
        raise RunFolderError(f"{file}: comparison or pair inside differs from the file's name")
    if not told["arm"] <= set(ARMS):
        raise RunFolderError(f"{file}: arm {sorted(told['arm'] - set(ARMS))[0]!r}, expected baseline or candidate")
    _check_arms(file, table)


def _check_arms(file: Path, table: Any) -> None:
    """Both arms have the same slices, once each, of the same steps."""
    is_baseline = table["arm"].to_pandas().to_numpy() == ARMS[0]
    number, num_steps = table["slice"].to_numpy(), table["num_steps"].to_numpy()
    arms = []
    for mine in (is_baseline, ~is_baseline):
        order = np.argsort(number[mine], kind="stable")
        arms.append((number[mine][order], num_steps[mine][order]))
    if not np.array_equal(arms[0], arms[1]) or not np.diff(arms[0][0]).all():
        raise RunFolderError(
            f"{file}: the two arms differ in their slices or steps; a pair runs the same steps in both"
        )
    if (num_steps < 1).any():
        raise RunFolderError(f"{file}: a slice has no step, expected num_steps ≥ 1")
