"""`trace` as a user meets it: what is printed where, and what it leaves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bench.cli import cli
from bench.errors import TraceError
from bench.traces.files import read_trace
from bench.traces.importers import describe_import_options

from .importers.samples import MOONCAKE


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["trace", *map(str, arguments)], catch_exceptions=False)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "chat.jsonl"
    path.write_text(MOONCAKE)
    return path


def test_import_prints_the_path_and_tells_the_counts_on_stderr(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    done = run("import", source, "-o", out, "--max-context", "1100", "--spread-ms", "50")
    assert done.exit_code == 0
    assert done.stdout == f"{out}\n"
    assert "format     mooncake, by its keys\ntime unit  ms\nrows       read 3, kept 2, dropped 1\n" in done.stderr
    assert "dropped    1 over_max_context\nchanged    2 spread\n" in done.stderr
    options = read_trace(out).options
    assert (options["max_context"], options["spread_ms"], options["rows_read"]) == (1100, 50.0, 3)


def test_every_import_option_is_offered_with_unit_and_default() -> None:
    text = " ".join(run("import", "--help").stdout.split())
    for option in describe_import_options():
        assert f"--{option.name.replace('_', '-')} " in text
    assert "[default: 10.0]" in text
    assert "0.001 to 60000 ms" in text


def test_show_prints_the_summary_and_the_figure_that_it_drew(source: Path, tmp_path: Path) -> None:
    run("import", source, "-o", tmp_path / "out.jsonl")
    done = run("show", tmp_path / "out.jsonl", "--plot", tmp_path / "out.svg")
    assert "rows                    read 3, kept 3, dropped 0\n" in done.stdout
    assert done.stdout.endswith(f"{tmp_path / 'out.svg'}\n")
    assert (tmp_path / "out.svg").read_bytes().startswith(b"<?xml")


def test_export_writes_lines_without_a_header(source: Path, tmp_path: Path) -> None:
    run("import", source, "-o", tmp_path / "out.jsonl")
    done = run("export", tmp_path / "out.jsonl", "-o", tmp_path / "again.jsonl")
    assert done.stdout == f"{tmp_path / 'again.jsonl'}\n"
    assert "left out: arrival_step" in done.stderr
    ids = [json.loads(line)["hash_ids"] for line in (tmp_path / "again.jsonl").read_text().splitlines()]
    assert ids == [json.loads(line)["hash_ids"] for line in MOONCAKE.splitlines()]


def test_generate_and_workloads_go_together(tmp_path: Path) -> None:
    text = run("workloads").stdout
    assert "prefix-tree: " in text
    assert "proof: " in text
    assert run("workloads", "--markdown").stdout.startswith("### `steady-decode`")
    assert run("generate", "prefix-tree", "-o", tmp_path / "t.jsonl", "--set", "levels=2").exit_code == 0
    assert read_trace(tmp_path / "t.jsonl").options["levels"] == 2


def test_foreign_file_is_not_shown_but_the_way_is(source: Path) -> None:
    with pytest.raises(TraceError, match="convert it with `trace import`"):
        run("show", source)
