"""What an imported trace asks of the engine, by how many of its requests would run together.

An estimate: a request runs from its arrival for its prefill and one step a token, and never waits. Where slots or
the KV cache are short, more run for longer, so RUNNING is at least as long as estimated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.errors import TraceError
from bench.traces.columns import Columns, Wholes
from bench.traces.importers.options import ImportOptions
from bench.traces.model import EngineNeeds

GRAIN = 256  # tokens; sizes are rounded up to it, as the largest KV block has so many
MAX_DEFAULT_KV = 4_000_000  # tokens: more than any one device holds, and 125,000 blocks of 32 to make
STEADY_SHARE = 0.5  # of num_running: from the first to the last step with so many is the steady phase


@dataclass(frozen=True, slots=True)
class Load:
    """The engine's needs, the usual length of RUNNING, and the length that bounds the steady phase."""

    engine: EngineNeeds
    num_running: int
    steady_running: int


def load_of(columns: Columns, steps: Wholes, options: ImportOptions) -> Load:
    """The load of requests that arrive before `steps`; raises TraceError where options cannot hold the longest."""
    totals = columns.inputs + columns.outputs + 1  # one more, for the slot that an async scheduler takes ahead
    longest = _rounded(int(totals.max()))
    usual, peak = concurrency(steps, residence(columns, options.max_num_batched_tokens))
    usual, peak = min(usual, options.max_num_seqs), min(peak, options.max_num_seqs)
    largest_together = np.sort(-(-totals // GRAIN) * GRAIN)[::-1][:peak]
    kv_tokens = options.kv_tokens or max(longest, min(MAX_DEFAULT_KV, int(largest_together.sum()))) + GRAIN
    if kv_tokens < totals.max():
        raise TraceError(
            f"import option kv_tokens is {kv_tokens}, expected ≥ {int(totals.max())}, the longest request; "
            "or pass --max-context"
        )
    fitting = max(1, kv_tokens // max(1, int(np.median(totals))))
    num_running = options.num_running or max(1, min(usual, fitting))
    needs = EngineNeeds(options.max_num_seqs, options.max_num_batched_tokens, kv_tokens, longest)
    steady = max(1, min(int(STEADY_SHARE * num_running), options.max_num_seqs))
    return Load(needs, num_running, steady)


def residence(columns: Columns, budget: int) -> Wholes:
    """Steps that each request is in RUNNING when it never waits: its chunks of prefill, then a token a step."""
    return -(-columns.inputs // budget) + columns.outputs - 1


def concurrency(arrivals: Wholes, stays: Wholes) -> tuple[int, int]:
    """(median over the steps in which any request runs, peak) of how many run, from `arrivals` for `stays` steps."""
    at = np.concatenate([arrivals, arrivals + stays])
    change = np.concatenate([np.ones(len(arrivals), np.int64), -np.ones(len(arrivals), np.int64)])
    order = np.argsort(at, kind="stable")
    running = np.cumsum(change[order])
    lasts = np.diff(at[order], append=at[order][-1])
    busy = (running > 0) & (lasts > 0)
    if not busy.any():
        return 1, 1
    lengths, weights = running[busy], lasts[busy]
    by_length = np.argsort(lengths, kind="stable")
    middle = np.searchsorted(np.cumsum(weights[by_length]), weights.sum() / 2)
    return int(lengths[by_length][middle]), int(lengths.max())


def _rounded(tokens: int) -> int:
    return -(-tokens // GRAIN) * GRAIN
