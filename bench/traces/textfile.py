"""Text files from outside, line by line in bounded memory, whatever they hold.

It knows no format; `bench.traces.files` and `bench.traces.importers` read the lines.
"""

from __future__ import annotations

import gzip
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from bench.errors import TraceError

MAX_LINE_BYTES = 10_000_000  # a request of ten million tokens in blocks of 16 still fits
MAX_BLANK_LINES = 100_000  # one after the other; more are a bomb that gzip packs into nothing
GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"


def open_regular(path: Path, advice: str) -> BinaryIO:
    """The file at `path`, open for reading; raises TraceError with `advice` where it is missing or no plain file."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would hang, a device might never end
            raise TraceError(f"trace {path}: is a folder or a device, expected a trace file")
        return path.open("rb")
    except FileNotFoundError:
        raise TraceError(f"trace {path}: no such file; {advice}") from None
    except (OSError, ValueError) as error:  # ValueError: a path that no system call takes
        reason = error.strerror if isinstance(error, OSError) else error
        raise TraceError(f"trace {path}: cannot be read ({reason})") from error


def unpacked(file: BinaryIO) -> BinaryIO:
    """`file`, unpacked while it is read where it begins as gzip does."""
    begins = file.read(len(GZIP))
    file.seek(0)
    return cast(BinaryIO, gzip.GzipFile(fileobj=file)) if begins == GZIP else file


def numbered_lines(file: BinaryIO, path: Path) -> Iterator[tuple[int, bytes, bool]]:
    """(line number from 1, text, whether the file ends in it without a newline) of each line that is not blank.

    A byte order mark is left out. Raises TraceError for a line that is too long and a file that cannot be read on.
    """
    number = blank = 0
    while raw := _next_line(file, path, number + 1):
        number += 1
        if number == 1:
            raw = raw.removeprefix(_BOM)
        if len(raw) > MAX_LINE_BYTES:
            raise TraceError(
                f"trace {path} line {number}: is longer than {MAX_LINE_BYTES // 1_000_000} MB; "
                "it is not a trace file, or lost its line ends"
            )
        if raw.strip():
            blank = 0
            yield number, raw.rstrip(b"\r\n"), not raw.endswith(b"\n")
        elif (blank := blank + 1) > MAX_BLANK_LINES:
            raise TraceError(f"trace {path} line {number}: follows {MAX_BLANK_LINES} blank lines; it is no trace file")


def _next_line(file: BinaryIO, path: Path, number: int) -> bytes:
    try:
        return file.readline(MAX_LINE_BYTES + 1)
    except EOFError:
        raise TraceError(f"trace {path} line {number}: the gzip file was cut here, fetch it again") from None
    except (zlib.error, gzip.BadGzipFile) as error:
        raise TraceError(f"trace {path} line {number}: is damaged inside gzip ({error}), fetch it again") from None
    except OSError as error:
        raise TraceError(f"trace {path} line {number}: cannot be read ({error.strerror})") from error
