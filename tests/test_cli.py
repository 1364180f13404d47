"""The command line as a user meets it: exit codes, and what is printed where; wrong input has a table of its own."""

from __future__ import annotations

import difflib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.variants.source import installed_source

SMALL = """
name = "small"
[[cells]]
workloads = ["steady-decode"]
num_running = [16]
options = { steps = 40 }
[measure]
pairs = 2
zygotes = 1
slice_ms = 0.5
canary = false
"""


def bench(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Run the command line as its own process."""
    command = [sys.executable, "-m", "bench", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, **options)  # type: ignore[call-overload, no-any-return]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def test_run_prints_the_verdict_table_and_last_the_run_folder(config: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = bench("run", str(config), "--out", str(out))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.strip().splitlines()
    assert lines[-1] == str(out)
    assert "negative = candidate faster" in done.stdout
    assert "replay-steady-decode-n16" in done.stdout
    for name in ("manifest.json", "report.md", "report.html", "comment.md", "comparisons.csv", "comparisons.parquet"):
        assert (out / name).is_file()
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    again = bench("report", str(out))
    assert again.returncode == 0, again.stderr
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_verify_accepts_dict_where_requests_are_preempted() -> None:
    done = bench("verify", "--candidate", "dict", "--workload", "preemption", "--num-running", "64")
    assert done.returncode == 0, done.stderr
    assert "alike   preemption n=64 seed=1:" in done.stdout


def test_verify_refuses_a_candidate_whose_victim_choice_is_broken_and_names_the_step(tmp_path: Path) -> None:
    text = installed_source().texts["scheduler.py"]
    broken = text.replace("preempted_req = self.running.pop()", "preempted_req = self.running.pop(0)")
    assert broken != text
    path = "vllm/v1/core/sched/scheduler.py"
    patch = difflib.unified_diff(text.splitlines(True), broken.splitlines(True), f"a/{path}", f"b/{path}")
    (tmp_path / "head.diff").write_text("".join(patch))
    done = bench("verify", "--candidate", f"patch:{tmp_path / 'head.diff'}", "--workload", "preemption")
    assert done.returncode == 3, done.stderr
    assert "DIFFERS preemption n=64 seed=1: differs at step " in done.stdout


def test_run_times_nothing_that_is_not_alike(config: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    candidate = 'candidates=["class:tests.measure.broken:Raises"]'
    done = bench("run", str(config), "--out", str(out), "--set", candidate)
    assert done.returncode == 3, done.stderr
    assert "VOID" in done.stdout
    assert not [*(out / "pairs").iterdir()]


def test_a_generated_trace_is_shown_again(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    made = bench("trace", "generate", "abort-storm", "-o", str(path), "--num-running", "16", "--set", "storm=4")
    assert (made.returncode, made.stdout.strip()) == (0, str(path))
    digest = json.loads(path.read_text().splitlines()[0])["trace"]["digest"]
    shown = bench("trace", "show", str(path))
    assert shown.returncode == 0
    assert digest in shown.stdout
    assert bench("verify", "--candidate", "dict", "--trace", str(path)).returncode == 0


def test_variants_are_listed_and_their_diff_printed() -> None:
    assert "dict" in bench("variants", "list").stdout
    diff = bench("variants", "diff", "dict")
    assert diff.stdout.startswith("--- a/vllm/v1/core/sched/scheduler.py")
    assert "+        self.running: dict[Request, None] = {}" in diff.stdout


def test_no_vllm_is_one_clear_line(tmp_path: Path, config: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.metadata as m\n"
        "real = m.version\n"
        "def version(name):\n"
        "    if name.startswith('vllm'):\n"
        "        raise m.PackageNotFoundError(name)\n"
        "    return real(name)\n"
        "m.version = version\n"
    )
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}
    done = bench("run", str(config), "--out", str(tmp_path / "run"), env=environment)
    assert done.returncode == 2
    assert done.stderr.strip() == "error: vLLM is not installed here; run `make setup`"


def test_help_names_units_and_exit_codes() -> None:
    assert "Exit codes: 0 done" in bench("--help").stdout
    assert "in s" in bench("verify", "--help").stdout
