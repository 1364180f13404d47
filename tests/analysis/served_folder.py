"""Makes run folders of the serve tier with known latencies in them, as `bench.measure.serving` would leave them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.records import CHUNKS, REQUESTS, STEPS, Column
from tests.analysis.run_folder import Planned, write_manifest, write_table

MS = 1_000_000
NUM_REQUESTS, NUM_TOKENS, GAP_MS = 8, 11, 10.0
TTFT_MS = 40.0
HUNG_UP = (3, 6)  # of the requests, by number
SERVED = Planned(tier="serve", workload="arrivals", num_running=16, pairs=8)

Columns = dict[str, Any]


def write_served_run(
    folder: Path, effects: Sequence[float] = (), planned: Planned = SERVED, *, late_ms: float = 0.5, **serve: Any
) -> Path:
    """One comparison; `effects` has, for each pair, the fraction by which the candidate's gaps are longer."""
    folder.mkdir(parents=True, exist_ok=True)
    planned = replace(planned, pairs=len(effects))
    for pair, effect in enumerate(effects):
        name = f"{planned.id}--p{pair:03d}.parquet"
        scales = (1.0, 1.0 + effect)
        write_table(
            folder / "requests" / name, [_requests(planned, pair, a, scales[a], late_ms) for a in (0, 1)], REQUESTS
        )
        write_table(folder / "chunks" / name, [_chunks(planned, pair, a, scales[a]) for a in (0, 1)], CHUNKS)
        write_table(folder / "steps" / name, [_steps(planned, pair, a, scales[a]) for a in (0, 1)], STEPS)
    config = {"verdict": {"margin_pct": 1.5, "max_excluded_pct": 20.0}, "serve": serve, "seed": 1}
    write_manifest(folder, [planned], config=config)
    return folder


def _names(planned: Planned, pair: int, arm: int, count: int) -> Columns:
    values = {
        "cell": planned.cell,
        "comparison": planned.id,
        "pair": pair,
        "zygote": 0,
        "arm": ("baseline", "candidate")[arm],
        "variant": ("list", planned.candidate)[arm],
    }
    return {name: np.full(count, value) for name, value in values.items()}


def _requests(planned: Planned, pair: int, arm: int, scale: float, late_ms: float) -> Columns:
    number = np.arange(NUM_REQUESTS)
    gone = np.isin(number, HUNG_UP)
    tokens = np.where(gone, 3, NUM_TOKENS)
    last = TTFT_MS + (tokens - 1) * GAP_MS * scale
    times = {"due_ns": 25.0 * number, "late_ns": np.full(NUM_REQUESTS, late_ms), "ttft_ns": TTFT_MS + 0 * number}
    times |= {"last_token_ns": last, "e2el_ns": last + 1.0}
    return _names(planned, pair, arm, NUM_REQUESTS) | {
        **{name: np.round(MS * values).astype(np.int64) for name, values in times.items()},
        "position": np.full(NUM_REQUESTS, (arm + pair) % 2),
        "request": number,
        "request_id": np.array([f"r{one}" for one in number]),
        "num_tokens": tokens,
        "num_chunks": tokens,
        "hung_up": gone,
    }


def _chunks(planned: Planned, pair: int, arm: int, scale: float) -> Columns:
    rows = [
        (request, round(MS * (TTFT_MS + token * GAP_MS * scale)), 1)
        for request in range(NUM_REQUESTS)
        for token in range(3 if request in HUNG_UP else NUM_TOKENS)
    ]
    request, received, tokens = np.array(rows, dtype=np.int64).T
    return _names(planned, pair, arm, len(rows)) | {
        "request": request,
        "received_ns": received,
        "num_tokens": tokens,
    }


def _steps(planned: Planned, pair: int, arm: int, scale: float) -> Columns:
    count = 20
    zeros = {column.name: np.zeros(count, dtype=np.int64) for column in STEPS if _is_number(column)}
    aborted = np.where(np.isin(np.arange(count), (5, 9)), 1, 0)
    spent = {"cpu_ns": 500, "schedule_ns": 300, "update_ns": 200}
    times = {name: np.full(count, round(1000 * value * scale)) for name, value in spent.items()}
    marks = {"step": np.arange(count), "phase": np.full(count, "steady"), "slice": np.full(count, -1)}
    return zeros | times | marks | {"aborted": aborted} | _names(planned, pair, arm, count)


def _is_number(column: Column) -> bool:
    return column.type == "int64"
