"""Fetches vLLM's source release by pip, for its tests; nothing of it is built, and nothing is installed for good.

pip asks a source release for its metadata, and vLLM's setup needs three packages to answer: they go into a folder
of their own beside the release.
"""

from __future__ import annotations

from pathlib import Path

from bench.errors import HostError
from bench.parity.conformance.source import release_name
from bench.variants.fetch import run_pip
from bench.variants.source import installed_version

_SETUP_NEEDS = ("setuptools_scm", "setuptools_rust", "wheel")


def fetch_release(folder: Path) -> Path:
    """The source release of the installed vLLM lies in `folder`, fetched if it was not there; raises HostError."""
    version = installed_version()
    release = folder / release_name(version)
    if not release.is_file():
        tools = folder.resolve() / "setup-needs"
        run_pip(["install", "--upgrade", "--target", str(tools), *_SETUP_NEEDS], "what vLLM's setup needs")
        answers = {"VLLM_TARGET_DEVICE": "empty", "VLLM_VERSION_OVERRIDE": version, "PYTHONPATH": str(tools)}
        options = ["--no-deps", "--no-binary=vllm", "--no-build-isolation", "-d", str(folder)]
        run_pip(["download", *options, f"vllm=={version}"], f"the source release of vLLM {version}", answers)
    if not release.is_file():
        raise HostError(f"{folder}: pip ended well, but there is no {release.name}")
    return release
