"""The errors that looks may make, held by simulation: seeds are fixed, so that nothing here depends on luck."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bench.analysis import statistics
from bench.analysis.looks import ONE_LOOK, TWO_LOOKS, Tails, regressions, tails_of, unsettled

LOOKS = (20, 60)
MARGIN = 0.015
SD = 0.02
CAMPAIGNS = 2500


def campaigns(effect: float, seed: int) -> np.ndarray:
    """`(CAMPAIGNS, 60)` scores of pairs whose true effect is `effect`."""
    return np.random.default_rng(seed).normal(np.log1p(effect), SD, size=(CAMPAIGNS, LOOKS[1]))


def excludes(scores: np.ndarray, level: float, value: float = 0.0) -> bool:
    low, high = statistics.signed_rank_interval(scores, level)
    return low > value or high < value


def test_levels() -> None:
    assert (ONE_LOOK.level, ONE_LOOK.equivalence_level, ONE_LOOK.fewest_pairs) == (0.95, 0.90, 6)
    assert TWO_LOOKS[0].level == pytest.approx(0.996)
    assert TWO_LOOKS[0].fewest_pairs == 9  # one sign pattern of 512 has a chance below 0.002


def test_the_fewest_pairs_are_those_that_can_hold_the_level() -> None:
    for tails in (ONE_LOOK, *TWO_LOOKS, Tails(0.1, 0.1)):
        scores = np.linspace(0.9, 1.1, tails.fewest_pairs)
        assert np.isfinite(statistics.signed_rank_interval(scores, tails.level)).all()


def test_one_look_or_two() -> None:
    assert tails_of(1, looks_twice=False) == ONE_LOOK
    assert [tails_of(look, looks_twice=True) for look in (1, 2)] == [*TWO_LOOKS]


def test_two_looks_at_nothing_find_something_in_two_of_a_hundred_runs() -> None:
    wrong = 0
    for scores in campaigns(0.0, seed=1):
        wrong += any(excludes(scores[:n], tails.level) for n, tails in zip(LOOKS, TWO_LOOKS, strict=True))
    assert 0.012 <= wrong / CAMPAIGNS <= 0.028  # 2.1 % on both sides together, less what both looks find


def test_two_naive_looks_would_find_more_than_five() -> None:
    wrong = sum(any(excludes(scores[:n], 0.95) for n in LOOKS) for scores in campaigns(0.0, seed=2))
    assert wrong / CAMPAIGNS > 0.065


def test_two_looks_call_the_margin_itself_equivalent_in_at_most_five_of_a_hundred_runs() -> None:
    wrong, end = 0, np.log1p(MARGIN)
    for scores in campaigns(MARGIN, seed=3):
        levels = [tails.equivalence_level for tails in TWO_LOOKS]
        found = [statistics.signed_rank_interval(scores[:n], level) for n, level in zip(LOOKS, levels, strict=True)]
        wrong += any(-end < low and high < end for low, high in found)
    assert 0.025 <= wrong / CAMPAIGNS <= 0.055


def test_the_95_percent_interval_covers_what_it_should() -> None:
    held = sum(not excludes(scores[:20], 0.95, np.log1p(0.01)) for scores in campaigns(0.01, seed=4))
    assert 0.94 <= held / CAMPAIGNS <= 0.965


def test_holm_keeps_the_error_of_a_whole_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gc.collect", lambda: 0)  # statsmodels collects garbage in every call
    rng = np.random.default_rng(5)
    alarms = sum(bool((statistics.holm(rng.uniform(size=4)) <= 0.05).any()) for _ in range(CAMPAIGNS))
    assert 0.040 <= alarms / CAMPAIGNS <= 0.058


def test_holm_multiplies_the_smallest_by_all() -> None:
    assert statistics.holm(np.array([0.01, 0.04, 0.03])) == pytest.approx([0.03, 0.06, 0.06])
    assert np.isnan(statistics.holm(np.array([np.nan, 0.01]))[0])


def table(**columns: list[object]) -> pd.DataFrame:
    base = {"gating": True, "canary": False, "verdict": "EQUIVALENT", "pairs_needed": 0, "p_holm": 0.5}
    frame = pd.DataFrame(columns)
    return frame.assign(**{name: value for name, value in base.items() if name not in columns})


def test_only_what_more_pairs_would_settle_is_looked_at_again() -> None:
    rows = table(
        comparison=["a", "b", "c", "d", "e"],
        verdict=["INCONCLUSIVE", "INCONCLUSIVE", "EQUIVALENT", "INCONCLUSIVE", "INCONCLUSIVE"],
        pairs_needed=[40, -1, 0, 30, 30],
        canary=[False, False, False, True, False],
        gating=[True, True, True, True, False],
    )
    assert unsettled(rows) == ["a"]


def test_a_gate_heeds_how_many_were_judged() -> None:
    rows = table(comparison=["a", "b", "c"], verdict=["SLOWER", "SLOWER", "FASTER"], p_holm=[0.01, 0.20, 0.01])
    assert regressions(rows) == ["a"]
