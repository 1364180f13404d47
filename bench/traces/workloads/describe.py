"""The workloads and their options as text for people.

What the options do is said where they are declared; this only lays it out.
"""

from __future__ import annotations

from collections.abc import Iterable

from bench.traces.workloads.workload import Option, Workload


def describe(workloads: Iterable[Workload]) -> str:
    """One block a workload: name, the path it takes, least size, then an option a line with default and bounds."""
    return "\n\n".join(_block(workload) for workload in workloads)


def _block(workload: Workload) -> str:
    width = max(len(option.name) for option in workload.options)
    lines = [f"{workload.name}: {workload.path} (num_running ≥ {workload.min_running})"]
    lines += [f"  {option.name:<{width}}  {_option(option)}" for option in workload.options]
    return "\n".join(lines)


def _option(option: Option) -> str:
    unit = f" {option.unit}" if option.unit else ""
    if option.choices:
        return f"{option.meaning}; default {option.default}; one of {', '.join(option.choices)}"
    return f"{option.meaning}; default {option.default}{unit}; {option.low:.15g} to {option.high:.15g}{unit}"
