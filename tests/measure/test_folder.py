from __future__ import annotations

import errno
import os
from pathlib import Path

import pandas as pd
import pytest

from bench.errors import RunFolderError
from bench.manifest import Manifest
from bench.measure.folder import create_folder, read_manifest, write_whole
from bench.records import PAIRS, STEPS


def test_tables_have_exactly_the_columns_of_the_contract(finished_run: Path) -> None:
    for folder, columns in (("steps", STEPS), ("pairs", PAIRS)):
        for path in (finished_run / folder).glob("*.parquet"):
            assert [*pd.read_parquet(path).columns] == [column.name for column in columns]


def test_slices_add_up_to_their_steps(finished_run: Path) -> None:
    comparison = "replay-single-abort-n16--dict--p000.parquet"
    steps = pd.read_parquet(finished_run / "steps" / comparison)
    slices = pd.read_parquet(finished_run / "pairs" / comparison)
    steady = steps[steps["phase"] == "steady"]
    summed = steady.groupby(["arm", "slice"])[["cpu_ns", "schedule_ns", "update_ns", "finish_ns", "step_ns"]].sum()
    told = slices.set_index(["arm", "slice"]).sort_index()
    pd.testing.assert_frame_equal(summed, told[summed.columns])
    assert (told["wall_ns"] == told["schedule_ns"] + told["update_ns"] + told["finish_ns"]).all()
    assert (steady.groupby(["arm", "slice"]).size() == told["num_steps"]).all()


def test_both_arms_ran_the_same_steps_and_one_of_them_first(finished_run: Path) -> None:
    for path in (finished_run / "pairs").glob("*.parquet"):
        slices = pd.read_parquet(path)
        by_slice = slices.groupby("slice")
        assert (by_slice["first_step"].nunique() == 1).all()
        assert (by_slice["position"].sum() == 1).all()
        assert set(slices["position"]) == {0, 1}


def test_both_arms_did_the_same_in_every_step(finished_run: Path) -> None:
    counted = ["step", "running", "waiting", "scheduled_tokens", "preempted", "finished", "aborted"]
    for path in (finished_run / "steps").glob("*.parquet"):
        steps = pd.read_parquet(path)
        baseline, candidate = (
            steps[steps["arm"] == arm][counted].reset_index(drop=True) for arm in ("baseline", "candidate")
        )
        pd.testing.assert_frame_equal(baseline, candidate)
        assert baseline["aborted"].sum() > 0


def test_only_steady_steps_belong_to_a_slice(finished_run: Path) -> None:
    for path in (finished_run / "steps").glob("*.parquet"):
        steps = pd.read_parquet(path)
        assert ((steps["slice"] >= 0) == (steps["phase"] == "steady")).all()
        assert set(steps["phase"]) == {"admission", "warmup", "steady"}


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def fail(beside: Path) -> None:
        beside.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(RunFolderError, match="cannot be written \\(No space left on device\\)"):
        write_whole(path, fail)
    assert path.read_text() == "old"
    assert [*tmp_path.iterdir()] == [path]


def test_a_folder_that_cannot_be_made_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match="cannot be made"):
        create_folder(tmp_path / "file" / "run", manifest())


@pytest.mark.parametrize(
    ("code", "reason"), [(errno.EROFS, "Read-only file system"), (errno.EACCES, "Permission denied")]
)
def test_a_place_that_takes_no_folder_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, reason: str
) -> None:
    def refuse(self: Path, *args: object, **kwargs: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(RunFolderError) as caught:
        create_folder(tmp_path / "run", manifest())
    assert str(caught.value) == f"run folder {tmp_path / 'run'}: cannot be made ({reason})"
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    "left", [[], ["pairs/"], ["traces/", "pairs/", ".manifest.json.part"]], ids=["the folder", "its parts", "half"]
)
def test_a_run_killed_before_its_manifest_is_whole_leaves_nothing_in_the_way(tmp_path: Path, left: list[str]) -> None:
    for name in left:
        (tmp_path / name).mkdir() if name.endswith("/") else (tmp_path / name).write_text('{"name": ')
    with pytest.raises(RunFolderError, match="no run was begun in it; leave --resume out"):
        read_manifest(tmp_path)
    create_folder(tmp_path, manifest())
    assert read_manifest(tmp_path) == manifest()


@pytest.mark.parametrize("name", ["notes.txt", "notes/", "pairs/mine.parquet", ".hidden"])
def test_a_folder_that_holds_anything_else_is_left_as_it_is(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.mkdir() if name.endswith("/") else path.write_text("mine")
    with pytest.raises(RunFolderError, match="exists and is not empty; choose another --out"):
        create_folder(tmp_path, manifest())
    assert {*tmp_path.rglob("*")} <= {path, path.parent}


def manifest() -> Manifest:
    return Manifest(
        name="begun",
        created="2026-11-30T07:00:00+00:00",
        config={},
        versions={},
        host={},
        hash_seeds=(7,),
        comparisons=(),
    )


def test_a_damaged_manifest_is_one_clear_line(tmp_path: Path) -> None:
    for text in ("", "{", "[]", '{"format": 1}'):
        (tmp_path / "manifest.json").write_text(text)
        with pytest.raises(RunFolderError) as caught:
            read_manifest(tmp_path)
        assert "\n" not in str(caught.value)
