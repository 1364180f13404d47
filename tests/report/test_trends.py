from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from bench.analysis.trends import Trend, trends
from bench.report.plots.history import MAX_PANELS
from bench.report.trends import change_lines, trend_table, write_trend_plots
from bench.units import SIGN_RULE
from tests.analysis.histories import history_rows, stepped


@pytest.fixture(scope="module")
def found() -> list[Trend]:
    rows = [
        history_rows(stepped(35, 30, 3.0, 0.3, 4), new_source=30),
        history_rows(stepped(35, 12, -2.5, 0.3, 5), cell="replay-abort-storm-n64"),
        history_rows(stepped(35, 35, 0.0, 0.3, 6), candidate="list", canary=True),
    ]
    return trends(pd.concat(rows))


def test_change_is_told_with_place_size_and_cause_news_first(found: list[Trend]) -> None:
    lines = change_lines(found)
    assert len(lines) == 2
    assert lines[0].startswith("SLOWER: replay-steady-decode-n256, dict: +")
    assert "since run 31 of 35 (2026-01-31, 000000000000001e)" in lines[0]
    assert lines[0].endswith("; the candidate's source changed there")
    assert lines[1].startswith("earlier: replay-abort-storm-n64, dict: -2.")
    assert "source changed" not in lines[1]


def test_quiet_history_says_so_without_claiming_equality() -> None:
    assert change_lines(trends(history_rows(np.zeros(5)))) == [
        "no change of level in 1 series; too few runs show nothing"
    ]


def test_table_has_a_line_a_series_with_sign_rule(found: list[Trend]) -> None:
    table = trend_table(found)
    assert SIGN_RULE in table
    assert len(table.splitlines()) == 1 + 3 + 2
    assert "A/A" in table


def test_plots_are_one_a_candidate_and_the_same_bytes_twice(found: list[Trend], tmp_path: Path) -> None:
    paths = write_trend_plots(found, tmp_path)
    assert len(paths) == 4
    first = [path.read_bytes() for path in paths]
    assert [path.read_bytes() for path in write_trend_plots(found, tmp_path)] == first


def test_figure_of_many_cells_stays_small(tmp_path: Path) -> None:
    many = trends(pd.concat([history_rows(np.zeros(3), cell=f"cell-{number}") for number in range(MAX_PANELS + 5)]))
    png = next(path for path in write_trend_plots(many, tmp_path) if path.suffix == ".png")
    assert Image.open(png).height < 5000


def test_hostile_names_are_drawn_and_written_as_text(tmp_path: Path) -> None:
    rows = history_rows(np.zeros(3), cell="$\\frac{<b>\x1b[31m", candidate="../../x", environment="../e")
    hostile = trends(rows)
    paths = write_trend_plots(hostile, tmp_path)
    assert all(path.parent == tmp_path for path in paths)
    assert "\x1b" not in trend_table(hostile)
