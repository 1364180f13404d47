from __future__ import annotations

import math

import pandas as pd
import pytest

from bench.analysis.load import Run
from bench.report import cells as module
from bench.report.cells import cells, engine_step_us, interval_us
from bench.report.content import Cell, Content
from bench.report.verdict_lines import verdict_lines
from tests.report.rows import row, table


@pytest.fixture
def storm(content: Content) -> Cell:
    return next(cell for cell in content.cells if cell.anchor == "cell-replay-abort-storm-n1024--dict")


def rows_of(cell: Cell, first_header: str) -> dict[str, tuple[str, ...]]:
    found = next(one for one in cell.tables if one.headers[0] == first_header)
    return {line[0]: line[1:] for line in found.rows}


def test_each_comparison_has_one_cell_in_the_order_of_the_verdicts(content: Content) -> None:
    assert tuple(cell.line for cell in content.cells) == content.verdicts
    assert len({cell.anchor for cell in content.cells}) == len(content.cells)


def test_result_has_every_figure_with_unit_and_sign(storm: Cell) -> None:
    result = rows_of(storm, "result")
    assert result["effect"][0].startswith("-11.") or result["effect"][0].startswith("-12.")
    assert result["difference"][0].startswith("-")
    assert result["difference"][0].endswith("ms")
    assert result["margin"] == ("±1.5 %",)
    assert result["pairs, slices, excluded"] == ("20, 240, 0.0 %",)


def test_functions_share_out_the_scheduler_s_time(storm: Cell) -> None:
    functions = rows_of(storm, "function")
    assert list(functions) == ["schedule", "update", "finish"]
    shares = [float(figures[4].removesuffix(" %")) for figures in functions.values()]
    assert sum(shares) == pytest.approx(100, abs=0.3)
    assert shares[0] == pytest.approx(54.5, abs=1)


def test_quantiles_of_a_step_shift_with_the_planted_effect(storm: Cell) -> None:
    shift = {
        level: float(figures[0].removesuffix(" %")) for level, figures in rows_of(storm, "quantile of a step").items()
    }
    assert set(shift) == {"p50", "p90", "p99"}
    assert all(effect == pytest.approx(-12, abs=0.7) for effect in shift.values())


def test_sizes_of_one_curve_stand_together(content: Content, storm: Cell) -> None:
    assert list(rows_of(storm, "requests running")) == ["256", "1024"]
    alone = next(cell for cell in content.cells if cell.workload == "preemption")
    assert alone.tables[-1].rows == ()


def test_void_comparison_has_a_cell_without_figures(content: Content) -> None:
    void = next(cell for cell in content.cells if cell.line.verdict == "VOID")
    assert void.pictures == ()
    assert rows_of(void, "result")["effect"] == ("–",)


def test_largest_size_of_each_curve_is_marked(content: Content) -> None:
    largest = {cell.anchor for cell in content.cells if cell.is_largest}
    assert "cell-replay-abort-storm-n1024--dict" in largest
    assert "cell-replay-abort-storm-n256--dict" not in largest
    assert not any(anchor.endswith("--aa") for anchor in largest)


def test_only_those_that_need_attention_most_are_drawn(
    typical_run: Run, typical: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_DRAWN", 1)
    made, drawn = cells(typical_run, typical, verdict_lines(typical))
    assert [cell.workload for cell in made if cell.pictures] == ["preemption"]
    assert len(drawn) == 2
    assert all(cell.tables[0].rows for cell in made)


def test_engine_step_is_that_of_the_same_workload_and_size() -> None:
    engine = row(workload="a", num_running=8, tier="engine", metric="step", baseline_us=9.0)
    replay = row(workload="a", num_running=8)
    rows = table(replay, engine)
    assert engine_step_us(rows, replay) == 9.0
    assert math.isnan(engine_step_us(rows, replay | {"num_running": 16}))
    assert engine_step_us(rows, engine | {"baseline_us": 8.0}) == 8.0


def test_interval_in_time_keeps_its_signs() -> None:
    assert interval_us(row(baseline_us=1000.0, low_pct=-1.0, high_pct=0.5)) == "-10.0 µs … +5.00 µs"
    assert interval_us(row(low_pct=-math.inf, high_pct=math.inf)) == "–"
