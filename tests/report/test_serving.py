from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from bench.analysis.comparisons import compare
from bench.analysis.load import Run, load_run
from bench.report.render import render_report
from bench.report.serving import serving
from bench.report.tables import verdict_table
from tests.analysis.served_folder import SERVED, write_served_run


@pytest.fixture
def served(tmp_path: Path) -> Run:
    return load_run(write_served_run(tmp_path / "run", (0.02,) * 8))


def test_section_names_lateness_disconnects_and_every_latency(served: Run) -> None:
    (section,) = serving(served, compare(served))
    client, latencies = section.tables
    assert client.rows[0] == (
        *("serve-arrivals-n16", "dict", "baseline", "64", "16", "16"),
        *("0.5 ms", "0.5 ms", "0.5 ms", "19.0", "227.8", "19.0"),
    )
    assert [row[2] for row in latencies.rows][:4] == ["tpot", "tpot_p50", "tpot_p99", "ttft"]
    assert latencies.rows[0][3:6] == ("10.0 ms", "10.2 ms", "+2.00 %")
    assert "negative = candidate faster" in latencies.note
    assert not any("late:" in text for text in section.paragraphs)


def test_a_late_client_is_told_above_the_tables(tmp_path: Path) -> None:
    run = load_run(write_served_run(tmp_path / "run", (0.0,) * 6, late_ms=12.0))
    (section,) = serving(run, compare(run))
    assert section.paragraphs[1].startswith("serve-arrivals-n16, dict: the client was late")


def test_runs_without_a_server_have_no_such_section(typical_run: Run, typical: pd.DataFrame) -> None:
    assert serving(typical_run, typical) == ()


def test_whole_report_of_a_served_run_has_the_verdict_everywhere(served: Run) -> None:
    render_report(served.path)
    for name in ("report.md", "report.html", "comment.md"):
        text = (served.path / name).read_text(encoding="utf-8")
        assert "serve-arrivals-n16" in text
        assert "SLOWER" in text
    page = (served.path / "report.md").read_text(encoding="utf-8")
    assert "What clients of the servers saw" in page
    assert "requests of pair 0" in (served.path / "report.html").read_text(encoding="utf-8")
    assert "baseline: time a step; serve: TPOT" in verdict_table(compare(served))


def test_a_failed_comparison_is_reported_with_its_message(tmp_path: Path) -> None:
    message = "the candidate's server ended in the middle of replay p0: no last word"
    run = load_run(write_served_run(tmp_path / "run", (), replace(SERVED, status="failed", message=message)))
    render_report(run.path)
    assert message in verdict_table(compare(run)).replace("\n    ", " ")
