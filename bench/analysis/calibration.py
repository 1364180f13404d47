"""How often the verdict cries wolf, and how small a change it sees: many gates of identical schedulers, summed up.

A gate is one whole run of one cell, the baseline against itself; effects of known size are planted into the same
pairs (`bench.analysis.planting`). Gates are independent of one another, the planted levels of one gate are not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from bench.analysis import statistics
from bench.analysis.estimates import estimate
from bench.analysis.load import Run
from bench.analysis.looks import ONE_LOOK
from bench.analysis.metrics import BESIDE, GATING
from bench.analysis.noise import unfit_host
from bench.analysis.planting import plant
from bench.analysis.slices import Slices, slices_of
from bench.analysis.verdicts import Evidence, judge
from bench.errors import MeasureError
from bench.units import NS_PER_S

CONFIDENCE = 0.95
FAR_AWAY = 20.0  # noncentralities beyond it have a power of 1 to twelve digits, which scipy gives as nan
A_A = 0.0  # the planted percentage of a gate into which nothing was planted


def gate_rows(run: Run, gate: int, planted: Sequence[float], seconds: float) -> pd.DataFrame:
    """A row for the A/A gate, by the rule of the run, and one a planted percentage, judged once at the same pairs.

    `seconds` is the wall time of the whole gate; times spent in slices come from the run. Raises MeasureError where
    nothing was measured.
    """
    (record,) = run.manifest.comparisons
    slices = slices_of(run, record.id)
    if not slices.undisturbed.any():
        raise MeasureError(f"gate {gate}: {record.message or 'no undisturbed slice'}")
    column = GATING[record.tier].column
    spent_s = float(slices.baseline["step_ns"].sum() + slices.candidate["step_ns"].sum()) / NS_PER_S
    rows = []
    for percent in (A_A, *planted):
        tails = ONE_LOOK if percent else run.tails_of(record)
        changed = plant(slices, percent) if percent else slices
        found = estimate(changed, column, run.limits.margin, tails)
        beside = estimate(changed, BESIDE[record.tier].column, run.limits.margin, tails)
        evidence = Evidence(
            num_pairs=found.num_pairs, effect=found.effect, interval=found.judged, equivalence=found.equivalence,
            tails=tails, other_clock=beside.judged, excluded=slices.excluded, pairs_to_settle=found.pairs_to_settle,
            unfit=unfit_host(run, record.tier),
        )  # fmt: skip
        ruling = judge(evidence, run.limits)
        rows.append({
            "gate": gate, "planted_pct": percent, "look": record.look if not percent else 1,
            "num_pairs": found.num_pairs, "effect_pct": 100 * found.effect,
            "low_pct": 100 * found.interval[0], "high_pct": 100 * found.interval[1],
            "judged_low_pct": 100 * found.judged[0], "judged_high_pct": 100 * found.judged[1],
            "pair_sd_pct": 100 * found.sd, "excluded_pct": 100 * slices.excluded,
            "verdict": ruling.verdict, "reason": ruling.reason, "seconds": seconds, "timed_s": spent_s,
        })  # fmt: skip
    return pd.DataFrame(rows)


def pair_rows(run: Run, gate: int) -> pd.DataFrame:
    """The score of every pair of an A/A gate, in %, with its zygote: what variance components are made of."""
    (record,) = run.manifest.comparisons
    slices: Slices = slices_of(run, record.id)
    times = slices.times(GATING[record.tier].column)
    scored = statistics.pair_scores(times.baseline_ns, times.candidate_ns, times.pair)
    zygotes = slices.baseline.groupby("pair")["zygote"].first().reindex(scored.pairs)
    return pd.DataFrame(
        {"gate": gate, "pair": scored.pairs, "zygote": zygotes.to_numpy(), "score_pct": 100 * np.expm1(scored.medians)}
    )


def summarise(gates: pd.DataFrame) -> pd.DataFrame:
    """A row a planted percentage (0: A/A), shares in % with exact (Clopper–Pearson) 95 % intervals.

    `called`: SLOWER or FASTER. `found`: the judging interval excludes 0 on the planted side; for A/A on either.
    `wrong_sign`: it excludes 0 on the other side. `covered`: the 95 % interval holds what was planted.
    """
    levels = np.unique(gates["planted_pct"].to_numpy(dtype=np.float64))
    return pd.DataFrame([_summary(float(level), gates[gates["planted_pct"] == level]) for level in levels])


def _summary(percent: float, rows: pd.DataFrame) -> dict[str, Any]:
    above, below = rows["judged_low_pct"] > 0, rows["judged_high_pct"] < 0
    found = above if percent else above | below
    called = rows["verdict"].isin(["SLOWER", "FASTER"])
    covered = (rows["low_pct"] <= percent) & (percent <= rows["high_pct"])
    row: dict[str, Any] = {
        "planted_pct": percent,
        "num_gates": len(rows),
        "wrong_sign": int(below.sum()) if percent else 0,
        "effect_pct": float(rows["effect_pct"].mean()),
        "effect_sd_pct": float(rows["effect_pct"].std(ddof=1)) if len(rows) > 1 else math.nan,
        "half_width_pct": float(((rows["high_pct"] - rows["low_pct"]) / 2).median()),
        "seconds": float(rows["seconds"].median()),
        "max_seconds": float(rows["seconds"].max()),
        "timed_share_pct": float(100 * rows["timed_s"].sum() / rows["seconds"].sum()),
    }
    for name, hits in (("called", called), ("found", found), ("covered", covered)):
        low, high = share_interval(int(hits.sum()), len(rows))
        row |= {name: int(hits.sum()), f"{name}_low_pct": 100 * low, f"{name}_high_pct": 100 * high}
    for verdict in ("FASTER", "SLOWER", "EQUIVALENT", "INCONCLUSIVE"):
        row[verdict.lower()] = int((rows["verdict"] == verdict).sum())
    return row


def share_interval(count: int, total: int) -> tuple[float, float]:
    """The exact 95 % interval of a share: Clopper and Pearson (1934)."""
    low, high = proportion_confint(count, total, alpha=1 - CONFIDENCE, method="beta")
    return (0.0 if count == 0 else float(low)), (1.0 if count == total else float(high))


def upper_bound(count: int, total: int) -> float:
    """The one-sided exact 95 % upper bound of a share: with none in 100, 3.0 %."""
    if count == total:
        return 1.0
    return float(proportion_confint(count, total, alpha=2 * (1 - CONFIDENCE), method="beta")[1])


def components(pairs: pd.DataFrame) -> dict[str, float]:
    """SD of a pair's score in %: within a zygote, between the zygotes of one gate, and between gates' means."""
    scores, gates = pairs["score_pct"].to_numpy(dtype=np.float64), pairs["gate"].to_numpy()
    zygotes = pairs.groupby(["gate", "zygote"]).ngroup().to_numpy()
    inner = statistics.variance_components(scores, np.asarray(zygotes, dtype=np.int64))
    outer = statistics.variance_components(scores, np.asarray(gates, dtype=np.int64))
    return {
        "within_zygote_sd_pct": inner.within_sd,
        "between_zygotes_sd_pct": inner.between_sd,
        "between_gates_sd_pct": outer.between_sd,
        "num_pairs": len(pairs),
        "num_zygotes": int(np.unique(zygotes).size),
    }


def power_curve(sd_pct: float, num_pairs: int, effects_pct: Sequence[float]) -> list[float]:
    """The chance, 0 to 1, that a two-sided 5 % t test of so many pairs finds each effect: what theory expects.

    By the noncentral t distribution; nan without a spread.
    """
    if not sd_pct > 0 or num_pairs < 2:
        return [math.nan] * len(effects_pct)
    shifts = np.abs(np.asarray(effects_pct)) / sd_pct * math.sqrt(num_pairs)
    edge = stats.t.ppf(0.975, num_pairs - 1)
    above = stats.nct.sf(edge, num_pairs - 1, np.minimum(shifts, FAR_AWAY))
    return [float(chance) for chance in above]
