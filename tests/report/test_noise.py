from __future__ import annotations

from pathlib import Path

from bench.analysis.comparisons import compare
from bench.analysis.load import Run
from bench.report.comment import render_comment
from bench.report.compose import summary
from bench.report.noise import noise_score, noise_table
from bench.report.sections import machine
from tests.analysis.test_noise import FIT, UNFIT, with_noise


def test_the_score_stands_with_the_noise_floor(tmp_path: Path) -> None:
    run = with_noise(tmp_path / "run", [FIT])
    sentence = "Noise score before the first pair: CPU time of equal work spread by 0.5 %, 0.1 % of it lost the core."
    assert noise_score(run.manifest) == (sentence,)
    assert "Noise score before the first pair" in render_comment(summary(run, compare(run)), 1.5)


def test_the_worst_session_counts_and_is_called_unfit(tmp_path: Path) -> None:
    (sentence,) = noise_score(with_noise(tmp_path / "run", [FIT, UNFIT]).manifest)
    assert "40.0 % of it lost the core; NOT FIT to measure." in sentence


def test_each_session_is_a_row_beside_the_machine(tmp_path: Path) -> None:
    run = with_noise(tmp_path / "run", [FIT, UNFIT])
    table = noise_table(run.manifest)
    assert [(row[0], row[2], row[-1]) for row in table.rows] == [
        ("1", "0.10 %", "fit"),
        ("2", "40.00 %", "40.0 % of slices lost the core"),
    ]
    assert table in machine(run).tables
    assert all(row[0] != "noise" for row in machine(run).tables[0].rows)


def test_a_run_without_a_score_says_nothing(typical_run: Run) -> None:
    assert noise_score(typical_run.manifest) == ()
    assert noise_table(typical_run.manifest).rows == ()
