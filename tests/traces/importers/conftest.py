from __future__ import annotations

from pathlib import Path

import pytest

from .samples import Importer


@pytest.fixture
def importer(tmp_path: Path) -> Importer:
    return Importer(tmp_path)
