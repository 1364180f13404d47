from __future__ import annotations

from pathlib import Path

import pytest

from bench.analysis.files import replace_file
from bench.errors import RunFolderError


def test_file_holds_exactly_the_new_content_and_nothing_lies_beside_it(tmp_path: Path) -> None:
    path = replace_file(tmp_path / "made" / "a.txt", b"long content")
    replace_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert [entry.name for entry in path.parent.iterdir()] == ["a.txt"]


def test_failure_keeps_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = replace_file(tmp_path / "a.txt", b"old")

    def fail(self: Path, target: Path) -> Path:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(RunFolderError, match=r"a\.txt: cannot be written \(disk full\)"):
        replace_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_link_at_the_name_of_the_half_written_file_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"precious")
    (tmp_path / ".a.txt.tmp").symlink_to(outside)
    replace_file(tmp_path / "a.txt", b"new")
    assert outside.read_bytes() == b"precious"
    assert (tmp_path / "a.txt").read_bytes() == b"new"


def test_folder_in_the_place_of_the_file_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt" / "below").mkdir(parents=True)
    with pytest.raises(RunFolderError, match="cannot be written"):
        replace_file(tmp_path / "a.txt", b"new")
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]
