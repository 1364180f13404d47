from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.analysis.load import load_run
from bench.errors import EXIT_INPUT, RunFolderError
from bench.records import PAIRS
from tests.analysis.run_folder import Planned, change_manifest, change_pair, write_manifest, write_run

DICT, CANARY = "replay-steady-decode-n256--dict", "replay-steady-decode-n256--aa"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", (Planned(pairs=2), Planned(canary=True, candidate="list", pairs=1)))


def pair_files(folder: Path) -> list[Path]:
    return sorted((folder / "pairs").iterdir())


def in_manifest(change: Callable[[dict[str, Any]], None]) -> Callable[[Path], object]:
    return lambda folder: change_manifest(folder, change)


def in_pair(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Callable[[Path], object]:
    return lambda folder: change_pair(folder, change)


def replace_manifest(content: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / "manifest.json").write_bytes(content)


def link(name: str) -> Callable[[Path], object]:
    def make(folder: Path) -> None:
        path = folder / name
        path.rename(folder.parent / "elsewhere")
        path.symlink_to(folder.parent / "elsewhere")

    return make


def with_first(column: str, value: Any) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return lambda table: table.assign(**{column: [value, *table[column].iloc[1:]]})


def link_pair_file(folder: Path) -> None:
    link(f"pairs/{pair_files(folder)[0].name}")(folder)


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "folder gone": (shutil.rmtree, "no such folder"),
    "manifest gone": (lambda folder: (folder / "manifest.json").unlink(), "manifest.json: missing"),
    "manifest cut off": (replace_manifest(b'{"format": 1, "na'), "manifest.json: not valid JSON"),
    "manifest not text": (replace_manifest(b"\xff\xfe\x00"), "manifest.json: cannot be read"),
    "manifest nested without end": (replace_manifest(b"[" * 100_000), "manifest.json: cannot be read"),
    "manifest of something else": (replace_manifest(b"[1, 2]"), "not a manifest of this project"),
    "manifest is a folder": (
        lambda folder: ((folder / "manifest.json").unlink(), (folder / "manifest.json").mkdir()),
        "manifest.json: cannot be read",
    ),
    "newer format": (in_manifest(lambda m: m.update(format=99)), "format 99, this version reads up to 1"),
    "foreign key": (in_manifest(lambda m: m.update(surprise=1)), '"surprise": extra inputs'),
    "field gone": (in_manifest(lambda m: m.pop("host")), '"host": field required'),
    "margin not a number": (in_manifest(lambda m: m["config"]["verdict"].update(margin_pct="wide")), '"margin_pct"'),
    "no comparison": (in_manifest(lambda m: m.update(comparisons=[])), "lists no comparison"),
    "comparison twice": (in_manifest(lambda m: m["comparisons"].append(m["comparisons"][0])), "is listed twice"),
    "unknown tier": (in_manifest(lambda m: m["comparisons"][0].update(tier="moon")), "tier 'moon'"),
    "unknown comparison": (in_manifest(lambda m: m["comparisons"].pop(0)), "is not in manifest.json"),
    "trace outside": (in_manifest(lambda m: m["traces"][0].update(file="../../x")), "outside the run folder"),
    "trace at the root": (in_manifest(lambda m: m["traces"][0].update(file="/etc/passwd")), "outside the run folder"),
    "manifest linked": (link("manifest.json"), "manifest.json is a symbolic link"),
    "pairs linked": (link("pairs"), "pairs is a symbolic link"),
    "pair file linked": (link_pair_file, "is a symbolic link"),
    "pair file cut off": (lambda folder: pair_files(folder)[0].write_bytes(b"PAR1 cut"), "not a readable Parquet file"),
    "pair file empty": (lambda folder: pair_files(folder)[0].write_bytes(b""), "not a readable Parquet file"),
    "pair file is a folder": (lambda folder: (folder / "pairs" / "x.parquet").mkdir(), "not a plain file"),
    "pair file misnamed": (
        lambda folder: pair_files(folder)[0].rename(folder / "pairs" / "first.parquet"),
        "expected COMPARISON--pNNN.parquet",
    ),
    "pair file lost": (lambda folder: pair_files(folder)[0].unlink(), "counts 1 pairs of"),
    "column gone": (in_pair(lambda t: t.drop(columns="steal_ms")), "column 'steal_ms' is missing"),
    "column of the wrong type": (
        in_pair(lambda t: t.assign(cpu_ns=t["cpu_ns"].astype("float64"))),
        "column 'cpu_ns' has type float64, expected int64",
    ),
    "no rows": (in_pair(lambda t: t.iloc[:0]), "holds no slice"),
    "name and content differ": (in_pair(lambda t: t.assign(pair=5)), "differs from the file's name"),
    "third arm": (in_pair(with_first("arm", "other")), "arm 'other', expected baseline or candidate"),
    "arm gone": (in_pair(lambda t: t[t["arm"] == "baseline"]), "two arms differ"),
    "slice twice": (in_pair(lambda t: pd.concat([t, t])), "two arms differ"),
    "steps differ between arms": (in_pair(with_first("num_steps", 99)), "two arms differ"),
    "slice without steps": (in_pair(lambda t: t.assign(num_steps=0)), "a slice has no step"),
    "negative time": (in_pair(with_first("wall_ns", -1)), "'wall_ns' has a value that is not a duration"),
    "steal not a number": (in_pair(with_first("steal_ms", np.inf)), "'steal_ms' has a value that is not a duration"),
    "value gone": (in_pair(with_first("variant", None)), "column 'variant' has an empty value"),
    "steps damaged": (
        lambda folder: sorted((folder / "steps").iterdir())[0].write_bytes(b"?"),
        "not a readable Parquet file",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_run_is_refused_in_one_line(small: Path, damage: str) -> None:
    do_damage, expected = DAMAGES[damage]
    do_damage(small)
    with pytest.raises(RunFolderError) as refused:
        load_run(small)
    message = str(refused.value)
    assert expected in message
    assert "\n" not in message
    assert refused.value.exit_code == EXIT_INPUT


def test_sound_run_has_the_columns_of_the_contract(small: Path) -> None:
    run = load_run(small)
    slices = run.pairs_of(DICT)
    assert list(slices.columns) == [column.name for column in PAIRS]
    assert slices["pair"].nunique() == 2
    assert run.limits.margin == pytest.approx(0.015)


def test_slices_come_in_the_order_of_pair_arm_and_slice(small: Path) -> None:
    change_pair(small, lambda table: table.iloc[::-1])
    keys = load_run(small).pairs_of(DICT)[["pair", "arm", "slice"]]
    assert keys.equals(keys.sort_values(list(keys.columns), ignore_index=True))


def test_pairs_past_a_thousand_come_in_the_order_of_their_numbers(small: Path) -> None:
    for number in (1000, 999):
        first = pair_files(small)[-1]
        table = pq.read_table(first).to_pandas().assign(pair=number)
        table = pa.Table.from_pandas(table, preserve_index=False)
        pq.write_table(table, first.with_name(f"{DICT}--p{number}.parquet"))
    assert load_run(small).pairs_of(DICT)["pair"].unique().tolist() == [0, 1, 999, 1000]


def test_slices_are_held_up_to_a_number_of_rows(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = load_run(small)
    monkeypatch.setattr("bench.analysis.load.MAX_HELD_ROWS", len(run.pairs_of(DICT)))
    assert run.pairs_of(DICT) is run.pairs_of(DICT)
    assert set(run.pairs_of(CANARY)["comparison"]) == {CANARY}
    assert set(run.pairs_of(DICT)["comparison"]) == {DICT}
    assert len(run._slices) == 1


def test_columns_that_are_not_ours_are_ignored(small: Path) -> None:
    change_pair(small, lambda table: table.assign(extra=1))
    assert "extra" not in load_run(small).pairs_of(CANARY)


def test_steps_are_read_on_demand_with_the_columns_asked_for(small: Path) -> None:
    run = load_run(small)
    steps = run.steps_of(DICT, ["step", "arm"])
    assert set(steps.columns) == {"step", "arm"}
    assert len(steps) == 2 * 2 * 74


def test_run_without_steps_has_none(small: Path) -> None:
    shutil.rmtree(small / "steps")
    assert load_run(small).steps_of(DICT, ["step"]).empty


def test_unknown_comparison_is_refused(small: Path) -> None:
    with pytest.raises(RunFolderError, match="no comparison 'x'"):
        load_run(small).comparison("x")


def test_run_that_stopped_early_loads_and_says_so(tmp_path: Path) -> None:
    planned = (Planned(pairs=3, status="partial"), Planned(workload="preemption", pairs=0, status="planned"))
    folder = write_run(tmp_path / "run", planned, status="partial")
    assert load_run(folder).manifest.status == "partial"


def test_pair_written_after_the_manifest_counts(small: Path) -> None:
    change_manifest(small, lambda m: m["comparisons"][0].update(num_pairs=1, status="partial"))
    assert len(load_run(small).pairs_of(DICT)) == 2 * 2 * 12


def test_run_before_its_first_pair_loads_empty(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    write_manifest(folder, (Planned(pairs=0, status="planned"),), status="planned")
    assert load_run(folder).pairs_of(DICT).empty


def test_unfinished_files_are_not_read(small: Path) -> None:
    (small / "pairs" / ".replay-steady-decode-n256--dict--p007.parquet.part").write_bytes(b"half")
    assert load_run(small).pairs_of(DICT)["pair"].max() == 1


def test_file_written_with_large_strings_is_read(small: Path) -> None:
    file = pair_files(small)[0]
    table = pq.read_table(file)
    schema = table.schema.set(0, table.schema.field(0).with_type(pa.large_string()))
    pq.write_table(table.cast(schema), file)
    assert not load_run(small).pairs_of(CANARY).empty


def test_folder_reached_through_a_link_is_read(small: Path, tmp_path: Path) -> None:
    (tmp_path / "latest").symlink_to(small)
    assert load_run(tmp_path / "latest").path == small.resolve()
