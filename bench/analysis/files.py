"""Writes a derived file whole or not at all.

Which bytes, and under which name, is for the caller to say.
"""

from __future__ import annotations

from pathlib import Path

from bench.errors import RunFolderError


def replace_file(path: Path, content: bytes) -> Path:
    """`path` holds exactly `content` afterwards, or what it held before: written beside it, then moved over it.

    What lies at the name of the half-written file is removed and never followed. Raises RunFolderError.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.unlink(missing_ok=True)
        with temporary.open("xb") as file:
            file.write(content)
        temporary.replace(path)
    except OSError as error:
        raise RunFolderError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        if temporary.is_file() and not temporary.is_symlink():
            temporary.unlink()
    return path
