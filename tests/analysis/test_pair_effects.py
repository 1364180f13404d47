from __future__ import annotations

import pandas as pd
import pytest

from bench.analysis.load import Run
from bench.analysis.pair_effects import pair_effects

STORM = "replay-abort-storm-n1024--dict"


def test_each_pair_has_its_own_effect_and_the_median_is_near_the_estimate(
    typical_run: Run, typical: pd.DataFrame
) -> None:
    table = pair_effects(typical_run, STORM, "median")
    assert list(table["pair"]) == list(range(20))
    assert list(table["zygote"]) == [pair // 5 for pair in range(20)]
    estimate = typical[(typical["comparison"] == STORM) & typical["gating"]]["effect_pct"].iloc[0]
    assert table["effect_pct"].median() == pytest.approx(estimate, abs=0.3)


def test_score_chooses_between_medians_and_sums(typical_run: Run) -> None:
    medians, sums = (pair_effects(typical_run, STORM, score)["effect_pct"] for score in ("median", "sums"))
    assert not medians.equals(sums)


def test_void_comparison_has_no_pairs(typical_run: Run) -> None:
    assert pair_effects(typical_run, "replay-finish-wave-n256--dict", "").empty
