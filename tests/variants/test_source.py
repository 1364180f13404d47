from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from bench.errors import HostError, VariantError
from bench.variants import source


def test_the_installed_source_is_found_without_importing_vllm() -> None:
    found = source.installed_source()
    assert found.version == source.installed_version()
    assert {"scheduler.py", "async_scheduler.py"} <= set(found.texts)


def test_the_digest_changes_with_any_byte() -> None:
    one = source.SchedulerSource("1", {"scheduler.py": "a"})
    assert one.digest != source.SchedulerSource("1", {"scheduler.py": "b"}).digest
    assert one.digest != source.SchedulerSource("2", {"scheduler.py": "a"}).digest
    assert source.digest_of({"a": "bc"}) != source.digest_of({"ab": "c"})


def test_no_vllm_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    with pytest.raises(HostError, match="vLLM is not installed here; run `make setup`"):
        source.installed_version()


def test_a_tree_without_the_scheduler_names_the_file_it_lacks(tmp_path: Path) -> None:
    with pytest.raises(VariantError, match=r"scheduler\.py: no such file"):
        source.read_source(tmp_path, "0.32.0")


@pytest.mark.parametrize("package", [source.PACKAGE, source.PACKAGE_TO_0_8_0])
def test_the_scheduler_is_found_where_its_version_keeps_it(package: str, tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*package.split("."))
    folder.mkdir(parents=True)
    (folder / "scheduler.py").write_text("x = 1\n")
    (folder / "other.py").write_text("y = 1\n")
    found = source.read_source(tmp_path, "1")
    assert (found.package, found.texts) == (package, {"scheduler.py": "x = 1\n"})
    assert (tmp_path / found.path_of("scheduler.py")).is_file()
