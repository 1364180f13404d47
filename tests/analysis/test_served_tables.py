from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.analysis.load import load_run
from bench.errors import RunFolderError
from tests.analysis.served_folder import SERVED, write_served_run

Change = Callable[[pd.DataFrame], pd.DataFrame]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_served_run(tmp_path / "run", (0.0,) * 8)


def change(folder: Path, edit: Change, table: str = "requests") -> None:
    file = sorted((folder / table).iterdir())[0]
    pq.write_table(pa.Table.from_pandas(edit(pq.read_table(file).to_pandas()), preserve_index=False), file)


def test_requests_come_in_the_order_of_pair_arm_and_arrival(folder: Path) -> None:
    requests = load_run(folder).requests_of(SERVED.id)
    keys = requests[["pair", "arm", "request"]].to_records(index=False).tolist()
    assert keys == sorted(keys)
    assert len(keys) == 8 * 2 * 8


def test_chunks_are_read_on_demand_with_the_columns_asked_for(folder: Path) -> None:
    chunks = load_run(folder).chunks_of(SERVED.id, ["pair", "received_ns"])
    assert chunks.columns.tolist() == ["pair", "received_ns"]
    assert len(chunks) == 8 * 2 * 72


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda rows: rows.drop(columns="late_ns"), "column 'late_ns' is missing"),
        (lambda rows: rows.assign(ttft_ns=-1), "'ttft_ns' has a value that is not a duration"),
        (lambda rows: rows.assign(arm="third"), "arm 'third', expected baseline or candidate"),
        (lambda rows: rows[rows["arm"] == "baseline"], "the two arms differ in their requests"),
        (lambda rows: rows.assign(request=0), "the two arms differ in their requests"),
        (lambda rows: rows.assign(pair=5), "differs from the file's name"),
        (lambda rows: rows.assign(num_tokens=0), "a request got no token"),
        (lambda rows: rows.head(0), "requests|request|type"),
    ],
)
def test_damaged_requests_are_refused_in_one_line(folder: Path, edit: Change, message: str) -> None:
    change(folder, edit)
    with pytest.raises(RunFolderError, match=message) as raised:
        load_run(folder)
    assert "\n" not in str(raised.value)


def test_damaged_chunks_are_refused(folder: Path) -> None:
    change(folder, lambda rows: rows.drop(columns="received_ns"), "chunks")
    with pytest.raises(RunFolderError, match="column 'received_ns' is missing"):
        load_run(folder)


def test_a_pair_that_the_manifest_counts_and_the_folder_lacks_is_noticed(folder: Path) -> None:
    sorted((folder / "requests").iterdir())[0].unlink()
    with pytest.raises(RunFolderError, match=r"counts 8 pairs .* requests/ holds 7"):
        load_run(folder)


def test_requests_of_another_comparison_are_noticed(folder: Path) -> None:
    file = sorted((folder / "requests").iterdir())[0]
    file.rename(file.with_name("other--p000.parquet"))
    with pytest.raises(RunFolderError, match="comparison 'other' is not in manifest"):
        load_run(folder)
