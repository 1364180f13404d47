from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench.analysis.clients import client_facts, late_client
from bench.analysis.load import load_run
from tests.analysis.served_folder import SERVED, write_served_run


def test_facts_of_both_arms_are_those_worked_by_hand(tmp_path: Path) -> None:
    run = load_run(write_served_run(tmp_path / "run", (0.0, 0.0)))
    table = client_facts(run, SERVED.id).set_index("arm")
    assert table.index.tolist() == ["baseline", "candidate"]
    facts = table.loc["baseline"]
    assert facts[["num_requests", "num_hung_up", "num_aborted"]].tolist() == [16, 4, 4]
    assert facts[["late_p50_ms", "late_p99_ms", "late_max_ms"]].tolist() == [0.5, 0.5, 0.5]
    assert facts["requests_per_s"] == facts["good_per_s"] == pytest.approx(6 / 0.316)
    assert facts["tokens_per_s"] == pytest.approx(72 / 0.316)


def test_a_client_that_is_late_against_what_it_measures_is_told(tmp_path: Path) -> None:
    well = load_run(write_served_run(tmp_path / "well", (0.0,), late_ms=3.9))
    late = load_run(write_served_run(tmp_path / "late", (0.0,), late_ms=4.1))
    assert late_client(well, SERVED.id) == ""
    assert "p99 4.1 ms against a median TTFT of 40 ms" in late_client(late, SERVED.id)


def test_without_a_pair_there_is_nothing_to_tell(tmp_path: Path) -> None:
    run = load_run(write_served_run(tmp_path / "run", (), replace(SERVED, status="planned")))
    assert client_facts(run, SERVED.id).empty
    assert late_client(run, SERVED.id) == ""
