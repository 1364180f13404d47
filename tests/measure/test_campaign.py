from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from bench.errors import RunFolderError
from bench.measure.folder import read_manifest
from bench.measure.opening import open_campaign
from tests.measure.conftest import Make


def test_a_finished_run_holds_what_the_contract_names(finished_run: Path) -> None:
    manifest = read_manifest(finished_run)
    assert manifest.status == "measured"
    assert [c.id for c in manifest.comparisons] == ["replay-single-abort-n16--dict", "replay-single-abort-n16--aa"]
    for comparison in manifest.comparisons:
        assert comparison.status == "measured"
        assert comparison.num_pairs == 2
        assert comparison.parity is not None
        assert comparison.parity.alike
        for pair in range(2):
            for folder in ("pairs", "steps"):
                assert (finished_run / folder / f"{comparison.id}--p{pair:03d}.parquet").is_file()
    assert (finished_run / "traces" / "single-abort-n16.jsonl").is_file()
    assert {v.spec for v in manifest.variants} == {"list", "dict"}
    assert len(manifest.hash_seeds) == 1


def test_the_manifest_names_no_place_of_this_machine(finished_run: Path) -> None:
    text = (finished_run / "manifest.json").read_text()
    assert str(Path.cwd()) not in text
    assert str(Path.home()) not in text
    assert json.loads(text)["engine"]["replay-single-abort-n16"]["model"] == "tiny"


def test_a_finished_run_has_nothing_left_to_resume(finished_run: Path, tmp_path: Path, small_experiment: Make) -> None:
    copy = shutil.copytree(finished_run, tmp_path / "copy")
    before = {path: path.stat().st_mtime_ns for path in copy.rglob("*.parquet")}
    manifest = open_campaign(small_experiment(), copy, resume=True).measure()
    assert manifest.status == "measured"
    assert {path: path.stat().st_mtime_ns for path in copy.rglob("*.parquet")} == before


def test_resuming_measures_only_the_pair_that_is_missing(
    finished_run: Path, tmp_path: Path, small_experiment: Make
) -> None:
    copy = shutil.copytree(finished_run, tmp_path / "copy")
    missing = copy / "pairs" / "replay-single-abort-n16--dict--p001.parquet"
    missing.unlink()
    (trace,) = (copy / "traces").iterdir()
    frozen = trace.read_bytes()
    trace.unlink()
    (copy / "pairs" / ".half.parquet.part").write_text("half")
    (copy / "traces" / f".{trace.name}.7.tmp").write_text("half")
    before = {path: path.stat().st_mtime_ns for path in (copy / "pairs").glob("*.parquet")}
    manifest = open_campaign(small_experiment(), copy, resume=True).measure()
    assert manifest.status == "measured"
    assert missing.is_file()
    assert trace.read_bytes() == frozen
    assert not [*copy.rglob(".*")]
    assert {path: path.stat().st_mtime_ns for path in before} == before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 2}, "config differs: seed was 1 and is 2"),
        ({"candidates": ["list"]}, "config differs: candidates"),
        ({"measure": {"pairs": 3, "zygotes": 1, "slice_ms": 0.5, "warmup_steps": 4}}, "config differs: measure"),
    ],
)
def test_another_experiment_is_not_resumed(
    finished_run: Path, small_experiment: Make, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(RunFolderError, match=message):
        open_campaign(small_experiment(**changes), finished_run, resume=True)


def test_another_hosts_run_is_not_resumed(finished_run: Path, tmp_path: Path, small_experiment: Make) -> None:
    copy = shutil.copytree(finished_run, tmp_path / "copy")
    path = copy / "manifest.json"
    table = json.loads(path.read_text())
    table["host"]["cpu"] = "another"
    path.write_text(json.dumps(table))
    with pytest.raises(RunFolderError, match="cannot be resumed on this host, cpu was 'another'"):
        open_campaign(small_experiment(), copy, resume=True)


def test_a_folder_that_holds_something_is_not_written_into(
    finished_run: Path, tmp_path: Path, small_experiment: Make
) -> None:
    with pytest.raises(RunFolderError, match="holds a run already"):
        open_campaign(small_experiment(), finished_run, resume=False)
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(RunFolderError, match="exists and is not empty"):
        open_campaign(small_experiment(), tmp_path, resume=False)
    with pytest.raises(RunFolderError, match="exists and is not empty"):
        open_campaign(small_experiment(), tmp_path / "mine.txt", resume=False)


def test_resuming_what_is_no_run_is_refused(tmp_path: Path, small_experiment: Make) -> None:
    with pytest.raises(RunFolderError, match=r"no run was begun in it; leave --resume out"):
        open_campaign(small_experiment(), tmp_path, resume=True)
