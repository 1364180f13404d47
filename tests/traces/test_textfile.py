from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest

from bench.errors import TraceError
from bench.traces.textfile import MAX_BLANK_LINES, numbered_lines, open_regular, unpacked

PATH = Path("t.txt")


def lines(raw: bytes) -> list[tuple[int, bytes, bool]]:
    return list(numbered_lines(unpacked(io.BytesIO(raw)), PATH))


def test_lines_have_their_numbers_and_no_ends() -> None:
    assert lines(b"\xef\xbb\xbfa\r\n\n  \nb\nc") == [(1, b"a", False), (4, b"b", False), (5, b"c", True)]


def test_packed_lines_are_the_same_lines() -> None:
    assert lines(gzip.compress(b"a\nb")) == lines(b"a\nb")


def test_blank_lines_without_end_are_given_up() -> None:
    assert lines(b"a" + b"\n" * MAX_BLANK_LINES + b"\nb")[-1] == (MAX_BLANK_LINES + 2, b"b", True)
    with pytest.raises(TraceError, match=f"line {MAX_BLANK_LINES + 2}: follows {MAX_BLANK_LINES} blank lines"):
        lines(b"a" + b"\n" * (MAX_BLANK_LINES + 1) + b"\nb")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (gzip.compress(b"a" * 99, mtime=0)[:-9], "line 1: the gzip file was cut here, fetch it again"),
        (b"\x1f\x8b\x08" + bytes(30), r"line 1: (is damaged inside gzip|the gzip file was cut)"),
        (b"\x1f\x8b\x07" + bytes(30), "line 1: is damaged inside gzip"),
    ],
    ids=["cut", "damaged inside", "no such method"],
)
def test_broken_gzip_is_told(raw: bytes, expected: str) -> None:
    with pytest.raises(TraceError, match=expected):
        lines(raw)


def test_missing_file_is_told_with_the_advice() -> None:
    with pytest.raises(TraceError, match="no such file; look again"):
        open_regular(Path("/none/t.txt"), "look again")
