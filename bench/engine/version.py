"""Which versions of vLLM the adapter was written for; asked before vLLM is imported."""

from __future__ import annotations

from bench.errors import HostError
from bench.variants.source import installed_version

SUPPORTED = ("0.32",)


def check_version() -> str:
    """The installed version; raises HostError where vLLM is missing or a version that was never tried."""
    version = installed_version()
    if not version.startswith(tuple(f"{known}." for known in SUPPORTED)):
        expected = " or ".join(SUPPORTED)
        raise HostError(f"vLLM {version} is installed, expected {expected}; run `make setup` in a clean checkout")
    return version
