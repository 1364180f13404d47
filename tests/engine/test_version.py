from __future__ import annotations

import pytest

from bench.engine import version as versions
from bench.errors import HostError


@pytest.mark.parametrize("version", ["0.8.0", "0.31.9", "0.320.0", "1.0.0"])
def test_an_untried_version_of_vllm_is_refused(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(versions, "installed_version", lambda: version)
    with pytest.raises(HostError, match=f"vLLM {version} is installed, expected 0.32"):
        versions.check_version()


def test_the_pinned_version_is_supported() -> None:
    assert versions.check_version().startswith("0.32.")
