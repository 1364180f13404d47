"""What a run folder must be before anything in it is believed: plain files, not too many or large, bounded JSON.

A run folder may come from a job that nobody trusts. What its files mean is checked in `bench.analysis.load`.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
from jsonschema.exceptions import best_match

from bench.errors import RunFolderError
from bench.manifest import Manifest
from bench.records import Column

MAX_INTEGER = 2**53  # every reader of JSON holds it exactly
MAX_TEXT = 20_000  # characters of one string; a worker's last words are shorter
MAX_NAME_BYTES = 1_000  # of a name in a table's cell


@dataclass(frozen=True)
class Bounds:
    """The largest run folder that is read; a file past a bound is refused, never read in part."""

    files: int
    file_bytes: int
    total_bytes: int
    manifest_bytes: int
    comparisons: int
    rows_a_file: int
    total_rows: int


GIB, MIB = 2**30, 2**20
OWN = Bounds(1_000_000, 4 * GIB, 256 * GIB, 64 * MIB, 50_000, 20_000_000, 200_000_000)
UNTRUSTED = Bounds(40_000, 64 * MIB, 2 * GIB, 16 * MIB, 1_000, 200_000, 2_000_000)


def admit_folder(folder: Path, bounds: Bounds) -> None:
    """Every entry below `folder` is a plain file or a folder within `bounds`; RunFolderError names the first other."""
    count = total = 0
    for parent, folders, files in os.walk(folder, onerror=_raise):
        for name in sorted((*folders, *files)):
            path = Path(parent, name)
            status = path.lstat()
            where = f"run {folder}: {path.relative_to(folder)}"
            if stat.S_ISLNK(status.st_mode):
                raise RunFolderError(f"{where} is a symbolic link; a run folder holds its own files")
            if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
                raise RunFolderError(f"{where} is not a plain file; a run folder holds files and folders only")
            if status.st_size > bounds.file_bytes:
                raise RunFolderError(f"{where} has {status.st_size} bytes, expected at most {bounds.file_bytes}")
            count, total = count + 1, total + status.st_size
            if count > bounds.files or total > bounds.total_bytes:
                limits = f"{bounds.files} files and {bounds.total_bytes} bytes"
                raise RunFolderError(f"run {folder}: larger than the {limits} that are read")


def _raise(error: OSError) -> None:
    raise RunFolderError(f"{error.filename}: cannot be read ({error.strerror})") from error


def read_json(file: Path, bounds: Bounds) -> Any:
    """The JSON in `file`; raises RunFolderError for one too large, cut off, nested without end, or not Unicode."""
    try:
        if not file.is_file() and file.exists():
            raise RunFolderError(f"{file}: cannot be read (not a plain file)")
        if file.stat().st_size > bounds.manifest_bytes:
            raise RunFolderError(f"{file}: {file.stat().st_size} bytes, expected at most {bounds.manifest_bytes}")
        content = json.loads(file.read_text(encoding="utf-8"), parse_constant=_no_constant)
        json.dumps(content, ensure_ascii=False).encode()
    except FileNotFoundError:
        raise RunFolderError(f"{file}: missing; a run folder has one from its first moment") from None
    except (OSError, UnicodeError, RecursionError) as error:
        raise RunFolderError(f"{file}: cannot be read ({one_line(error)})") from error
    except ValueError as error:  # JSONDecodeError is one, and so is an integer of more digits than Python converts
        raise RunFolderError(f"{file}: not valid JSON ({one_line(error)})") from error
    return content


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def admit_manifest(file: Path, content: Any, bounds: Bounds) -> None:
    """`content` has the types of a manifest, its numbers and texts within what the analysis can hold."""
    problem = best_match(_validator().iter_errors(content))
    if problem is not None:
        where = ".".join(str(part) for part in problem.absolute_path) or "manifest"
        raise RunFolderError(f'{file}: "{where[:100]}": {_problem(problem)}')
    found = len(content["comparisons"])
    if found > bounds.comparisons:
        raise RunFolderError(f"{file}: {found} comparisons, expected at most {bounds.comparisons}")


def _problem(problem: jsonschema.ValidationError) -> str:
    if problem.validator in ("maxLength", "maximum", "minimum"):
        return f"past the {problem.validator} of {problem.validator_value}"
    if problem.validator == "required":
        return "field required"
    message = one_line(Exception(problem.message))
    return "extra inputs are not permitted" if problem.validator == "additionalProperties" else message[:200]


@lru_cache(maxsize=1)
def _validator() -> Any:
    schema = _bounded(Manifest.model_json_schema())
    return jsonschema.Draft202012Validator(schema)


def _bounded(schema: Any) -> Any:
    """`schema` with a bound on every text and integer, and on what free-form parts may hold."""
    if isinstance(schema, list):
        return [_bounded(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _bounded(value) for key, value in schema.items()}
    if made.get("type") == "string":
        made.setdefault("maxLength", MAX_TEXT)
    if made.get("type") == "integer":
        made |= {"minimum": -MAX_INTEGER, "maximum": MAX_INTEGER}
    if made.get("additionalProperties") is True:
        made["additionalProperties"] = _FREE
    return made


_FREE = {
    "anyOf": [
        {"type": ["boolean", "null", "object", "array"]},
        {"type": "string", "maxLength": MAX_TEXT},
        {"type": "number", "minimum": -1e300, "maximum": 1e300},
    ]
}


def read_table(file: Path, columns: Sequence[Column], bounds: Bounds) -> pa.Table:
    """The given columns of a Parquet file, names not yet spelled out in every row.

    A few bytes can stand for gigabytes in it, so rows are counted before and names measured after reading.
    """
    names = [column.name for column in columns]
    texts = [column.name for column in columns if column.type == "string"]
    try:
        with pq.ParquetFile(file, read_dictionary=texts) as parquet:
            rows, size = parquet.metadata.num_rows, _plain_bytes(parquet)
            if rows > bounds.rows_a_file or size > 64 * max(bounds.rows_a_file, 1) * len(columns):
                raise RunFolderError(f"{file}: {rows} rows, {size} bytes unpacked; larger than what is read")
            table = parquet.read(columns=names, use_threads=False)
    except (OSError, pa.ArrowException, MemoryError) as error:
        raise RunFolderError(f"{file}: not a readable Parquet file ({one_line(error)})") from error
    for name in texts:
        _admit_names(file, name, table[name])
    return table


def _plain_bytes(parquet: pq.ParquetFile) -> int:
    return sum(parquet.metadata.row_group(group).total_byte_size for group in range(parquet.metadata.num_row_groups))


def _admit_names(file: Path, column: str, values: pa.ChunkedArray) -> None:
    for chunk in values.chunks:
        names = chunk.dictionary if isinstance(chunk, pa.DictionaryArray) else chunk
        longest = max((len(one.as_buffer()) for one in names if one.is_valid), default=0)
        if longest > MAX_NAME_BYTES:
            raise RunFolderError(f"{file}: column {column!r} has a name of {longest} bytes, at most {MAX_NAME_BYTES}")


def one_line(error: Exception) -> str:
    """What an error says, on one line that a terminal shows as it is."""
    return visible(" ".join(str(error).split()))[:200]


def visible(text: str) -> str:
    """`text` with every character that a terminal might act on, or cannot show, as a question mark."""
    return "".join(character if character.isprintable() else "?" for character in text)
