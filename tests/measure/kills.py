"""Kills a small run with -9 at telling moments and resumes it each time; nothing finished may be lost or redone.

`python -m tests.measure.kills [NUM_KILLS] [SEED]`, or `make kills N=20`; the test beside this does five.
"""

from __future__ import annotations

import hashlib
import itertools
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pandas as pd
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
COMPARISONS = {
    "replay-steady-decode-n16--dict": 6,
    "replay-steady-decode-n16--aa": 6,
    "replay-single-abort-n16--dict": 6,
}
"""The comparisons of CONFIG, the canary among them, with their pairs."""

MOMENTS = (
    "when the folder is made",
    "when the run is planned",
    "when workers work",
    "when further pairs are written",
)
"""What a kill waits for: each comes once before any comes again."""

END_LIMIT_S = 600.0  # a run that lost a worker goes on to its end: half a minute on an idle machine
GONE_LIMIT_S = 120.0  # for a killed run's processes to be gone


def main() -> None:
    """Deliver the kills, and print a line for each and what became of it all."""
    num_kills = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with tempfile.TemporaryDirectory() as folder:
        killed = kill_and_resume(Path(folder), num_kills, random.Random(seed))
    print(f"{killed.total()} kills ({', '.join(f'{n} {who}' for who, n in killed.items())}): nothing lost or redone")


def kill_and_resume(folder: Path, num_kills: int, rng: random.Random) -> Counter[str]:
    """Deliver `num_kills` kills, over as many runs as they take; how often each kind of process was hit.

    Raises AssertionError where a finished pair was lost or changed, a process stayed, or a run did not end whole.
    """
    config = folder / "crash.toml"
    config.write_text(CONFIG)
    killed: Counter[str] = Counter()
    moments = itertools.cycle(rng.sample(MOMENTS, len(MOMENTS)))
    number = 0
    while killed.total() < num_kills:
        out = folder / f"run{number}"
        number += 1
        while killed.total() < num_kills and not is_measured(out):
            killed.update(kill_once(config, out, next(moments), rng))
        resume_to_the_end(config, out)
        check_whole(out)
    return killed


def kill_once(config: Path, out: Path, moment: str, rng: random.Random) -> list[str]:
    """Start or resume the run and kill one of its processes at `moment`; whom it hit, or nobody if the run ended."""
    before = pair_digests(out)
    run = start(config, out)
    if not wait_for(moment, run, out, rng):
        run.communicate()
        return []
    family = psutil.Process(run.pid).children(recursive=True)
    victim = rng.choice([psutil.Process(run.pid), *family])
    who = "orchestrators" if victim.pid == run.pid else "workers or arms"
    try:
        victim.kill()
    except psutil.NoSuchProcess:  # a worker that had just done its work
        who = ""
    try:
        run.communicate(timeout=END_LIMIT_S)
    finally:
        run.kill()
    assert psutil.wait_procs(family, timeout=GONE_LIMIT_S)[1] == []
    after = pair_digests(out)
    assert before.items() <= after.items()
    print(f"{moment}: killed one of the {who}, {len(before)} pairs before, {len(after)} after", file=sys.stderr)
    return [who] if who else []


def wait_for(moment: str, run: subprocess.Popen[bytes], out: Path, rng: random.Random) -> bool:
    """Wait for what `moment` names, and for a part of a second; False where the run ended first."""
    num_wanted = len(pair_digests(out)) + rng.randint(1, 4)
    pause_s = rng.uniform(0.0, 0.3)
    has_come: dict[str, Callable[[], bool]] = {
        "when the folder is made": out.exists,
        "when the run is planned": (out / "manifest.json").exists,
        "when workers work": lambda: bool(psutil.Process(run.pid).children(recursive=True)),
        "when further pairs are written": lambda: len(pair_digests(out)) >= num_wanted,
    }
    while run.poll() is None:
        if has_come[moment]():
            time.sleep(pause_s)
            return run.poll() is None
        time.sleep(0.002)
    return False


def resume_to_the_end(config: Path, out: Path) -> None:
    """Go on with the run until it is whole; what was finished before stays as it was."""
    before = pair_digests(out)
    run = start(config, out)
    _, err = run.communicate(timeout=END_LIMIT_S)
    assert run.returncode == 0, err.decode()
    assert before.items() <= pair_digests(out).items()


def check_whole(out: Path) -> None:
    """Every comparison has all its pairs, in the files, in the manifest and in the table that is judged."""
    manifest = read_manifest(out)
    assert manifest.status == "measured"
    assert {c.id: c.num_pairs for c in manifest.comparisons} == COMPARISONS
    assert sorted(path.name for path in pair_digests(out)) == sorted(
        f"{comparison}--p{pair:03d}.parquet" for comparison, pairs in COMPARISONS.items() for pair in range(pairs)
    )
    assert not [*out.rglob(".*.part")]
    table = pd.read_parquet(out / "comparisons.parquet")
    judged = table[table["gating"]].set_index("comparison")
    assert set(judged.index) == set(COMPARISONS)
    assert (judged["verdict"] != "").all()
    assert (out / "report.html").is_file()


def start(config: Path, out: Path) -> subprocess.Popen[bytes]:
    """The run as a process of its own, resumed where there is a manifest."""
    command = [sys.executable, "-m", "bench", "run", str(config), "--out", str(out)]
    if (out / "manifest.json").is_file():
        command.append("--resume")
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=_heed_ctrl_c)


def _heed_ctrl_c() -> None:
    """A shell starts what runs in its background with SIGINT ignored, and a child inherits that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def is_measured(out: Path) -> bool:
    """True where the run is whole."""
    return (out / "manifest.json").is_file() and read_manifest(out).status == "measured"


def pair_digests(out: Path) -> dict[Path, tuple[str, int]]:
    """SHA-256 and time of writing of every finished pair: a pair that is measured again has another time at least."""
    files = [*(out / "pairs").glob("*.parquet")]
    return {file: (hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime_ns) for file in files}


if __name__ == "__main__":
    main()
