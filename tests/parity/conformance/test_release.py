from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from bench.errors import HostError
from bench.parity.conformance import release
from bench.parity.conformance.source import release_name
from bench.variants.source import installed_version


def test_what_is_there_is_not_fetched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "run_pip", lambda *arguments: pytest.fail("fetched"))
    there = tmp_path / release_name(installed_version())
    there.write_bytes(b"x")
    assert release.fetch_release(tmp_path) == there


def test_the_release_of_the_installed_version_is_asked_for_without_installing_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[Sequence[str], Mapping[str, str]]] = []

    def run_pip(arguments: Sequence[str], wanted: str, variables: Mapping[str, str] | None = None) -> None:
        calls.append((arguments, variables or {}))
        if arguments[0] == "download":
            (tmp_path / release_name(installed_version())).write_bytes(b"x")

    monkeypatch.setattr(release, "run_pip", run_pip)
    release.fetch_release(tmp_path)
    (install, _), (download, variables) = calls
    assert install[install.index("--target") + 1] == variables["PYTHONPATH"] == str(tmp_path / "setup-needs")
    assert download[-1] == f"vllm=={installed_version()}"
    assert "--no-deps" in download


def test_a_release_that_did_not_come_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "run_pip", lambda *arguments: None)
    with pytest.raises(HostError, match="there is no vllm-"):
        release.fetch_release(tmp_path)
