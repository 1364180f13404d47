from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.cli import cli
from bench.errors import VariantError
from bench.variants.build import build_root
from bench.variants.compat import check_source, check_sources, table_of
from bench.variants.fetch import TRIED_VERSIONS
from bench.variants.running_as_dict import rewrite

GOOD = "class S:\n    def f(self):\n        n = len(self.running)\n        self.running.append(r)\n"
UNKNOWN = "class S:\n    def f(self):\n        self.running.sort()\n"


def unpack(folder: Path, version: str, text: str) -> Path:
    package = folder / version / "vllm" / "v1" / "core" / "sched"
    package.mkdir(parents=True)
    (package / "scheduler.py").write_text(text)
    return folder / version


def test_a_known_version_counts_its_uses_and_the_lines_of_its_diff(tmp_path: Path) -> None:
    row = check_source(unpack(tmp_path, "1.0", GOOD), rewrite)
    assert (row.version, row.package) == ("1.0", "vllm.v1.core.sched")
    assert (len(row.kinds), row.num_rewritten) == (2, 1)
    assert (row.lines_added, row.lines_removed, row.refusal) == (1, 1, None)


def test_an_unknown_use_is_a_row_with_file_line_and_text(tmp_path: Path) -> None:
    unpack(tmp_path, "1.0", GOOD)
    unpack(tmp_path, "2.0", UNKNOWN)
    rows = check_sources(tmp_path)
    assert [row.refusal is None for row in rows] == [True, False]
    table = table_of(rows).splitlines()
    assert table[1].endswith("compiles")
    assert table[2].endswith("REFUSED")
    assert table[3].startswith("2.0: scheduler.py line 3: unknown use of self.running: self.running.sort()")


def test_a_result_that_does_not_compile_is_a_refusal(tmp_path: Path) -> None:
    root = unpack(tmp_path, "1.0", GOOD)
    row = check_source(root, lambda text, file: text + "def\n")
    assert row.refusal is not None
    assert row.refusal.startswith("scheduler.py line 5: the rewrite does not compile")


def test_a_tree_without_the_scheduler_is_a_refusal(tmp_path: Path) -> None:
    (tmp_path / "1.0" / "vllm").mkdir(parents=True)
    (row,) = check_sources(tmp_path)
    assert row.refusal is not None
    assert "scheduler.py: no such file" in row.refusal


def test_versions_stand_in_their_order_and_other_folders_are_passed_over(tmp_path: Path) -> None:
    for version in ("0.20.2", "0.8.0", "0.11.0"):
        unpack(tmp_path, version, GOOD)
    (tmp_path / "notes").mkdir()
    assert [row.version for row in check_sources(tmp_path)] == ["0.8.0", "0.11.0", "0.20.2"]


@pytest.mark.parametrize("name", ["", "none"])
def test_a_folder_without_sources_says_how_to_get_them(name: str, tmp_path: Path) -> None:
    with pytest.raises(VariantError, match=r"no <version>/vllm in it; --fetch gets"):
        check_sources(tmp_path / name)


@pytest.mark.parametrize(("text", "code"), [(GOOD, 0), (UNKNOWN, 2)])
def test_the_command_prints_the_table_and_ends_with_2_where_a_version_is_refused(
    text: str, code: int, tmp_path: Path
) -> None:
    unpack(tmp_path, "1.0", text)
    done = CliRunner().invoke(cli, ["variants", "compat", "--sources", str(tmp_path)], standalone_mode=False)
    assert done.return_value == code
    assert done.output.splitlines()[1].startswith("1.0 ")


@pytest.mark.parametrize("version", TRIED_VERSIONS)
def test_each_fetched_version_is_rewritten_and_compiles(version: str) -> None:
    root = build_root() / "sources" / version
    if not root.is_dir():
        pytest.skip(f"vLLM {version} is not fetched; `make compat` does")
    row = check_source(root, rewrite)
    assert row.refusal is None
    assert 0 < row.num_rewritten < len(row.kinds)
