"""The effect that each single pair showed, in the order measured: the replicates behind an estimate.

For looking at drift, outliers and zygotes; the estimate itself is made in `bench.analysis.estimates`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from bench.analysis import statistics
from bench.analysis.latencies import served_pair_effects
from bench.analysis.load import Run
from bench.analysis.metrics import GATING, SERVE
from bench.analysis.slices import slices_of


def pair_effects(run: Run, comparison_id: str, score: str) -> pd.DataFrame:
    """A row a pair: pair, zygote, effect_pct by `score` (`median` or `sums`); negative = candidate faster.

    Undisturbed slices of the gating clock; pairs without one, or without time in an arm, are left out.
    """
    if run.comparison(comparison_id).tier == SERVE:
        return served_pair_effects(run, comparison_id, GATING[SERVE])
    slices = slices_of(run, comparison_id)
    times = slices.times(GATING[run.comparison(comparison_id).tier].column)
    scored = statistics.pair_scores(times.baseline_ns, times.candidate_ns, times.pair)
    scores = scored.sums if score == "sums" else scored.medians
    zygotes = slices.baseline.groupby("pair")["zygote"].first().reindex(scored.pairs).to_numpy()
    table = pd.DataFrame({"pair": scored.pairs, "zygote": zygotes, "effect_pct": 100 * np.expm1(scores)})
    return table.dropna(subset=["effect_pct"]).reset_index(drop=True)
