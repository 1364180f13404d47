"""What this machine is, how noisy it is, and what to mend before its figures are believed."""

from __future__ import annotations

import os
from collections.abc import Iterator

from bench.engine.version import check_version
from bench.errors import HostError
from bench.measure.health import troubles
from bench.measure.host import Cores, choose_cores, host_facts, versions
from bench.measure.noise import Noise, measure_noise


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
    for trouble in troubles(noise, cores, governor, load):
        yield f"mend: {trouble.text}"
