from __future__ import annotations

from pathlib import Path

import pytest

from bench.analysis.files import replace_file


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
    with pytest.raises(OSError, match="disk full"):
        replace_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]
