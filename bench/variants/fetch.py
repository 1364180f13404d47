"""Fetches the scheduler sources of other vLLM versions as packages, by pip and from wherever pip is set up to look.

A package is some 300 MB; only the few scheduler modules of it are kept.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from bench.errors import HostError
from bench.variants.source import PACKAGE, PACKAGE_TO_0_8_0, SCHEDULER

TRIED_VERSIONS = ("0.8.0", "0.11.0", "0.20.2", "0.25.1", "0.31.0", "0.32.0", "0.33.0")
"""0.8.0 is what the idea was written against; the others lie on both sides of a change in how RUNNING is used."""

# Sources do not depend on the platform, but each version has wheels for some platform tags only.
_PLATFORMS = ("manylinux1_x86_64", "manylinux2014_x86_64", *(f"manylinux_2_{minor}_x86_64" for minor in (28, 31, 35)))
_PYTHON = "3.12"  # has wheels of every tried version

Fetch = Callable[[str, Path], Path]
"""(version, empty folder) to the wheel in that folder."""


def fetch_sources(versions: Sequence[str], folder: Path, fetch: Fetch | None = None) -> list[str]:
    """`folder/<version>/vllm/…` is there for each version; returns those that were fetched now.

    Raises HostError where one cannot be had; the others that were fetched stay.
    """
    missing = [version for version in versions if not (folder / version / "vllm").is_dir()]
    folder.mkdir(parents=True, exist_ok=True)
    for version in missing:
        with tempfile.TemporaryDirectory(prefix=f".{version}-", dir=folder) as scratch:
            wheels, kept = Path(scratch, "wheel"), Path(scratch, version)
            wheels.mkdir()
            keep_scheduler((fetch or download_wheel)(version, wheels), kept)
            shutil.rmtree(folder / version, ignore_errors=True)
            kept.rename(folder / version)
    return missing


def keep_scheduler(wheel: Path, folder: Path) -> None:
    """Unpack the scheduler modules of `wheel` into `folder`; raises HostError where it has none."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if _is_kept(PurePosixPath(name))]
        if not any(PurePosixPath(name).name == SCHEDULER for name in names):
            raise HostError(f"{wheel.name}: holds no {SCHEDULER} of vLLM's V1 engine")
        archive.extractall(folder, names)


def download_wheel(version: str, folder: Path) -> Path:
    """The wheel of vLLM `version`, which pip puts into `folder`; raises HostError where pip cannot."""
    platforms = [option for tag in _PLATFORMS for option in ("--platform", tag)]
    options = ["--no-deps", "--only-binary=:all:", "--python-version", _PYTHON, *platforms, "-d", str(folder)]
    run_pip(["download", *options, f"vllm=={version}"], f"vLLM {version}")
    return next(folder.glob("*.whl"))


def run_pip(arguments: Sequence[str], wanted: str, variables: Mapping[str, str] = MappingProxyType({})) -> None:
    """Run pip with `variables` on top of our environment; raises HostError with its last word where it fails."""
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()] or ["no output"]
        errors = [line for line in lines if re.match(r"(\w*Error|ERROR):", line)] or lines
        raise HostError(
            f"{wanted} could not be fetched: pip ended with {done.returncode} ({errors[-1][:160]}); "
            "a package index must be reachable from here"
        )


def _is_kept(path: PurePosixPath) -> bool:
    package = ".".join(path.parent.parts)
    return path.suffix == ".py" and (package == PACKAGE or (package == PACKAGE_TO_0_8_0 and path.name == SCHEDULER))
