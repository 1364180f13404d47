"""Kill -9 at random moments: nothing finished is lost or measured twice, and no process is left behind."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

from bench.measure.folder import read_manifest

CONFIG = """
name = "crash"
[[cells]]
workloads = ["steady-decode", "single-abort"]
num_running = [16]
options = { steps = 64 }
[measure]
pairs = 6
zygotes = 2
slice_ms = 0.5
"""
NUM_KILLS = 5
NUM_PAIRS = 18  # two workloads and the canary, six pairs each


def start(config: Path, out: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "bench", "run", str(config), "--out", str(out)]
    if (out / "manifest.json").is_file():
        command.append("--resume")
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def pair_files(out: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in (out / "pairs").glob("*.parquet")}


def kill_one(run: subprocess.Popen[bytes], rng: random.Random) -> list[psutil.Process]:
    """Kill the orchestrator, its worker or an arm; everything that the run had started."""
    family = psutil.Process(run.pid).children(recursive=True)
    victim = rng.choice([psutil.Process(run.pid), *family])
    victim.send_signal(signal.SIGKILL)
    return family


def test_a_run_that_is_killed_again_and_again_ends_whole(tmp_path: Path) -> None:
    config, out = tmp_path / "crash.toml", tmp_path / "run"
    config.write_text(CONFIG)
    rng = random.Random(7)
    for _ in range(NUM_KILLS):
        run = start(config, out)
        time.sleep(rng.uniform(2.0, 11.0))
        if run.poll() is not None:
            break
        family = kill_one(run, rng)
        try:
            run.wait(timeout=90)
        except subprocess.TimeoutExpired:
            run.kill()
            raise
        _, alive = psutil.wait_procs(family, timeout=20)
        assert alive == []
        before = pair_files(out) if out.exists() else {}
        assert len(before) <= NUM_PAIRS
    last = start(config, out)
    _, err = last.communicate(timeout=200)
    assert last.returncode == 0, err.decode()
    after = pair_files(out)
    assert len(after) == NUM_PAIRS
    assert {path: after[path] for path in before} == before
    manifest = read_manifest(out)
    assert manifest.status == "measured"
    assert [c.num_pairs for c in manifest.comparisons] == [6, 6, 6]
    assert not [*out.rglob(".*.part")]
    assert (out / "report.html").is_file()


def test_ctrl_c_keeps_what_is_finished_and_marks_the_run_partial(tmp_path: Path) -> None:
    config, out = tmp_path / "crash.toml", tmp_path / "run"
    config.write_text(CONFIG)
    run = start(config, out)
    deadline = time.monotonic() + 100
    while not (out / "pairs").is_dir() or not pair_files(out):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    family = psutil.Process(run.pid).children(recursive=True)
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=60)
    assert run.returncode == 130
    assert b"`run --resume` goes on" in err
    assert b"Traceback" not in err
    assert psutil.wait_procs(family, timeout=20)[1] == []
    manifest = read_manifest(out)
    assert manifest.status == "partial"
    assert sum(c.num_pairs for c in manifest.comparisons) == len(pair_files(out)) > 0
