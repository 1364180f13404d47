from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench.errors import EXIT_DONE, EXIT_INPUT
from bench.report.gallery import main, write_gallery
from tests.analysis.run_folder import CANARY, Planned, write_run

RUN = (replace(CANARY, pairs=2), Planned(pairs=2), Planned(pairs=2, num_running=64))


@pytest.fixture(scope="module", autouse=True)
def coarse() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bench.report.plots.style.PNG_DPI", 20)  # coarse pictures take half the time
        yield


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    write_run(folder / "results" / "reference", RUN)
    (folder / "plots").mkdir()
    (folder / "plots" / "stale.png").write_bytes(b"old")
    (folder / "plots" / "README.md").write_text("kept")
    write_gallery(folder / "results" / "reference", folder / "plots", folder / "docs" / "gallery.md")
    return folder


def test_page_shows_every_plot_by_a_relative_path(project: Path) -> None:
    page = (project / "docs" / "gallery.md").read_text()
    shown = re.findall(r"\]\((\.\./plots/[^)]*)\)", page)
    assert all((project / "docs" / path).is_file() for path in shown)
    assert {Path(path).name for path in shown} | {"README.md"} == {path.name for path in (project / "plots").iterdir()}


def test_chosen_are_effects_costs_and_the_largest_size(project: Path) -> None:
    assert {path.stem for path in (project / "plots").glob("*.png")} == {
        "effects",
        "cost-replay-steady-decode",
        "cell-replay-steady-decode-n256--dict",
        "timeline-replay-steady-decode-n256--dict",
    }


def test_page_says_verdict_machine_and_sign(project: Path) -> None:
    page = (project / "docs" / "gallery.md").read_text()
    for words in ("dict vs list: ", "Example CPU, 2 cores", "negative = candidate faster", "make plots"):
        assert words in page


def test_gallery_is_the_same_bytes_twice(project: Path) -> None:
    paths = [project / "results" / "reference", project / "plots", project / "docs" / "gallery.md"]
    files = [*(project / "plots").iterdir(), paths[2]]
    before = [path.read_bytes() for path in files]
    assert main([str(path) for path in paths]) == EXIT_DONE
    assert [path.read_bytes() for path in files] == before


def test_wrong_use_is_one_clear_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == main([str(tmp_path / "none"), "plots", "page"]) == EXIT_INPUT
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("usage:")
    assert lines[1].startswith("error: run ")
