from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench.analysis.load import load_run
from bench.report.raw_files import pair_links, whole_links
from tests.analysis.run_folder import CANARY, Planned, write_run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = write_run(tmp_path / "run", (replace(CANARY, pairs=1), Planned(pairs=2)))
    for name in ("traces/steady-decode.jsonl", "pyperf/replay-steady-decode-n256--aa-candidate.json"):
        (made / name).parent.mkdir(exist_ok=True)
        (made / name).write_text("{}")
    return made


def paths(folder: Path, comparison: str) -> list[str]:
    run = load_run(folder)
    return [link.path for link in whole_links(run, run.comparison(comparison))]


def test_only_files_that_are_there_are_named(folder: Path) -> None:
    common = ["comparisons.csv", "manifest.json", "traces/steady-decode.jsonl"]
    assert paths(folder, "replay-steady-decode-n256--dict") == common
    canary = "pyperf/replay-steady-decode-n256--aa-candidate.json"
    assert paths(folder, "replay-steady-decode-n256--aa") == [*common, canary]


def test_files_of_pairs_belong_to_their_comparison_slices_before_steps(folder: Path) -> None:
    links = pair_links(load_run(folder))["replay-steady-decode-n256--dict"]
    assert [link.text for link in links] == [
        "slices of pair 0",
        "slices of pair 1",
        "steps of pair 0",
        "steps of pair 1",
    ]
    assert all((folder / link.path).is_file() for link in links)


@pytest.mark.parametrize("name", ["a/../../x", "x" * 5000, "a\x00b", ""])
def test_impossible_trace_name_is_not_linked(folder: Path, name: str) -> None:
    (folder.parent / "x").write_text("outside")
    run = load_run(folder)
    trace = run.manifest.traces[0].model_copy(update={"file": name})
    manifest = run.manifest.model_copy(update={"traces": (trace,)})
    links = whole_links(replace(run, manifest=manifest), run.manifest.comparisons[0])
    assert [link.path for link in links][:2] == ["comparisons.csv", "manifest.json"]
    assert not any(link.text.startswith("trace") for link in links)


def test_trace_that_is_a_link_is_not_named(folder: Path) -> None:
    run = load_run(folder)
    (folder / "traces" / "steady-decode.jsonl").unlink()
    (folder / "traces" / "steady-decode.jsonl").symlink_to("/etc/hosts")
    links = whole_links(run, run.comparison("replay-steady-decode-n256--dict"))
    assert [link.path for link in links] == ["comparisons.csv", "manifest.json"]
