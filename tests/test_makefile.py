from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_bench_gpu_without_a_gpu_says_so_and_ends_as_wrong_input(tmp_path: Path) -> None:
    for tool in ("bash", "sh", "make", "echo", "grep"):
        (tmp_path / tool).symlink_to(shutil.which(tool) or "")
    environment = {**os.environ, "PATH": str(tmp_path)}
    environment.pop("MAKEFLAGS", None)
    done = subprocess.run(["make", "bench-gpu"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0].startswith("error: no GPU: nvidia-smi lists none on this machine")
    assert "Traceback" not in done.stderr
