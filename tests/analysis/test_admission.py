from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.analysis.admission import (
    OWN,
    UNTRUSTED,
    admit_folder,
    admit_manifest,
    one_line,
    read_json,
    read_table,
    visible,
)
from bench.errors import RunFolderError
from bench.records import Column
from tests.analysis.run_folder import Planned, write_manifest

COLUMNS = (Column("name", "string", "", "a name"), Column("time_ns", "int64", "ns", "a time"))


def table_file(folder: Path, names: list[str]) -> Path:
    file = folder / "a.parquet"
    pq.write_table(pa.table({"name": names, "time_ns": list(range(len(names)))}), file)
    return file


def test_plain_files_and_folders_are_admitted(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c").write_bytes(b"x" * 100)
    admit_folder(tmp_path, UNTRUSTED)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"files": 2}, "larger than the 2 files"),
        ({"file_bytes": 99}, "has 100 bytes, expected at most 99"),
        ({"total_bytes": 150}, "150 bytes that are read"),
    ],
)
def test_bounds_count_files_and_bytes(tmp_path: Path, bounds: dict[str, int], message: str) -> None:
    for name in "abc":
        (tmp_path / name).write_bytes(b"x" * 100)
    with pytest.raises(RunFolderError, match=message):
        admit_folder(tmp_path, replace(OWN, **bounds))


def test_link_and_socket_deep_inside_are_named(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "link").symlink_to("/")
    with pytest.raises(RunFolderError, match="a/link is a symbolic link"):
        admit_folder(tmp_path, OWN)
    (tmp_path / "a" / "link").unlink()
    os.mkfifo(tmp_path / "a" / "pipe")
    with pytest.raises(RunFolderError, match="a/pipe is not a plain file"):
        admit_folder(tmp_path, OWN)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, NaN]", "NaN is no JSON number"),
        ("[-Infinity]", "-Infinity is no JSON number"),
        ('["\\udfff"]', "cannot be read"),
        ("[" * 50_000, "cannot be read"),
        (f"[{'9' * 5_000}]", "not valid JSON"),
        ("{", "not valid JSON"),
    ],
)
def test_json_that_cannot_be_kept_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(RunFolderError, match=message):
        read_json(tmp_path / "a.json", OWN)


def test_manifest_of_its_own_shape_is_admitted_and_numbers_are_bounded(tmp_path: Path) -> None:
    write_manifest(tmp_path, (Planned(),))
    file = tmp_path / "manifest.json"
    content = json.loads(file.read_text())
    admit_manifest(file, content, UNTRUSTED)
    content["comparisons"][0]["num_running"] = 2**53
    admit_manifest(file, content, UNTRUSTED)
    content["comparisons"][0]["num_running"] = 2**53 + 1
    with pytest.raises(RunFolderError, match=r'"comparisons\.0\.num_running": past the maximum'):
        admit_manifest(file, content, UNTRUSTED)


def test_table_has_its_columns_and_names_once(tmp_path: Path) -> None:
    table = read_table(table_file(tmp_path, ["x", "y", "x"]), COLUMNS, OWN)
    assert table.column("name").to_pylist() == ["x", "y", "x"]
    assert pa.types.is_dictionary(table.schema.field("name").type)
    assert table.column("time_ns").to_pylist() == [0, 1, 2]


def test_table_of_too_many_rows_or_too_long_names_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="3 rows"):
        read_table(table_file(tmp_path, ["x"] * 3), COLUMNS, replace(OWN, rows_a_file=2))
    with pytest.raises(RunFolderError, match="a name of 1001 bytes, at most 1000"):
        read_table(table_file(tmp_path, ["x" * 1001]), COLUMNS, OWN)


def test_what_a_terminal_acts_on_is_shown_as_a_question_mark() -> None:
    assert visible("a\x1b[31m\u202eb\udcffµ") == "a?[31m?b?µ"
    assert one_line(ValueError("a\n  b\tc")) == "a b c"
