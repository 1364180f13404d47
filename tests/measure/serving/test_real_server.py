"""The whole tier with vLLM's own server and the shipped tiny model; takes a minute or two."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
import pytest

CONFIG = """
name = "served"
[measure]
pairs = {pairs}
zygotes = 1
canary = false
[serve]
idle_s = 0.1
request_limit_s = 120.0
[[cells]]
tier = "serve"
workloads = ["arrivals"]
num_running = [4]
options = {{ steps = {steps}, hang_up = 0.5 }}
"""
START_LIMIT_S = 400

pytestmark = pytest.mark.timeout(1500)


def start(tmp_path: Path, pairs: int, steps: int) -> subprocess.Popen[str]:
    config = tmp_path / "served.toml"
    config.write_text(CONFIG.format(pairs=pairs, steps=steps))
    command = [sys.executable, "-m", "bench", "run", str(config), "--out", str(tmp_path / "run")]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def manifest(tmp_path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((tmp_path / "run" / "manifest.json").read_text())
    return content


def engine_cores(run: subprocess.Popen[str]) -> list[psutil.Process]:
    """The engine core of each server, once it serves: it has written its step log."""
    found = []
    for process in psutil.Process(run.pid).children(recursive=True):
        try:
            if "EngineCor" in process.name() or "EngineCor" in " ".join(process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    return found


def test_both_arms_are_served_and_told_in_one_table(tmp_path: Path) -> None:
    run = start(tmp_path, pairs=2, steps=60)
    out, err = run.communicate(timeout=1000)
    assert run.returncode == 0, err
    assert "serve-arrivals-n4" in out
    assert "INCONCLUSIVE" in out  # of two pairs, and maybe on a busy machine
    folder = tmp_path / "run"
    requests = pq.read_table(folder / "requests").to_pandas()
    steps = pq.read_table(folder / "steps").to_pandas()
    for arm in ("baseline", "candidate"):
        hung_up = int(requests.loc[requests["arm"] == arm, "hung_up"].sum())
        aborted = int(steps.loc[steps["arm"] == arm, "aborted"].sum())
        assert hung_up > 0
        # One that leaves at its last tokens may have been answered in full, or its abort lies behind the last step.
        assert 0 < aborted <= hung_up
        mine = steps[steps["arm"] == arm]
        assert (mine["schedule_ns"] > 0).all()
        assert mine["running"].max() > 1
    host = manifest(tmp_path)["host"]
    assert host["client_core"] not in host["server_cores"] or len(os.sched_getaffinity(0)) == 1
    assert "What clients of the servers saw" in (folder / "report.md").read_text()


def test_kill_9_of_an_engine_core_marks_the_cell_and_leaves_nothing_behind(tmp_path: Path) -> None:
    run = start(tmp_path, pairs=40, steps=60)
    deadline = time.monotonic() + START_LIMIT_S
    requests = tmp_path / "run" / "requests"
    while not (requests.is_dir() and [*requests.glob("*.parquet")]):
        assert run.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.2)
    family = psutil.Process(run.pid).children(recursive=True)
    engine_cores(run)[0].send_signal(signal.SIGKILL)
    out, err = run.communicate(timeout=600)
    assert run.returncode == 1, err
    assert psutil.wait_procs(family, timeout=120)[1] == []
    (record,) = manifest(tmp_path)["comparisons"]
    assert record["status"] == "partial"
    assert record["num_pairs"] == len([*requests.glob("*.parquet")]) >= 1
    assert "server" in record["message"] or "request" in record["message"]
    assert "Traceback" not in err
    assert "INCONCLUSIVE" in out
