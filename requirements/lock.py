"""Makes cpu.lock and uv.lock again: the pinned versions, each with the SHA-256 of every file it was published as.

Called by `make lock` after a change of cpu.txt. Versions are taken as they stand; nothing is resolved.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
UV = "uv==0.11.0"  # what installs the rest; the only pin that does not stand in a file of its own
HEADER = """\
# Made by `make lock` from {source}, which is the place to read and to change: the same versions, each with the SHA-256
# of every file that it was published as. `make setup` installs from here and takes no other file.
"""


def main() -> int:
    """Write both files, each only when it is whole."""
    cpu = hashed((HERE / "cpu.txt").read_text(encoding="utf-8"))
    uv = hashed(UV)
    (HERE / "cpu.lock").write_text(HEADER.format(source="cpu.txt") + cpu, encoding="utf-8")
    (HERE / "uv.lock").write_text(HEADER.format(source="lock.py") + uv, encoding="utf-8")
    return 0


def hashed(pins: str) -> str:
    """The requirements in `pins` with their hashes, as pip and uv read them; names no index."""
    options = ["--generate-hashes", "--no-deps", "--no-annotate", "--no-header", "--no-emit-index-url", "--quiet"]
    command = [sys.executable, "-m", "uv", "pip", "compile", *options, "--universal", "--python-version", "3.11", "-"]
    return subprocess.run(command, input=pins, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main())
