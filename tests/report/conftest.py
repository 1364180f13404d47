from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from bench.analysis.comparisons import compare
from bench.analysis.load import Run, load_run
from bench.report.compose import compose
from bench.report.content import Content
from tests.analysis.run_folder import write_run


@pytest.fixture(scope="session")
def typical_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("typical") / "run")


@pytest.fixture(scope="session")
def typical_run(typical_folder: Path) -> Run:
    return load_run(typical_folder)


@pytest.fixture(scope="session")
def typical(typical_run: Run) -> pd.DataFrame:
    return compare(typical_run)


@pytest.fixture(scope="session")
def content(typical_run: Run, typical: pd.DataFrame) -> Content:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bench.report.plots.style.PNG_DPI", 20)  # pages hold SVG
        return compose(typical_run, typical)[0]
