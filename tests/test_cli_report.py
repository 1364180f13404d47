"""The subcommands for what people look at, as a user or a workflow meets them."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.analysis.histories import history_rows, stepped, write_history
from tests.analysis.run_folder import CANARY, Planned, write_run
from tests.report.github_server import NAME, TOKEN, serve

RUN = (replace(CANARY, pairs=6), Planned(pairs=6))


def bench(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench", *arguments]
    given = {
        name: value for name, value in os.environ.items() if "proxy" not in name.lower() and name != "GITHUB_TOKEN"
    }
    return subprocess.run(
        command, capture_output=True, text=True, timeout=600, check=False, env={**given, **environment}
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", RUN, with_steps=False)


def test_comment_is_written_and_its_address_printed(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    with serve() as hub:
        hub.add_pull(7)
        arguments = ("comment", str(folder), "--repository", NAME, "--head-sha", "a" * 40, "--api-url", hub.url)
        done = bench(*arguments, "--token-env", "MY_TOKEN", MY_TOKEN=TOKEN)
        assert done.returncode == 0, done.stderr
        assert done.stdout == "#7: comment created, https://example.invalid/7#7000\n"
        assert hub.comments[7][0]["body"].startswith("<!-- runqueue-bench -->\n### Run synthetic")
        assert TOKEN not in done.stdout + done.stderr
    assert sorted(folder.rglob("*")) == before


def test_dry_run_prints_the_comment_and_needs_no_token(folder: Path) -> None:
    done = bench("comment", str(folder), "--repository", NAME, "--pull-request", "7", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("<!-- runqueue-bench -->\n### Run synthetic")
    assert "```mermaid" in done.stdout
    assert "nothing was sent" in done.stderr


def test_damaged_folder_is_refused_before_anything_is_sent(folder: Path) -> None:
    (folder / "manifest.json").write_text("{")
    with serve() as hub:
        done = bench(
            "comment", str(folder), "--repository", NAME, "--pull-request", "7", "--api-url", hub.url, GITHUB_TOKEN="x"
        )
        assert (done.returncode, hub.asked) == (2, [])
    assert "not valid JSON" in done.stderr


def test_history_goes_from_add_to_check(folder: Path, tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    added = bench("history", "add", str(folder), "--store", store)
    assert added.returncode == 0, added.stderr
    assert Path(added.stdout.strip()).is_file()
    shown = bench("history", "show", "--store", store)
    assert "replay-steady-decode-n256" in shown.stdout
    plotted = bench("history", "plot", "--store", store, "--out", str(tmp_path / "plots"))
    assert all(Path(line).is_file() for line in plotted.stdout.split())
    checked = bench("history", "check", "--store", store)
    assert (checked.returncode, checked.stdout.startswith("no change of level in 2 series")) == (0, True)


def test_history_check_ends_with_4_where_a_candidate_became_slower(tmp_path: Path) -> None:
    store = write_history(tmp_path / "store", history_rows(stepped(35, 30, 3.0, 0.4, 1)))
    checked = bench("history", "check", "--store", str(store))
    assert checked.returncode == 4
    assert checked.stdout.startswith("SLOWER: replay-steady-decode-n256, dict")
    assert bench("history", "check", "--store", str(store), "--recent", "2").returncode == 0
    assert bench("history", "show", "--store", str(tmp_path / "none")).returncode == 2
