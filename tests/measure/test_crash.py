"""Kill -9, Ctrl-C, a full disk: nothing finished is lost or measured twice, and no process is left behind."""

from __future__ import annotations

import errno
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from bench.errors import RunFolderError
from bench.measure import folder
from bench.measure.folder import read_manifest
from bench.measure.opening import open_campaign
from tests.measure.conftest import Make
from tests.measure.kills import CONFIG, GONE_LIMIT_S, kill_and_resume, pair_digests, start


@pytest.mark.timeout(2400)
def test_a_run_that_is_killed_again_and_again_ends_whole(tmp_path: Path) -> None:
    killed = kill_and_resume(tmp_path, 5, random.Random(7))
    assert killed.total() == 5


@pytest.mark.timeout(900)
def test_ctrl_c_keeps_what_is_finished_and_marks_the_run_partial(tmp_path: Path) -> None:
    config, out = tmp_path / "crash.toml", tmp_path / "run"
    config.write_text(CONFIG)
    run = start(config, out)
    deadline = time.monotonic() + 300
    while not pair_digests(out):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    family = psutil.Process(run.pid).children(recursive=True)
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=300)
    assert run.returncode == 130
    assert b"`run --resume` goes on" in err
    assert b"Traceback" not in err
    assert psutil.wait_procs(family, timeout=GONE_LIMIT_S)[1] == []
    manifest = read_manifest(out)
    assert manifest.status == "partial"
    assert sum(c.num_pairs for c in manifest.comparisons) == len(pair_digests(out)) > 0


@pytest.mark.timeout(900)
def test_a_full_disk_is_one_clear_line_and_the_run_is_resumed_when_there_is_room(
    tmp_path: Path, small_experiment: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment, out = small_experiment(), tmp_path / "run"
    write_whole = folder.write_whole

    def full_after_the_first_pair(path: Path, write: Callable[[Path], object]) -> None:
        def half(beside: Path) -> None:
            beside.write_bytes(b"half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        is_full = path.parent.name == "pairs" and any(path.parent.iterdir())
        write_whole(path, half if is_full else write)

    with monkeypatch.context() as patched:
        patched.setattr(folder, "write_whole", full_after_the_first_pair)
        with pytest.raises(RunFolderError) as caught:
            open_campaign(experiment, out).measure()
    message = str(caught.value)
    assert "cannot be written (No space left on device); what is finished is kept, `run --resume` goes on" in message
    assert "\n" not in message
    assert not [process for process in psutil.Process().children() if "bench.measure.worker" in process.cmdline()]
    before = pair_digests(out)
    assert len(before) == 1
    assert not [*out.rglob(".*.part")]
    assert open_campaign(experiment, out, resume=True).measure().status == "measured"
    assert before.items() < pair_digests(out).items()
