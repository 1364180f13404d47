"""Fills the virtual environment that runs it with the pinned stack: CPU, or GPU where one answers.

Called by `make setup`; needs the standard library alone.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
HASHED = "--require-hashes"  # a file whose SHA-256 is not in the lock is refused, by pip and by uv


def main() -> int:
    """Install, and tell what to do where that fails; the exit code is for make."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--torch-cpu-index", default="", help="index URL of PyTorch's CPU wheels, if plain pip lacks them"
    )
    arguments = parser.parse_args()
    installed = install_gpu() if has_gpu() else install_cpu(arguments.torch_cpu_index)
    if not installed:
        return 1
    return 0 if pip("--no-deps", "--no-build-isolation", "-e", str(HERE.parent)) else 1


def has_gpu() -> bool:
    """True where the NVIDIA driver lists a GPU."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return False
    listed = subprocess.run([tool, "-L"], capture_output=True, text=True, check=False)
    return listed.returncode == 0 and "GPU" in listed.stdout


def install_cpu(torch_index: str) -> bool:
    """torch first, since it may need an index of its own; then all the rest, without following dependencies."""
    torch = ["--no-deps", "-r", str(HERE / "torch-cpu.txt")]
    if not pip(*torch) and not (torch_index and pip(*torch, "--index-url", torch_index)):
        say("torch's CPU build was not found; name PyTorch's CPU wheel index: make setup TORCH_CPU_INDEX=…")
        return False
    return install("--no-deps", HASHED, "-r", str(HERE / "cpu.lock"))


def install_gpu() -> bool:
    """The GPU stack, with the CUDA libraries that torch depends on."""
    return install("-r", str(HERE / "gpu.txt"))


def install(*arguments: str) -> bool:
    """By uv, in a tenth of pip's time; by pip where uv cannot be had or does not reach the index pip is set up for."""
    if pip(HASHED, "-r", str(HERE / "uv.lock")):
        command = [
            sys.executable,
            "-m",
            "uv",
            "pip",
            "install",
            "--quiet",
            "--compile-bytecode",
            "--python",
            sys.executable,
        ]
        if run([*command, *arguments]):
            return True
        say("uv could not install; trying pip, which takes longer")
    return pip(*arguments)


def pip(*arguments: str) -> bool:
    """True where pip installed."""
    return run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments])


def run(command: list[str]) -> bool:
    """True where `command` ended well; its output is the caller's."""
    return subprocess.run(command, check=False).returncode == 0


def say(line: str) -> None:
    """One line to standard error."""
    print(f"setup: {line}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
