"""Run folders from a job that nobody trusts: each kind is refused in one clear line, or shown and does no harm."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.analysis import admission
from bench.errors import RunFolderError
from bench.report.publish import draft
from bench.report.render import render_report
from tests.analysis.run_folder import Planned, change_manifest, change_pair, write_run

ESCAPE, RIGHT_TO_LEFT = "\x1b]0;owned\x07\x1b[2J", "\u202e"
MARKUP = (
    f"<img src=x onerror=alert(1)><script>alert(1)</script></details>|`**[a](javascript:b)@all {ESCAPE}{RIGHT_TO_LEFT}"
)
RUN = (Planned(pairs=1),)

Spoil = Callable[[Path], object]


def in_manifest(change: Callable[[dict[str, Any]], object]) -> Spoil:
    return lambda folder: change_manifest(folder, lambda content: change(content) and None)


def raw_manifest(old: str, new: str) -> Spoil:
    def spoil(folder: Path) -> None:
        text = (folder / "manifest.json").read_text()
        assert old in text
        (folder / "manifest.json").write_text(text.replace(old, new, 1))

    return spoil


def every_name(manifest: dict[str, Any], name: str) -> None:
    manifest.update(name=name, created=name, host={name: name, "cpu": name}, versions={name: name, "vllm": name})
    manifest["config"]["seed"] = name
    manifest["variants"][0].update(spec=name, digest=name)
    manifest["traces"][0].update(name=name, digest=name)
    for record in manifest["comparisons"]:
        record.update(cell=name, workload=name, trace=name, baseline=name, candidate=name, message=name)
        record["parity"]["message"] = name


def in_steps(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Spoil:
    def spoil(folder: Path) -> None:
        for file in (folder / "steps").iterdir():
            changed = change(pq.read_table(file).to_pandas())
            pq.write_table(pa.Table.from_pandas(changed, preserve_index=False), file)

    return spoil


def in_pairs(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Spoil:
    return lambda folder: change_pair(folder, change)


def sparse(name: str, size: int) -> Spoil:
    def spoil(folder: Path) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        with (folder / name).open("wb") as file:
            file.truncate(size)

    return spoil


def link(name: str, target: str) -> Spoil:
    def spoil(folder: Path) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).symlink_to(target)

    return spoil


def pipe(name: str) -> Spoil:
    def spoil(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

    return spoil


def bomb_of_names(folder: Path) -> None:
    """One name of a megabyte that is in every row."""
    file = sorted((folder / "pairs").iterdir())[0]
    table = pq.read_table(file)
    names = pa.array(["x" * 2**20] * len(table))
    place = table.schema.get_field_index("variant")
    pq.write_table(table.set_column(place, "variant", names), file)
    assert file.stat().st_size < 2 * 2**20


def nested_column(folder: Path) -> None:
    file = sorted((folder / "pairs").iterdir())[0]
    table = pq.read_table(file)
    place = table.schema.get_field_index("cpu_ns")
    lists = pa.array([[1]] * len(table))
    pq.write_table(table.set_column(place, "cpu_ns", lists), file)


def named_badly(folder: Path) -> None:
    file = sorted((folder / "pairs").iterdir())[0]
    file.rename(file.with_name(f"{ESCAPE}\udcff\n--p000.parquet"))


REFUSED: dict[str, tuple[Spoil, str]] = {
    "link among traces": (link("traces/x.jsonl", "/etc/passwd"), "traces/x.jsonl is a symbolic link"),
    "link where a plot is written": (link("plots/effects.png", "/etc/passwd"), "effects.png is a symbolic link"),
    "link where a half-written file lies": (link("plots/.effects.png.tmp", "../../x"), "is a symbolic link"),
    "link to a folder above": (link("pyperf", ".."), "pyperf is a symbolic link"),
    "link that leads to itself": (link("x", "x"), "x is a symbolic link"),
    "link to nothing": (link("x", "nowhere"), "x is a symbolic link"),
    "pipe that never ends": (pipe("worker.log"), "worker.log is not a plain file"),
    "pipe in place of the manifest": (pipe("manifest.json"), "manifest.json is not a plain file"),
    "file of five gigabytes": (sparse("worker.log", 5 * 2**30), "expected at most"),
    "manifest of a gigabyte": (sparse("manifest.json", 2**30), "expected at most"),
    "bomb of names": (bomb_of_names, "column 'variant' has a name of 1048576 bytes"),
    "column that nests": (nested_column, "column 'cpu_ns' has type list"),
    "file name with terminal escapes": (named_badly, "unexpected name"),
    "text of a megabyte": (in_manifest(lambda m: m.update(name="x" * 2**20)), "maxLength"),
    "text of a megabyte deep inside": (in_manifest(lambda m: m["host"].update(cpu="x" * 2**20)), '"host.cpu"'),
    "integer past 64 bits": (in_manifest(lambda m: m["comparisons"][0].update(num_running=2**70)), "maximum"),
    "integer of 6,000 digits": (raw_manifest('"num_running": 256', f'"num_running": {"9" * 6000}'), "not valid JSON"),
    "number that is none": (raw_manifest('"cores": 2', '"cores": NaN'), "NaN is no JSON number"),
    "number without end": (raw_manifest('"cores": 2', '"cores": Infinity'), "Infinity is no JSON number"),
    "half a character": (raw_manifest('"synthetic"', '"\\ud800"'), "manifest.json: cannot be read"),
    "escape in an id": (in_manifest(lambda m: m["comparisons"][0].update(id=f"a{ESCAPE}/b")), "part of a file's name"),
    "id that climbs": (in_manifest(lambda m: m["comparisons"][0].update(id="../../x")), "part of a file's name"),
    "unknown key with escapes": (in_manifest(lambda m: m.update({ESCAPE: 1})), "extra inputs"),
    "list for a table": (in_manifest(lambda m: m.update(config=[])), '"config"'),
    "text for a flag": (in_manifest(lambda m: m["comparisons"][0].update(canary="perhaps")), "canary"),
    "folder where a page is written": (lambda folder: (folder / "report.html" / "x").mkdir(parents=True), "written"),
}

HARMLESS: dict[str, Spoil] = {
    "markup and escapes in every name": in_manifest(lambda m: every_name(m, MARKUP)),
    "mathematics in every name": in_manifest(lambda m: every_name(m, "$\\frac{1}{$_^")),
    "names of nothing but spaces": in_manifest(lambda m: every_name(m, "\u2003\t\n")),
    "names as long as allowed": in_manifest(lambda m: every_name(m, "\U0001f600" * 5_000)),
    "formulas of a spreadsheet in names": in_manifest(lambda m: every_name(m, '=HYPERLINK("x")')),
    "thousands of traces": in_manifest(lambda m: m["traces"].extend([m["traces"][0]] * 5_000)),
    "machine described by a tree": in_manifest(lambda m: m.update(host={"cpu": {"a": [{"b": [MARKUP] * 100}]}})),
    "sizes below zero": in_manifest(lambda m: [c.update(num_running=-5) for c in m["comparisons"]]),
    "sizes of zero": in_manifest(lambda m: [c.update(num_running=0) for c in m["comparisons"]]),
    "sizes past all machines": in_manifest(lambda m: m["comparisons"][0].update(num_running=2**53)),
    "margin of nearly nothing": in_manifest(lambda m: m["config"]["verdict"].update(margin_pct=1e-300)),
    "times of nothing": in_pairs(lambda t: t.assign(**dict.fromkeys([c for c in t if c.endswith("_ns")], 0))),
    "times of three centuries": in_pairs(
        lambda t: t.assign(**dict.fromkeys([c for c in t if c.endswith("_ns")], 2**63 - 1))
    ),
    "effect of a billion": in_pairs(lambda t: t.assign(cpu_ns=[10**18 if a == "candidate" else 1 for a in t["arm"]])),
    "steal time past all clocks": in_pairs(lambda t: t.assign(steal_ms=1e308)),
    "zygotes that nobody started": in_pairs(lambda t: t.assign(zygote=-(2**62))),
    "step numbers past all runs": in_steps(lambda t: t.assign(step=t["step"] * 2**55)),
    "phases that nobody knows": in_steps(lambda t: t.assign(phase=MARKUP)),
    "steps below zero": in_steps(lambda t: t.assign(cpu_ns=-1, schedule_ns=-(2**62), running=-1, aborted=-5)),
    "steps of one arm alone": in_steps(lambda t: t[t["arm"] == "baseline"]),
    "no step in a file of steps": in_steps(lambda t: t.iloc[:0]),
    "foreign files with foreign names": lambda folder: (folder / f"x{ESCAPE}<b>").write_bytes(b"\0" * 100),
    "pages that are there already": lambda folder: (folder / "comment.md").write_text(MARKUP),
}


@pytest.fixture
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return write_run(tmp_path / "run", RUN, with_steps=re.search("step|phase|markup", request.node.name) is not None)


def outside(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.parent.iterdir())


def test_there_are_more_than_twenty_kinds() -> None:
    assert len(REFUSED) > 20
    assert len(HARMLESS) > 20


@pytest.mark.parametrize("kind", REFUSED)
def test_refused_in_one_clear_line(folder: Path, kind: str) -> None:
    spoil, expected = REFUSED[kind]
    spoil(folder)
    before = outside(folder)
    for look in (render_report, draft):
        if look is draft and kind == "folder where a page is written":
            continue  # it writes no page
        with pytest.raises(RunFolderError) as refused:
            look(folder)
        message = str(refused.value)
        assert expected in message
        assert message.isprintable()
        assert len(message) < 1000
    assert outside(folder) == before


@pytest.mark.parametrize("kind", HARMLESS)
@pytest.mark.filterwarnings("error")
def test_shown_and_does_no_harm(folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.report.plots.style.PNG_DPI", 20)  # coarse pictures take half the time
    HARMLESS[kind](folder)
    before = outside(folder)
    render_report(folder)
    pages = [(folder / name).read_text() for name in ("report.md", "report.html", "comment.md")]
    if "name" in kind:  # what a comment shows that a report does not
        pages.append(draft(folder).body({}, ""))
    for page in pages:
        shown = page.replace("\n", "")
        assert ESCAPE[0] not in shown
        assert RIGHT_TO_LEFT not in shown
        assert "<img" not in shown.replace(r"\<img", "")
        assert shown.count("<script") - shown.count(r"\<script") <= 1
        assert "</details>" not in re.sub(r"</details>(?=\n|$)", "", page.replace(r"\</details", ""))
    assert outside(folder) == before


def test_bomb_of_rows_is_refused_before_it_is_unpacked(folder: Path) -> None:
    file = sorted((folder / "pairs").iterdir())[0]
    one = pq.read_table(file).slice(0, 1)
    batch = pa.concat_tables([one] * 10_000).combine_chunks()
    with pq.ParquetWriter(file, one.schema, compression="zstd") as writer:
        for _ in range(21):
            writer.write_table(batch)
    assert file.stat().st_size < 2**19
    with pytest.raises(RunFolderError, match=r"210000 rows, .* larger than what is read"):
        draft(folder)


def test_an_untrusted_folder_has_closer_bounds_than_one_s_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.report.publish.UNTRUSTED", replace(admission.UNTRUSTED, comparisons=0))
    with pytest.raises(RunFolderError, match="1 comparisons, expected at most 0"):
        draft(folder)
    monkeypatch.setattr("bench.report.publish.UNTRUSTED", replace(admission.UNTRUSTED, files=2))
    with pytest.raises(RunFolderError, match="larger than the 2 files"):
        draft(folder)
    monkeypatch.setattr("bench.report.publish.UNTRUSTED", replace(admission.UNTRUSTED, total_rows=5))
    with pytest.raises(RunFolderError, match="expected at most 5"):
        draft(folder)
    render_report(folder)
