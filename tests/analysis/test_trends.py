from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bench.analysis.trends import RECENT, exit_code, trends
from bench.errors import EXIT_DONE, EXIT_REGRESSION
from tests.analysis.histories import history_rows, stepped


def of(count: int, step: float, **changes: object) -> pd.DataFrame:
    return history_rows(stepped(count, 30, step, 0.4, 3), **changes)  # type: ignore[arg-type]


def test_series_are_told_apart_by_environment_cell_and_trace() -> None:
    rows = [of(3, 0), of(4, 0, environment="e"), of(5, 0, cell="c"), of(6, 0, trace_digest="f" * 64)]
    assert [len(one.runs) for one in trends(pd.concat(rows))] == [3, 4, 5, 6]


def test_another_source_of_the_candidate_stays_in_its_series() -> None:
    (one,) = trends(of(40, 3.0, new_source=30))
    assert [change.index for change in one.changes] == [30]


def test_slower_candidate_is_news_for_a_week_and_then_history() -> None:
    for count, code in ((33, EXIT_REGRESSION), (30 + RECENT, EXIT_REGRESSION), (31 + RECENT, EXIT_DONE)):
        found = trends(of(count, 3.0))
        assert len(found[0].changes) == 1
        assert (found[0].news() is not None) == (code == EXIT_REGRESSION)
        assert exit_code(found) == code


@pytest.mark.parametrize(("step", "canary"), [(-3.0, False), (3.0, True), (0.0, False)])
def test_faster_candidates_canaries_and_quiet_series_are_no_regression(step: float, canary: bool) -> None:
    found = trends(of(35, step, canary=canary))
    assert bool(found[0].changes) == bool(step)
    assert exit_code(found) == EXIT_DONE


def test_change_below_half_the_margin_is_not_told() -> None:
    rows = history_rows(stepped(60, 30, 1.0, 0.05, 3))
    assert trends(rows)[0].changes
    assert not trends(rows.assign(margin_pct=3.0))[0].changes


def test_no_history_has_no_trend() -> None:
    assert trends(history_rows(np.zeros(0))) == []
