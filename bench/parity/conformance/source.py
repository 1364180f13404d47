"""vLLM's tests as a folder that can be run: taken from a source tree or a source release, without vLLM's package.

A tree's own `vllm/` must not lie beside the tests, since it would be imported in place of the installed one.
"""

from __future__ import annotations

import hashlib
import shutil
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from bench.errors import HostError, InputError
from bench.variants.build import build_root
from bench.variants.source import installed_version

NEEDED = PurePosixPath("tests/v1/core/test_scheduler.py")
# Without `tests/conftest.py`: it imports what serves other tests, and packages that are not here.
_KEPT = ("tests/v1", "tests/__init__.py", "tests/utils.py")
_INI = "[pytest]\nmarkers =\n    cpu_test\n    skip_global_cleanup\n    slow_test\n    optional\n"


def folder_of_tests(vllm_source: Path) -> Path:
    """A folder of ours that holds the `tests` of a vLLM tree, of a release, or of the one release in a folder.

    Raises InputError where there is no such thing, or no tests of the scheduler in it.
    """
    if not vllm_source.exists():
        raise InputError(f"{vllm_source}: no such file or folder; expected a vLLM source tree or source release")
    if vllm_source.is_dir() and not (vllm_source / NEEDED).is_file():
        vllm_source = _release_in(vllm_source)
    key = hashlib.sha256(f"{vllm_source.resolve()} {_stamp(vllm_source)}".encode()).hexdigest()[:12]
    folder = build_root().resolve() / "conformance" / key
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".", dir=folder.parent) as scratch:
            whole = Path(scratch, key)
            whole.mkdir()
            (_copy_tree if vllm_source.is_dir() else _unpack)(vllm_source, whole)
            (whole / "pytest.ini").write_text(_INI, encoding="utf-8")  # without one, pytest reads that of our checkout
            whole.rename(folder)
    return folder


def release_name(version: str) -> str:
    """The file name of vLLM's source release."""
    return f"vllm-{version}.tar.gz"


def _release_in(folder: Path) -> Path:
    try:
        release = folder / release_name(installed_version())
    except HostError as error:
        raise InputError(f"{folder}: not a vLLM source tree, and {error}") from error
    if not release.is_file():
        raise InputError(f"{folder}: neither a vLLM source tree ({NEEDED} is missing) nor holds {release.name}")
    return release


def _stamp(source: Path) -> str:
    """Changes with the tests: their names, sizes and times."""
    files = [source] if source.is_file() else sorted((source / "tests" / "v1").rglob("*.py"))
    return " ".join(f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in files)


def _copy_tree(tree: Path, folder: Path) -> None:
    for kept in _KEPT:
        found = tree / kept
        if found.is_dir():
            shutil.copytree(found, folder / kept, ignore=shutil.ignore_patterns("__pycache__"))
        elif found.is_file():
            (folder / kept).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(found, folder / kept)


def _unpack(release: Path, folder: Path) -> None:
    try:
        with tarfile.open(release) as archive:
            members = [*_kept_members(archive)]
            if not any(member.name == str(NEEDED) for member in members):
                raise InputError(f"{release}: no {NEEDED} in it; expected a source release of vLLM")
            archive.extractall(folder, members, filter="data")
    except (tarfile.TarError, EOFError, OSError) as error:
        reason = " ".join(str(error).split())[:100]
        raise InputError(f"{release}: not a source release of vLLM (.tar.gz); tarfile says: {reason}") from error


def _kept_members(archive: tarfile.TarFile) -> Iterable[tarfile.TarInfo]:
    """The members below the one top folder that are kept, named without it."""
    for member in archive.getmembers():
        path = PurePosixPath(member.name)
        below = PurePosixPath(*path.parts[1:])
        if member.isfile() and any(below == kept or kept in below.parents for kept in map(PurePosixPath, _KEPT)):
            yield member.replace(name=str(below))
