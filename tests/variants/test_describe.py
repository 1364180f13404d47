from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.cli import cli
from bench.errors import VariantError
from bench.variants.build import build_root, generated_texts
from bench.variants.describe import build_all, describe_variants, diff_of
from bench.variants.fetch import TRIED_VERSIONS
from bench.variants.running_as_dict import rewrite
from bench.variants.source import (
    PACKAGE,
    PACKAGE_TO_0_8_0,
    SchedulerSource,
    installed_root,
    installed_source,
    read_source,
)

SOURCE_OF_ANOTHER_VLLM = """import time


class Scheduler:
    def __init__(self) -> None:
        self.running: list[Request] = []

    def head(self) -> Request:
        return self.running[0]
"""


def apply_patch(diff: str, root: Path) -> None:
    applied = subprocess.run(
        ["patch", "-p1", "--fuzz=0"], input=diff, cwd=root, text=True, capture_output=True, check=False
    )
    assert applied.returncode == 0, applied.stdout
    assert "offset" not in applied.stdout


def generated_with_vllms_imports(source: SchedulerSource) -> dict[str, str]:
    """The generated modules of the dict variant, importing vLLM's own modules again in place of one another."""
    texts = generated_texts("dict", source, rewrite)
    for file, text in texts.items():
        texts[file] = text.replace("bench.variants.built.dict.", f"{source.package}.")
    return texts


def test_the_baseline_differs_by_nothing() -> None:
    assert diff_of("list") == ""


@pytest.mark.skipif(shutil.which("patch") is None, reason="the `patch` tool is not installed")
def test_the_printed_diff_applies_with_patch_p1_and_gives_the_generated_code(tmp_path: Path) -> None:
    folder = Path(*PACKAGE.split("."))
    shutil.copytree(installed_root() / folder, tmp_path / folder)
    apply_patch(diff_of("dict"), tmp_path)
    assert read_source(tmp_path, "patched").texts == generated_with_vllms_imports(installed_source())


@pytest.mark.skipif(shutil.which("patch") is None, reason="the `patch` tool is not installed")
@pytest.mark.parametrize("package", [PACKAGE, PACKAGE_TO_0_8_0])
def test_the_diff_against_another_tree_applies_there_and_gives_its_generated_code(package: str, tmp_path: Path) -> None:
    before = SOURCE_OF_ANOTHER_VLLM
    folder = tmp_path.joinpath(*package.split("."))
    folder.mkdir(parents=True)
    (folder / "scheduler.py").write_text(before)
    source = read_source(tmp_path, "other")
    diff = diff_of("dict", tmp_path)
    assert diff.startswith(f"--- a/{package.replace('.', '/')}/scheduler.py\n")
    apply_patch(diff, tmp_path)
    after = (folder / "scheduler.py").read_text()
    assert after != before
    assert {"scheduler.py": after} == generated_with_vllms_imports(source)


@pytest.mark.skipif(shutil.which("patch") is None, reason="the `patch` tool is not installed")
@pytest.mark.parametrize("version", [TRIED_VERSIONS[0], TRIED_VERSIONS[-1]])
def test_the_diff_against_the_oldest_and_the_newest_fetched_vllm_applies_there(version: str, tmp_path: Path) -> None:
    root = build_root() / "sources" / version
    if not root.is_dir():
        pytest.skip(f"vLLM {version} is not fetched; `make compat` does")
    shutil.copytree(root, tmp_path, dirs_exist_ok=True)
    apply_patch(diff_of("dict", root), tmp_path)
    assert read_source(tmp_path, version).texts == generated_with_vllms_imports(read_source(root, version))


def test_the_command_takes_another_vllm(tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*PACKAGE.split("."))
    folder.mkdir(parents=True)
    (folder / "scheduler.py").write_text(SOURCE_OF_ANOTHER_VLLM)
    done = CliRunner().invoke(cli, ["variants", "diff", "dict", "--vllm", str(tmp_path)])
    assert done.exit_code == 0
    assert done.stdout == diff_of("dict", tmp_path)


def test_a_folder_without_vllm_has_no_diff(tmp_path: Path) -> None:
    with pytest.raises(VariantError, match=r"scheduler\.py: no such file"):
        diff_of("dict", tmp_path)


def test_lines_of_the_diff_keep_to_vllms_length() -> None:
    assert max(len(line) for line in diff_of("dict").splitlines() if line.startswith("+")) <= 88 + 1


def test_a_class_has_no_diff() -> None:
    build_all()
    with pytest.raises(VariantError, match="has no diff"):
        diff_of("class:bench.variants.built.dict.scheduler:Scheduler")


def test_the_list_names_each_variant_and_counts_the_uses() -> None:
    text = describe_variants()
    assert "list " in text
    assert "dict " in text
    assert "uses of self.running:" in text
