"""Whether this machine is fit to measure on: a noise score and a few facts against limits that are declared here only.

`doctor` says what to mend; a run takes the score before its first pair, and what forbids a verdict goes into its
manifest. That it makes the verdict INCONCLUSIVE is the business of `bench.analysis`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.measure.host import Cores
from bench.measure.noise import Noise, measure_noise

MAX_SPREAD_PCT = 3.0  # with more, twelve pairs cannot bound an effect by a margin of 1.5 %
MAX_DISTURBED_PCT = 10.0  # a run that excludes a fifth of its slices is INCONCLUSIVE
MAX_LOAD = 0.5  # runnable processes besides ours
MAX_CLOCK_STEP_NS = 25_000  # 1 % of a slice; a coarser clock rounds the effect away
TAKES = 3  # a moment's disturbance is not the machine's
SLICES = 250  # half a second; one in 250 is fine enough for a limit of one in ten


@dataclass(frozen=True)
class Trouble:
    """One thing that is wrong with the machine; with `forbids`, figures from it carry no verdict."""

    text: str
    forbids: bool = False


def troubles(noise: Noise, cores: Cores, governor: str, load: float) -> Iterator[Trouble]:
    """What to mend, in words: found, expected, what to do."""
    if cores.shared:
        yield Trouble("one usable core; give the process two, so that the orchestrator does not disturb the arms")
    if governor not in ("", "performance"):
        yield Trouble(f"frequency governor is {governor}; set it to performance")
    if siblings := busy_siblings(cores):
        yield Trouble(f"cores {cores.arms} and {siblings} share one physical core; turn SMT off or pin elsewhere")
    if load > MAX_LOAD:
        yield Trouble(f"load is {load}; stop what else runs here (expected ≤ {MAX_LOAD})")
    if noise.spread_pct > MAX_SPREAD_PCT:
        spread = f"{noise.spread_pct:.1f} % (expected ≤ {MAX_SPREAD_PCT:g} %)"
        yield Trouble(f"CPU time of equal work spreads by {spread}; expect wide intervals")
    if noise.disturbed_pct > MAX_DISTURBED_PCT:
        share = f"{noise.disturbed_pct:.1f} % of slices (expected ≤ {MAX_DISTURBED_PCT:g} %)"
        yield Trouble(f"{share} lost the core; find out what else runs on it", forbids=True)
    for clock, step_ns in (("wall", noise.timer_ns), ("thread CPU", noise.cpu_timer_ns)):
        if not 0 < step_ns <= MAX_CLOCK_STEP_NS:
            step = f"{step_ns} ns" if step_ns else "too long to be seen"
            expected = f"expected ≤ {MAX_CLOCK_STEP_NS} ns"
            yield Trouble(f"the smallest step of the {clock} clock is {step} ({expected})", forbids=True)


def noise_of_session(
    cores: Cores, governor: str, load: float, measure: Callable[[int], Noise] = measure_noise
) -> dict[str, Any]:
    """The facts for `noise` of a manifest's host, measured on the arms' core in about half a second.

    Where they forbid a verdict they are taken again, TAKES times at most, and the last ones count.
    """
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cores.arms})
    try:
        for _ in range(TAKES):
            noise = measure(SLICES)
            forbidden = [trouble.text for trouble in troubles(noise, cores, governor, load) if trouble.forbids]
            if not forbidden:
                break
    finally:
        os.sched_setaffinity(0, before)
    facts = {"governor": governor, "smt_siblings": busy_siblings(cores), "load_1min": load, "unfit": forbidden}
    return asdict(noise) | facts


def busy_siblings(cores: Cores) -> str:
    """The SMT siblings of the arms' core where the orchestrator is one of them, as the kernel writes them, else ""."""
    path = Path(f"/sys/devices/system/cpu/cpu{cores.arms}/topology/thread_siblings_list")
    try:
        text = path.read_text(encoding="ascii").strip()
    except OSError:
        return ""
    siblings = {int(part) for span in text.split(",") for part in span.split("-") if part.isdecimal()}
    return text if cores.orchestrator in siblings and not cores.shared else ""
