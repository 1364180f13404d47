"""Figures that describe the requests of a trace: lengths, burstiness of arrivals, sharing of prefixes.

Pure arithmetic, sequences in and numbers out; the text is made in `bench.traces.summary`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from bench.traces.model import TraceRequest

PERCENTILES = (50, 90, 99, 100)
MIN_WINDOWS = 2  # counts of fewer windows have no variance


@dataclass(frozen=True, slots=True)
class Burstiness:
    """How unevenly requests arrive; a Poisson process has 1 in each figure. None where there is too little to tell.

    `gap_cv` is the standard deviation of the gaps over their mean. `dispersion` has (window in s, variance over mean
    of the number of requests a window) for windows that fit in full; a remainder at the end is left out.
    """

    gap_cv: float | None
    dispersion: tuple[tuple[int, float | None], ...]


def percentiles(values: Sequence[int]) -> tuple[int, ...]:
    """p50, p90, p99 and the maximum, each a value that occurs: the smallest with so large a share at or below it."""
    found = np.percentile(np.asarray(values), PERCENTILES, method="inverted_cdf")
    return tuple(int(value) for value in found)


def burstiness(timestamps_ms: Sequence[float], windows_s: Iterable[int] = (1, 10, 60)) -> Burstiness:
    """The burstiness of arrivals at `timestamps_ms`, ascending from 0."""
    times = np.asarray(timestamps_ms, dtype=np.float64)
    gaps = np.diff(times)
    gap_cv = float(gaps.std() / gaps.mean()) if len(gaps) > 1 and gaps.mean() > 0 else None
    return Burstiness(gap_cv, tuple((window, _dispersion(times, 1000.0 * window)) for window in windows_s))


def _dispersion(times_ms: np.ndarray, window_ms: float) -> float | None:
    num_windows = int((times_ms[-1] - times_ms[0]) // window_ms)
    if num_windows < MIN_WINDOWS:
        return None
    # Windows with no arrival count only in number, so that a long silent trace needs no long array.
    window_of = ((times_ms - times_ms[0]) // window_ms).astype(np.int64)
    counts = np.unique(window_of[window_of < num_windows], return_counts=True)[1].astype(np.float64)
    mean = counts.sum() / num_windows
    variance = (counts**2).sum() / num_windows - mean**2
    return float(variance / mean)


def ideal_hit_share(requests: Iterable[TraceRequest], hash_block_tokens: int) -> float:
    """The share of prompt tokens that a prefix cache without limit would hold when their request arrives."""
    listed = list(requests)
    num_all = sum(request.input_length for request in listed)
    return sum(ideal_hits(listed, hash_block_tokens)) / num_all


def ideal_hits(requests: Iterable[TraceRequest], hash_block_tokens: int) -> list[int]:
    """For each request, the prompt tokens that a prefix cache without limit would hold when it arrives.

    A block counts where it and all before it in the prompt were seen in earlier requests.
    """
    seen: set[int] = set()
    hits = []
    for request in requests:
        known = 0
        for hash_id in request.hash_ids:
            if hash_id not in seen:
                break
            known += 1
        hits.append(min(known * hash_block_tokens, request.input_length))
        seen.update(request.hash_ids)
    return hits
