from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bench.errors import RunFolderError
from bench.report.render import render_report
from tests.analysis.run_folder import CANARY, Planned, change_manifest, write_run

HOSTILE = "$\\frac{1}$<b>|`../x`\n\x1b[31m@all"
TINY = (replace(CANARY, pairs=6), Planned(pairs=6))


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_report_of_a_run_is_whole_and_the_same_bytes_twice(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", TINY)
    before = set(everything(folder))
    paths = render_report(folder)
    first = everything(folder)
    assert render_report(folder) == paths
    assert everything(folder) == first
    assert {str(path.relative_to(folder)) for path in paths} == set(first) - before
    assert {"comparisons.csv", "comparisons.parquet", "report.md", "report.html", "comment.md"} <= set(first)
    assert {"plots/effects.png", "plots/effects.svg", "plots/cost-replay-steady-decode.svg"} <= set(first)


def test_same_raw_files_elsewhere_and_in_another_process_give_the_same_bytes(tmp_path: Path) -> None:
    here, there = (write_run(tmp_path / name, TINY[1:2]) for name in ("here", "there"))
    render_report(here)
    program = (
        "import sys, pathlib; from bench.report.render import render_report; render_report(pathlib.Path(sys.argv[1]))"
    )
    subprocess.run([sys.executable, "-c", program, str(there)], check=True, env={"PYTHONPATH": ":".join(sys.path)})
    assert everything(here) == everything(there)
    assert str(tmp_path) not in (here / "report.html").read_text()


@pytest.mark.parametrize(
    "planned",
    [
        (Planned(pairs=0, status="void", parity=None, message="digests differ"),),
        (Planned(pairs=0, status="planned", parity=None),),
        (replace(CANARY, pairs=6),),
        (Planned(pairs=1),),
        (Planned(pairs=6, disturbed=1.0),),
    ],
    ids=["void", "planned", "canary alone", "one pair", "all excluded"],
)
def test_run_with_little_to_tell_still_has_a_report(tmp_path: Path, planned: tuple[Planned, ...]) -> None:
    folder = write_run(tmp_path / "run", planned, status="partial")
    render_report(folder)
    assert "The run stopped early (partial)" in (folder / "report.md").read_text()


def test_hostile_manifest_is_shown_as_text(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", TINY[1:2])

    def poison(manifest: dict) -> None:
        manifest.update(name=HOSTILE, created=HOSTILE, host={HOSTILE: HOSTILE}, versions={HOSTILE: HOSTILE})
        manifest["variants"][0]["spec"] = HOSTILE
        manifest["traces"][0].update(name=HOSTILE, digest=HOSTILE)
        manifest["comparisons"][0].update(
            cell=HOSTILE, workload=HOSTILE, baseline=HOSTILE, candidate=HOSTILE, message=HOSTILE
        )
        manifest["comparisons"][0]["parity"]["message"] = HOSTILE

    change_manifest(folder, poison)
    paths = render_report(folder)
    assert all(path.is_relative_to(folder) for path in paths)
    for page in (folder / name for name in ("report.md", "report.html", "comment.md")):
        text = page.read_text()
        assert "<b>" not in text.replace(r"\<b", "")
        assert "\x1b" not in text
        assert "@all" not in text or page.suffix == ".html"


def test_damaged_run_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", TINY[:1])
    (folder / "manifest.json").write_text("{")
    with pytest.raises(RunFolderError):
        render_report(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["manifest.json", "pairs", "steps"]


def test_plots_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", TINY[:1])
    (tmp_path / "outside").mkdir()
    (folder / "plots").symlink_to(tmp_path / "outside")
    with pytest.raises(RunFolderError, match="symbolic link"):
        render_report(folder)


def test_reporting_needs_neither_vllm_nor_what_measures() -> None:
    program = (
        "import sys, bench.report.render; "
        "bad = [m for m in sys.modules if m.split('.')[0] in ('vllm', 'torch') or m.startswith("
        "('bench.measure', 'bench.engine', 'bench.parity', 'bench.variants', 'matplotlib.pyplot'))]; "
        "assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env={"PYTHONPATH": ":".join(sys.path)})
