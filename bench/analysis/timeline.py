"""One comparison step by step: what each step cost in both arms, and what happened in it.

For looking at, not for judging: a step is far shorter than the noise of one pair.
"""

from __future__ import annotations

import pandas as pd

from bench.analysis.load import ARMS, Run
from bench.records import LEAD_IN
from bench.units import NS_PER_US

SPENT = {"replay": ("schedule_ns", "update_ns", "finish_ns"), "engine": ("step_ns",)}
COUNTS = ("running", "waiting", "preempted", "finished", "aborted")


def timeline(run: Run, comparison_id: str) -> pd.DataFrame:
    """A row a step, indexed by `step`: phase, baseline_us and candidate_us (median over pairs), counts, and num_pairs.

    Wall time in the scheduler in the replay tier, of the whole step in the engine tier. Counts are the baseline's;
    the arms decide alike, or the comparison is void. Steps that lead in are left out, since they are shorter. Empty
    where no steps were saved.
    """
    spent = SPENT.get(run.comparison(comparison_id).tier)
    if spent is None:  # the steps of a server are its own, and not the other arm's
        return pd.DataFrame(columns=["phase", *COUNTS, *(f"{arm}_us" for arm in ARMS), "num_pairs"])
    steps = run.steps_of(comparison_id, ["pair", "arm", "step", "phase", *COUNTS, *spent])
    steps = steps[steps["phase"] != LEAD_IN].copy()
    steps["time_us"] = steps[list(spent)].sum(axis=1) / NS_PER_US
    baseline = steps[steps["arm"] == ARMS[0]].groupby("step")
    table = baseline[["phase", *COUNTS]].first()
    for arm in ARMS:
        table[f"{arm}_us"] = steps[steps["arm"] == arm].groupby("step")["time_us"].median()
    table["num_pairs"] = baseline["pair"].nunique()
    return table
