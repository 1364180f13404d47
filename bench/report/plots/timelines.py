"""One comparison step by step: time of both arms above, what happened in the step below, phases shaded.

Draws the table of `bench.analysis.timeline`; only steady steps are judged.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, MaxNLocator

from bench.manifest import ComparisonRecord
from bench.report.plots.style import BAND, FAINT, INK, WIDTH_IN, spans_decades, title, use_plain_numbers, variant_style
from bench.report.text import printable

HEIGHT_IN = 4.7
EVENTS = {"aborted": "x", "finished": "|", "preempted": "v"}  # from the bottom row up
SHADES = {"admission": BAND, "warmup": "#f4f4f4", "steady": "white", "drain": BAND}
HATCHES = {"admission": "//", "warmup": "..", "steady": "", "drain": "\\\\"}
DURATIONS = {"replay": "wall time in the scheduler", "engine": "wall time of the step"}


def timeline_figure(steps: pd.DataFrame, record: ComparisonRecord) -> Figure:
    """Median over pairs of each step's time in µs, baseline and candidate, with preemptions, finishes and aborts."""
    figure = Figure(figsize=(WIDTH_IN, HEIGHT_IN))
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3.4, 1))
    figure.subplots_adjust(left=0.15, right=0.985, top=0.81, bottom=0.24, hspace=0.08)
    _shade_phases(upper, lower, steps)
    _draw_times(upper, steps, record)
    _draw_events(lower, steps)
    lower.set_xlim(steps.index[0] - 0.5, steps.index[-1] + 0.5)
    lower.set_xlabel("step")
    lower.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    note = f"{DURATIONS[record.tier]}, median of n = {int(steps['num_pairs'].iloc[0])} pairs; lower is faster"
    title(figure, f"Step by step: {printable(record.cell, 50)}", note)
    arms = upper.get_legend_handles_labels()[0]
    place: dict[str, Any] = {"loc": "lower left", "ncols": 4, "fontsize": 8.5, "borderaxespad": 0}
    figure.legend(handles=arms, bbox_to_anchor=(0.012, 0.075), **place)
    figure.legend(handles=_phase_handles(steps), bbox_to_anchor=(0.012, 0.015), **place)
    return figure


def _draw_times(axes: Axes, steps: pd.DataFrame, record: ComparisonRecord) -> None:
    for place, (arm, variant) in enumerate((("baseline", record.baseline), ("candidate", record.candidate))):
        style = variant_style(place)
        label = f"{arm}: {printable(variant, 30)}"
        times = steps[f"{arm}_us"].to_numpy(dtype=np.float64)
        axes.plot(steps.index, times, color=style.colour, linestyle=style.line, linewidth=style.width, label=label)
    times = steps[["baseline_us", "candidate_us"]].to_numpy(dtype=np.float64).ravel()
    times = times[np.isfinite(times) & (times > 0)]
    is_log = times.size > 0 and spans_decades(float(times.min()), float(times.max()))
    if is_log:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5)))
    else:
        axes.set_ylim(0, 1.1 * float(times.max(initial=1e-3)))
    use_plain_numbers(axes, "y")
    axes.grid(axis="y", color=BAND, linewidth=0.8)
    axes.set_ylabel(f"µs a step{' (log axis)' if is_log else ''}")


def _draw_events(axes: Axes, steps: pd.DataFrame) -> None:
    for row, (event, marker) in enumerate(EVENTS.items()):
        happened = steps.index[steps[event] > 0]
        axes.plot(happened, np.full(len(happened), row), marker=marker, color=INK, markersize=5.5, linestyle="none")
    labels = [f"{event} ({int(steps[event].sum())})" for event in EVENTS]
    axes.set_yticks(range(len(EVENTS)), labels, fontsize=8)
    axes.set_ylim(-0.6, len(EVENTS) - 0.4)


def _shade_phases(upper: Axes, lower: Axes, steps: pd.DataFrame) -> None:
    phases = steps["phase"].to_numpy()
    starts = [0, *(np.flatnonzero(phases[1:] != phases[:-1]) + 1), len(phases)]
    for first, after in itertools.pairwise(starts):
        phase = str(phases[first])
        left, right = steps.index[first] - 0.5, steps.index[after - 1] + 0.5
        for axes in (upper, lower):
            axes.axvspan(left, right, zorder=-1, **_shade(phase))
            axes.axvline(left, color=FAINT, linewidth=0.6)


def _shade(phase: str) -> dict[str, Any]:
    look = {"facecolor": SHADES.get(phase, "white"), "hatch": HATCHES.get(phase, "")}
    return look | {"edgecolor": "#bbbbbb", "linewidth": 0}


def _phase_handles(steps: pd.DataFrame) -> list[Patch]:
    phases = [phase for phase in SHADES if (steps["phase"] == phase).any()]
    notes = {"steady": "steady (judged)"}
    return [Patch(label=notes.get(phase, phase), **(_shade(phase) | {"linewidth": 0.6})) for phase in phases]
