from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench.errors import HostError
from bench.variants import fetch


def wheel_of(*names: str) -> fetch.Fetch:
    """What stands in for pip: writes a wheel with files of these names."""

    def make(version: str, folder: Path) -> Path:
        path = folder / f"vllm-{version}-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(name, f"# {version} {name}\n")
        return path

    return make


WHEEL = wheel_of(
    "vllm/__init__.py", "vllm/v1/core/sched/scheduler.py", "vllm/v1/core/sched/x.so", "vllm/v1/core/block_pool.py"
)
OLD_WHEEL = wheel_of("vllm/v1/core/scheduler.py", "vllm/v1/core/scheduler_output.py", "vllm/core/scheduler.py")


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_only_the_scheduler_modules_are_kept(tmp_path: Path) -> None:
    assert fetch.fetch_sources(["1.0"], tmp_path, WHEEL) == ["1.0"]
    assert files_in(tmp_path) == ["1.0/vllm/v1/core/sched/scheduler.py"]


def test_the_module_of_0_8_0_is_kept_too(tmp_path: Path) -> None:
    fetch.fetch_sources(["0.8.0"], tmp_path, OLD_WHEEL)
    assert files_in(tmp_path) == ["0.8.0/vllm/v1/core/scheduler.py"]


def test_what_is_there_is_not_fetched_again(tmp_path: Path) -> None:
    fetch.fetch_sources(["1.0"], tmp_path, WHEEL)
    (tmp_path / "1.0" / "vllm" / "mine.py").write_text("")
    assert fetch.fetch_sources(["1.0", "2.0"], tmp_path, WHEEL) == ["2.0"]
    assert "1.0/vllm/mine.py" in files_in(tmp_path)


def test_a_wheel_without_the_scheduler_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(HostError, match=r"vllm-1\.0-py3-none-any\.whl: holds no scheduler\.py"):
        fetch.fetch_sources(["1.0"], tmp_path, wheel_of("vllm/core/scheduler.py"))
    assert [*tmp_path.iterdir()] == []


def test_without_network_the_error_names_the_version_and_pips_last_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = []

    def run(command: list[str], **options: object) -> SimpleNamespace:
        commands.append(command)
        return SimpleNamespace(returncode=1, stderr="WARNING: retrying\nERROR: No matching distribution\n")

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(HostError) as caught:
        fetch.fetch_sources(["9.9"], tmp_path)
    assert str(caught.value).startswith("vLLM 9.9 could not be fetched: pip ended with 1 (ERROR: No matching")
    assert "\n" not in str(caught.value)
    assert "vllm==9.9" in commands[0]
    assert [*tmp_path.iterdir()] == []
