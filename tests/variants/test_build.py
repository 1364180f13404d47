from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bench.errors import VariantError
from bench.variants import build as building
from bench.variants.source import installed_source


@pytest.fixture
def build_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(building.BUILD_VARIABLE, str(tmp_path))
    return tmp_path


def test_another_version_has_another_folder() -> None:
    source = installed_source()
    other = replace(source, version="9.9.9")
    changed = replace(source, texts={**source.texts, "scheduler.py": "x = 1\n"})
    assert len({building.build_folder(s) for s in (source, other, changed)}) == 3


def test_modules_of_one_variant_import_one_another() -> None:
    texts = building.generated_texts("mine", installed_source(), lambda text, file: text)
    assert "from bench.variants.built.mine.scheduler import Scheduler" in texts["async_scheduler.py"]
    assert "from vllm.v1.core.sched.scheduler import" not in "".join(texts.values())


def test_a_variant_is_written_once(build_root: Path) -> None:
    calls = []

    def rewrite(text: str, file: str) -> str:
        calls.append(file)
        return text

    first = building.build("mine", rewrite)
    num_calls = len(calls)
    assert building.build("mine", rewrite) == first
    assert len(calls) == num_calls > 0
    assert first.is_relative_to(build_root)


def test_a_variant_is_importable_though_an_import_failed_before_it_was_built(tmp_path: Path) -> None:
    code = (
        "import importlib\n"
        "from bench.variants.build import build\n"
        "try: importlib.import_module('bench.variants.built.mine.scheduler')\n"
        "except ImportError: print('not yet')\n"
        "build('mine', lambda text, file: 'x = 1')\n"
        "print(importlib.import_module('bench.variants.built.mine.scheduler').x)\n"
    )
    environment = {**os.environ, building.BUILD_VARIABLE: str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split("\n")[:2] == ["not yet", "1"], done.stderr


def test_a_rewrite_that_fails_leaves_nothing_behind(build_root: Path) -> None:
    def rewrite(text: str, file: str) -> str:
        raise VariantError("no")

    with pytest.raises(VariantError):
        building.build("mine", rewrite)
    assert not [*build_root.rglob("*.py")]


def test_a_module_that_cannot_be_imported_names_variant_and_reason() -> None:
    with pytest.raises(VariantError, match=r"variant none: bench\.variants\.built\.none\.scheduler cannot be imported"):
        building.import_class("none", "scheduler.py", "Scheduler")
