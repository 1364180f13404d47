from __future__ import annotations

import re

import numpy as np
import pandas as pd

from bench.analysis.trends import trends
from bench.report.plots.history import MAX_PANELS, history_figure
from bench.report.plots.style import draw
from bench.units import SIGN_RULE
from tests.analysis.histories import history_rows, stepped
from tests.report.plots.test_figures import words


def test_trend_says_candidate_unit_sign_and_size_of_a_change() -> None:
    (found,) = trends(history_rows(stepped(35, 30, 3.0, 0.1, 4)))
    text = words(draw(history_figure, [found]))
    for word in ("dict against list, run by run", "effect in %", SIGN_RULE, "margin ±1.5 %", "95 % interval"):
        assert word in text
    assert re.search(r"\+[23]\.[09]\d %", text)


def test_no_more_panels_are_drawn_than_fit() -> None:
    many = trends(pd.concat([history_rows(np.zeros(3), cell=f"cell-{number}") for number in range(MAX_PANELS + 5)]))
    text = words(draw(history_figure, many))
    assert f"cell-{MAX_PANELS - 1}" in text
    assert f"cell-{MAX_PANELS}" not in text


def test_single_run_without_bounds_can_be_drawn() -> None:
    rows = history_rows(np.zeros(1)).assign(low_pct=-np.inf, high_pct=np.inf)
    assert draw(history_figure, trends(rows)).png
