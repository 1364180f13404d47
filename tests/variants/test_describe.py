from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from bench.errors import VariantError
from bench.variants.build import generated_texts
from bench.variants.describe import describe_variants, diff_of
from bench.variants.running_as_dict import rewrite
from bench.variants.source import MODULES, PACKAGE, installed_root, installed_source


def test_the_baseline_differs_by_nothing() -> None:
    assert diff_of("list") == ""


@pytest.mark.skipif(shutil.which("patch") is None, reason="the `patch` tool is not installed")
def test_the_printed_diff_applies_with_patch_p1_and_gives_the_generated_code(tmp_path: Path) -> None:
    folder = Path(*PACKAGE.split("."))
    shutil.copytree(installed_root() / folder, tmp_path / folder)
    applied = subprocess.run(["patch", "-p1", "--fuzz=0"], input=diff_of("dict"), cwd=tmp_path, text=True, check=False)
    assert applied.returncode == 0
    for file in installed_source().texts:
        assert (tmp_path / folder / file).read_text() == rewrite(installed_source().texts[file], file)
    generated = generated_texts("dict", installed_source(), rewrite)
    for file, text in generated.items():
        for module in (name.removesuffix(".py") for name in MODULES):
            text = text.replace(f"bench.variants.built.dict.{module}", f"{PACKAGE}.{module}")
        assert text == (tmp_path / folder / file).read_text()


def test_lines_of_the_diff_keep_to_vllms_length() -> None:
    assert max(len(line) for line in diff_of("dict").splitlines() if line.startswith("+")) <= 88 + 1


def test_a_class_has_no_diff() -> None:
    with pytest.raises(VariantError, match="has no diff"):
        diff_of("class:bench.variants.built.dict.scheduler:Scheduler")


def test_the_list_names_each_variant_and_counts_the_uses() -> None:
    text = describe_variants()
    assert "list " in text
    assert "dict " in text
    assert "uses of self.running:" in text
