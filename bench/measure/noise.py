"""How noisy the arms' core is: a fixed piece of Python work, timed in slices as a pair's arm times its own."""

from __future__ import annotations

import itertools
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

SLICE_WORK = 60_000  # additions and dict look-ups; about 2 ms on a core of the 2020s, as a slice of a pair
SLICES = 500


@dataclass(frozen=True)
class Noise:
    """`spread_pct`: interquartile range of a slice's CPU time in % of its median; `disturbed_pct`: % that lost it.

    `timer_ns` and `cpu_timer_ns` are the smallest steps seen on the wall and on the thread CPU clock.
    """

    slice_us: float
    spread_pct: float
    disturbed_pct: float
    timer_ns: int
    cpu_timer_ns: int


def measure_noise(num_slices: int = SLICES) -> Noise:
    """Run the work on the core that this process is pinned to; takes about a second."""
    table = {number: number for number in range(256)}
    _work(table)
    cpu_ns = np.empty(num_slices)
    disturbed = 0
    for place in range(num_slices):
        before = resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw
        began = time.thread_time_ns()
        _work(table)
        cpu_ns[place] = time.thread_time_ns() - began
        disturbed += resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw > before
    low, middle, high = np.quantile(cpu_ns, [0.25, 0.5, 0.75])
    return Noise(
        slice_us=float(middle / 1000),
        spread_pct=float(100 * (high - low) / middle),
        disturbed_pct=100 * disturbed / num_slices,
        timer_ns=_smallest_step(time.perf_counter_ns),
        cpu_timer_ns=_smallest_step(time.thread_time_ns),
    )


def _work(table: dict[int, int]) -> int:
    total = 0
    for number in range(SLICE_WORK):
        total += table[number & 255]
    return total


def _smallest_step(clock: Callable[[], int], tries: int = 2000) -> int:
    readings = [clock() for _ in range(tries)]
    steps = [late - early for early, late in itertools.pairwise(readings) if late > early]
    return min(steps, default=0)
