"""What this machine is, how noisy it is, and what to mend before its figures are believed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from bench.engine.version import check_version
from bench.errors import HostError
from bench.measure.host import Cores, choose_cores, host_facts, versions
from bench.measure.noise import Noise, measure_noise

MAX_SPREAD_PCT = 3.0  # with more, twelve pairs cannot bound an effect by a margin of 1.5 %
MAX_DISTURBED_PCT = 10.0  # a run that excludes a fifth of its slices is INCONCLUSIVE
MAX_LOAD = 0.5  # runnable processes besides ours


def examine() -> str:
    """The report of `doctor`: facts, noise, then one line for each thing to mend."""
    cores = choose_cores()
    facts = host_facts()
    load = float(facts["load_1min"])
    os.sched_setaffinity(0, {cores.arms})
    noise = measure_noise()
    lines = [f"{name:<18} {value if value != '' else '–'}" for name, value in facts.items()]
    lines += [f"{name:<18} {value}" for name, value in versions().items()]
    lines += ["", *_noise_lines(noise, cores), ""]
    advice = [*_advice(noise, cores, str(facts["governor"]), load)]
    return "\n".join(lines + (advice or ["fit: nothing to mend"]))


def _noise_lines(noise: Noise, cores: Cores) -> Iterator[str]:
    yield f"{'cores':<18} arms on {cores.arms}, orchestrator on {cores.orchestrator}"
    yield f"{'slice':<18} {noise.slice_us:.0f} µs of Python work, interquartile range {noise.spread_pct:.2f} %"
    yield f"{'disturbed':<18} {noise.disturbed_pct:.2f} % of slices lost the core"
    yield f"{'clock steps':<18} {noise.timer_ns} ns wall, {noise.cpu_timer_ns} ns thread CPU"


def _advice(noise: Noise, cores: Cores, governor: str, load: float) -> Iterator[str]:
    try:
        check_version()
    except HostError as error:
        yield f"mend: {error}"
    if cores.shared:
        yield "mend: one usable core; give the process two, so that the orchestrator does not disturb the arms"
    if governor not in ("", "performance"):
        yield f"mend: frequency governor is {governor}; set it to performance"
    if siblings := _busy_siblings(cores):
        yield f"mend: cores {cores.arms} and {siblings} share one physical core; turn SMT off or pin elsewhere"
    if load > MAX_LOAD:
        yield f"mend: load is {load}; stop what else runs here (expected ≤ {MAX_LOAD})"
    if noise.spread_pct > MAX_SPREAD_PCT:
        spread = f"{noise.spread_pct:.1f} % (expected ≤ {MAX_SPREAD_PCT:g} %)"
        yield f"mend: CPU time of equal work spreads by {spread}; expect wide intervals"
    if noise.disturbed_pct > MAX_DISTURBED_PCT:
        share = f"{noise.disturbed_pct:.1f} % of slices (expected ≤ {MAX_DISTURBED_PCT:g} %)"
        yield f"mend: {share} lost the core; find out what else runs on it"


def _busy_siblings(cores: Cores) -> str:
    """The SMT siblings of the arms' core where the orchestrator is one of them, as the kernel writes them, else ""."""
    path = Path(f"/sys/devices/system/cpu/cpu{cores.arms}/topology/thread_siblings_list")
    try:
        text = path.read_text(encoding="ascii").strip()
    except OSError:
        return ""
    siblings = {int(part) for span in text.split(",") for part in span.split("-") if part.isdecimal()}
    return text if cores.orchestrator in siblings and not cores.shared else ""
