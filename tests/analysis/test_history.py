from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from bench.analysis.comparisons import compare
from bench.analysis.history import HISTORY, add_run, environment_key, read_history
from bench.analysis.load import load_run
from bench.errors import RunFolderError
from bench.manifest import ComparisonRecord, Manifest
from tests.analysis.histories import ENVIRONMENT, history_rows, write_history
from tests.analysis.run_folder import CANARY, Planned, change_manifest, write_run

RUN = (replace(CANARY, pairs=6), Planned(pairs=6), Planned(workload="x", pairs=0, status="void", parity=None))
DOCS = Path(__file__).resolve().parents[2] / "docs" / "history.md"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", RUN, with_steps=False)


def manifest(**changes: object) -> Manifest:
    record = ComparisonRecord(id="a", cell="a", tier="replay", workload="a", num_running=1, trace="a", baseline="list",
                              candidate="dict", canary=False)  # fmt: skip
    content = {"name": "n", "created": "2026-01-01", "config": {}, "comparisons": (record,)}
    host = {"cpu": "Intel(R) Xeon(R)", "usable_cores": 4}
    return Manifest.model_validate(content | {"versions": {"vllm": "0.32.0"}, "host": host} | changes)


def test_run_is_kept_once_with_its_effects(folder: Path, tmp_path: Path) -> None:
    run, store = load_run(folder), tmp_path / "store"
    first, again = add_run(run, store), add_run(run, store)
    assert (first.is_new, again.is_new, first.path) == (True, False, again.path)
    assert len(list(store.rglob("*.parquet"))) == 1
    table = read_history(store)
    assert list(table.columns) == [column.name for column in HISTORY]
    assert sorted(table["canary"]) == [False, True]
    expected = compare(run).query("gating and not canary")["effect_pct"].iloc[0]
    assert table[~table["canary"]]["effect_pct"].iloc[0] == expected
    assert set(table["candidate_digest"]) == {"a" * 64, "b" * 64}
    assert set(table["trace_digest"]) == {"c" * 64}


def test_what_is_kept_is_never_changed(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    path = add_run(load_run(folder), store).path
    before = path.read_bytes(), path.stat().st_mtime_ns
    add_run(load_run(folder), store)
    change_manifest(folder, lambda m: m.update(created="2026-12-01T07:00:00Z"))
    other = add_run(load_run(folder), store)
    assert other.is_new
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert list(read_history(store)["created"].unique()) == ["2026-11-30T07:00:00Z", "2026-12-01T07:00:00Z"]


def test_run_without_an_effect_is_refused(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", (Planned(pairs=0, status="planned", parity=None),), status="partial")
    with pytest.raises(RunFolderError, match="no comparison has an effect"):
        add_run(load_run(folder), tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_only_what_effects_depend_on_makes_an_environment() -> None:
    key = environment_key(manifest())
    assert re.fullmatch(r"intel-r-xeon-r-4c-vllm-0\.32\.0-[0-9a-f]{8}", key)
    assert environment_key(manifest(host={"cpu": "Intel(R) Xeon(R)", "usable_cores": 4, "load_1min": 9.0})) == key
    others = [
        manifest(host={"cpu": "Intel(R) Xeon(R)", "usable_cores": 8}),
        manifest(host={"cpu": "Intel(R) Xeon(R)", "usable_cores": 4, "hypervisor": True}),
        manifest(versions={"vllm": "0.33.0"}),
        manifest(versions={"vllm": "0.32.0", "python": "3.12.1"}),
    ]
    assert len({key, *map(environment_key, others)}) == 5


def test_hostile_machine_name_stays_inside_the_store(folder: Path, tmp_path: Path) -> None:
    change_manifest(folder, lambda m: m.update(host={"cpu": "../../../x\x1b[31m"}, created="../../y"))
    path = add_run(load_run(folder), tmp_path / "store").path
    assert path.parent.parent == tmp_path / "store"
    assert path.name.startswith("undated-")


def test_history_is_filtered_and_sorted_oldest_first(tmp_path: Path) -> None:
    rows = history_rows(np.arange(12.0))
    write_history(tmp_path, rows.iloc[::-1])
    write_history(tmp_path, history_rows(np.zeros(2), cell="other", environment="elsewhere"))
    assert list(read_history(tmp_path, environment=ENVIRONMENT)["effect_pct"]) == list(range(12))
    assert len(read_history(tmp_path, cell="other")) == 2
    assert read_history(tmp_path, environment=ENVIRONMENT, cell="other").empty
    assert len(read_history(tmp_path)) == 14


def test_filter_is_a_value_and_never_a_query(tmp_path: Path) -> None:
    write_history(tmp_path, history_rows(np.zeros(2)))
    assert read_history(tmp_path, cell="' or 1=1 --").empty


def test_store_without_runs_says_how_to_add_one(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="history add RUN_DIR"):
        read_history(tmp_path / "none")


@pytest.mark.parametrize("content", [b"", b"PAR1 cut", b"not parquet at all"])
def test_damaged_file_is_one_clear_line(tmp_path: Path, content: bytes) -> None:
    write_history(tmp_path, history_rows(np.zeros(2)))
    (tmp_path / ENVIRONMENT / "x.parquet").write_bytes(content)
    with pytest.raises(RunFolderError, match="cannot be read") as refused:
        read_history(tmp_path)
    assert "\n" not in str(refused.value)


def test_file_of_another_shape_is_refused(folder: Path, tmp_path: Path) -> None:
    store = write_history(tmp_path / "store", history_rows(np.zeros(1)))
    pair = next((folder / "pairs").iterdir())
    pq.write_table(pq.read_table(pair), store / ENVIRONMENT / "pair.parquet")
    with pytest.raises(RunFolderError, match="cannot be read"):
        read_history(store)


def test_docs_list_every_column_with_unit_and_meaning() -> None:
    text = DOCS.read_text()
    for column in HISTORY:
        assert f"| `{column.name}` | {column.unit or '–'} | {column.meaning} |" in text
