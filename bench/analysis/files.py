"""Writes a derived file whole or not at all.

Which bytes, and under which name, is for the caller to say.
"""

from __future__ import annotations

from pathlib import Path


def replace_file(path: Path, content: bytes) -> Path:
    """`path` holds exactly `content` afterwards, or what it held before: written beside it, then moved over it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return path
