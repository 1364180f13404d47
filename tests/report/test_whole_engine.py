from __future__ import annotations

from pathlib import Path

from bench.analysis.comparisons import compare
from bench.analysis.load import load_run
from bench.report.whole_engine import MARK, engine_notes, whole_engine
from tests.analysis.run_folder import CANARY, Planned, write_run
from tests.analysis.test_probe_cost import write_probe

REAL = Planned(tier="engine", effect=-0.02, pairs=8)
ASYNC = Planned(tier="engine", workload="steady-decode-async-simulated_model_40ms", pairs=8)


def test_a_run_without_engines_has_no_such_section(tmp_path: Path) -> None:
    run = load_run(write_run(tmp_path / "run", [Planned(pairs=8)], with_steps=False))
    assert whole_engine(run, compare(run)) == ()
    assert engine_notes(run, compare(run)) == []


def test_parts_probe_and_check_stand_in_one_section(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", [CANARY, Planned(effect=-0.02, pairs=8), REAL], with_steps=False)
    write_probe(folder, 256, 18_000)
    run = load_run(folder)
    (section,) = whole_engine(run, compare(run))
    parts, checked, probe = section.tables
    assert [row[0] for row in parts.rows] == ["engine-steady-decode-n256"]
    assert len(parts.rows[0]) == len(parts.headers) == len(parts.aligned)
    (row,) = checked.rows
    assert row[:3] == ("engine-steady-decode-n256", "dict", "6.6 %")
    assert row[-1] == "yes"
    assert row[6].endswith(MARK)  # of a step of 43 ms the probe costs 0.04 %
    assert probe.rows[0][:3] == ("256", "101", "18.0 µs")


def test_a_simulated_model_is_said_to_be_one(tmp_path: Path) -> None:
    run = load_run(write_run(tmp_path / "run", [REAL], with_steps=False))
    assert not any("simulated" in note for note in engine_notes(run, compare(run)))
    run = load_run(write_run(tmp_path / "other", [REAL, ASYNC], with_steps=False))
    assert "of the model nothing is" in engine_notes(run, compare(run))[0]


def test_what_the_parts_leave_over_is_said_in_a_sentence(tmp_path: Path) -> None:
    run = load_run(write_run(tmp_path / "run", [REAL], with_steps=False))
    assert engine_notes(run, compare(run)) == ["The parts of an engine's step add up to it within 0.2 %."]
