"""Makes stores of past runs with a planted change, as `add_run` would fill them, without measuring anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from bench.analysis.history import HISTORY, SCHEMA

ENVIRONMENT = "example-2c-vllm-0.32.0-00000000"


def history_rows(
    effects: np.ndarray, cell: str = "replay-steady-decode-n256", half: float = 0.6, **changes: Any
) -> pd.DataFrame:
    """One row a run of one cell; the candidate's source is another one from the run `new_source` on."""
    new_source = changes.pop("new_source", len(effects))
    count = len(effects)
    columns: dict[str, Any] = {
        "environment": ENVIRONMENT,
        "run": [f"{number:016x}" for number in range(count)],
        "created": [str(moment)[:19] for moment in pd.date_range("2026-01-01", periods=count)],
        "name": "nightly",
        "cell": cell,
        "baseline": "list",
        "candidate": "dict",
        "canary": False,
        "trace_digest": "c" * 64,
        "baseline_digest": "a" * 64,
        "candidate_digest": ["b" * 64 if number < new_source else "d" * 64 for number in range(count)],
        "num_pairs": 20,
        "effect_pct": effects,
        "low_pct": effects - half,
        "high_pct": effects + half,
        "pair_sd_pct": 0.9,
        "margin_pct": 1.5,
        "verdict": "EQUIVALENT",
    }
    return pd.DataFrame(columns | changes, columns=[column.name for column in HISTORY])


def write_history(store: Path, rows: pd.DataFrame) -> Path:
    """A store with a file for each run and environment of `rows`."""
    for (environment, run), group in rows.groupby(["environment", "run"]):
        file = store / str(environment) / f"{group['created'].iloc[0].replace(':', '')}-{run}.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pandas(group, schema=SCHEMA, preserve_index=False), file)
    return store


def stepped(count: int, at: int, step: float, sd: float, seed: int) -> np.ndarray:
    """Effects of `count` runs in %, `step` higher from run number `at` on (from 0)."""
    effects = np.random.default_rng(seed).normal(0, sd, count)
    effects[at:] += step
    return effects
