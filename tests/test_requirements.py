"""The lock that `make setup` installs says what `requirements/cpu.txt` says, with a hash for every package."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

REQUIREMENTS = Path(__file__).resolve().parents[1] / "requirements"
PIN = re.compile(r"^([a-z0-9._-]+==[^\s\\]+)", re.MULTILINE | re.IGNORECASE)


def pins(name: str) -> list[str]:
    return sorted(PIN.findall((REQUIREMENTS / name).read_text()))


def test_the_lock_has_exactly_the_pinned_versions() -> None:
    assert pins("cpu.lock") == pins("cpu.txt")
    assert len(pins("cpu.txt")) > 100


@pytest.mark.parametrize("name", ["cpu.lock", "uv.lock"])
def test_each_package_of_a_lock_has_a_hash(name: str) -> None:
    text = (REQUIREMENTS / name).read_text()
    packages = re.split(PIN, text)[2::2]
    assert packages
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}\b", package) for package in packages)


@pytest.mark.parametrize("path", sorted(REQUIREMENTS.iterdir()), ids=lambda path: path.name)
def test_no_file_names_an_index(path: Path) -> None:
    if path.is_file():
        assert "://" not in path.read_text()


def test_what_installs_takes_only_hashed_files_from_the_lock() -> None:
    text = (REQUIREMENTS / "install.py").read_text()
    assert 'install("--no-deps", HASHED, "-r", str(HERE / "cpu.lock"))' in text
    assert 'pip(HASHED, "-r", str(HERE / "uv.lock"))' in text
