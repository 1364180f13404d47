"""How well the client of the serve tier kept its own times, and what came through: facts beside the latencies."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bench.analysis.latencies import REPLAY, is_good, objectives_of, with_latencies
from bench.analysis.load import ARMS, Run
from bench.units import NS_PER_MS, NS_PER_S

COLUMNS = [
    "arm", "num_requests", "num_hung_up", "num_aborted", "late_p50_ms", "late_p99_ms", "late_max_ms",
    "requests_per_s", "tokens_per_s", "good_per_s",
]  # fmt: skip
LATE_SHARE = 0.1  # of the median TTFT: from there on the client itself is part of what it measured


def client_facts(run: Run, comparison_id: str) -> pd.DataFrame:
    """A row an arm, columns COLUMNS, over all pairs; lateness is actual minus intended send. Empty without a pair.

    `num_hung_up` counts clients that closed the connection, `num_aborted` the requests that the server's scheduler
    aborted. Rates are medians over replays of what ended in the time of each.
    """
    requests = with_latencies(run.requests_of(comparison_id))
    requests["good"] = is_good(requests, objectives_of(run))
    steps = run.steps_of(comparison_id, [*REPLAY, "aborted"])
    return pd.DataFrame([_facts(requests, steps, arm) for arm in ARMS if len(requests)], columns=COLUMNS)


def late_client(run: Run, comparison_id: str) -> str:
    """Why the client's own delay cannot be overlooked, in a sentence; an empty string where it can."""
    requests = run.requests_of(comparison_id)
    late_ns, ttft_ns = requests["late_ns"].quantile(0.99), requests["ttft_ns"].median()
    if not late_ns > LATE_SHARE * ttft_ns:
        return ""
    return (
        f"the client was late: p99 {late_ns / NS_PER_MS:.3g} ms against a median TTFT of {ttft_ns / NS_PER_MS:.3g} ms; "
        "give it a core of its own, or ask for fewer requests a second."
    )


def _facts(requests: pd.DataFrame, steps: pd.DataFrame, arm: str) -> dict[str, object]:
    mine = requests[requests["arm"] == arm]
    late_ms = mine["late_ns"].to_numpy(dtype=np.float64) / NS_PER_MS
    p50, p99 = np.quantile(late_ms, [0.5, 0.99])
    replays = mine.groupby("pair")
    took_s = replays["ended_ns"].max() / NS_PER_S
    return {
        "arm": arm,
        "num_requests": len(mine),
        "num_hung_up": int(mine["hung_up"].sum()),
        "num_aborted": int(steps.loc[steps["arm"] == arm, "aborted"].sum()),
        "late_p50_ms": p50,
        "late_p99_ms": p99,
        "late_max_ms": late_ms.max(),
        "requests_per_s": ((~mine["hung_up"]).groupby(mine["pair"]).sum() / took_s).median(),
        "tokens_per_s": (replays["num_tokens"].sum() / took_s).median(),
        "good_per_s": (replays["good"].sum() / took_s).median(),
    }
