"""The workloads and their options as text for people, plain for a terminal and as Markdown for docs/workloads.md.

What the options do is said where they are declared; this only lays it out.
"""

from __future__ import annotations

from collections.abc import Iterable

from bench.traces.workloads.workload import Option, Workload


def describe(workloads: Iterable[Workload]) -> str:
    """One block a workload: name, the path it takes, least size, its proof, then an option a line with its bounds."""
    return "\n\n".join(_block(workload) for workload in workloads)


def describe_markdown(workloads: Iterable[Workload]) -> str:
    """The same as a section a workload."""
    return "\n\n".join(_section(workload) for workload in workloads)


def _block(workload: Workload) -> str:
    width = max(len(option.name) for option in workload.options)
    lines = [f"{workload.name}: {workload.path} (num_running ≥ {workload.min_running})"]
    lines += [f"  proof: {counter.text()}" for counter in workload.counters]
    lines += [f"  {option.name:<{width}}  {_option(option)}" for option in workload.options]
    return "\n".join(lines)


def _option(option: Option) -> str:
    unit = f" {option.unit}" if option.unit else ""
    if option.choices:
        return f"{option.meaning}; default {option.default}; one of {', '.join(option.choices)}"
    return f"{option.meaning}; default {option.default}{unit}; {option.low:.15g} to {option.high:.15g}{unit}"


def _section(workload: Workload) -> str:
    lines = [
        f"### `{workload.name}`",
        "",
        f"{workload.path[0].upper()}{workload.path[1:]}. From {workload.min_running} running on.",
        "",
        *(f"- proof: {counter.text()}" for counter in workload.counters),
    ]
    if workload.own_options:
        lines += ["", "| option | default | bounds | meaning |", "|---|---|---|---|"]
        lines += [option_row(option) for option in workload.own_options]
    return "\n".join(lines)


def option_row(option: Option) -> str:
    """A row of the Markdown table of options."""
    bounds = ", ".join(option.choices) if option.choices else f"{option.low:.15g} to {option.high:.15g} {option.unit}"
    return f"| `{option.name}` | {option.default} | {bounds.strip()} | {option.meaning} |"
