"""How the effect of one candidate went from run to run, a panel a cell, with its changes of level.

Draws what `bench.analysis.trends` found.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from bench.analysis.trends import Trend
from bench.report.plots.style import BAND, FAINT, INK, WIDTH_IN, title
from bench.report.text import printable
from bench.units import SIGN_RULE

PANEL_IN, HEAD_IN, FOOT_IN = 1.5, 0.75, 0.85
MAX_PANELS = 16  # cells in one figure; the table has all


def history_figure(shown: Sequence[Trend]) -> Figure:
    """The effects of `shown`, of one environment and candidate, in % of the baseline with their 95 % intervals."""
    shown = shown[:MAX_PANELS]
    height = HEAD_IN + FOOT_IN + PANEL_IN * len(shown)
    figure = Figure(figsize=(WIDTH_IN, height))
    panels = figure.subplots(len(shown), 1, squeeze=False, sharex=True)[:, 0]
    figure.subplots_adjust(left=0.1, right=0.985, top=1 - HEAD_IN / height, bottom=FOOT_IN / height, hspace=0.45)
    for axes, trend in zip(panels, shown, strict=True):
        _draw(axes, trend)
    panels[-1].set_xlabel("run, oldest first")
    panels[-1].xaxis.set_major_locator(MaxNLocator(10, integer=True))
    first = shown[0]
    heading = f"{printable(first.candidate, 30)} against {printable(first.baseline, 30)}, run by run"
    title(figure, heading, f"effect in %, {SIGN_RULE}; {printable(first.environment, 80)}")
    figure.legend(handles=_handles(first), loc="lower left", bbox_to_anchor=(0.012, 0.0), ncols=4, fontsize=8.5)
    return figure


def _draw(axes: Axes, trend: Trend) -> None:
    effects = trend.runs["effect_pct"].to_numpy(dtype=np.float64)
    ends = trend.runs[["low_pct", "high_pct"]].to_numpy(dtype=np.float64)
    margin = float(trend.runs["margin_pct"].iloc[-1])
    places = np.arange(1, effects.size + 1)
    axes.axhspan(-margin, margin, color=BAND, zorder=0)
    axes.axhline(0, color=FAINT, linewidth=0.8, zorder=1)
    reach = np.nan_to_num(np.abs(ends.T - effects), posinf=0.0, neginf=0.0)
    axes.errorbar(places, effects, yerr=reach, marker="o", markersize=3.5, linestyle="none", color=INK, elinewidth=0.8)
    edges = [0, *(change.index for change in trend.changes), effects.size]
    for first, after in itertools.pairwise(edges):
        level = float(effects[first:after].mean())
        axes.plot([first + 0.5, after + 0.5], [level, level], color="#0072b2", linewidth=1.6)
    for change in trend.changes:
        axes.axvline(change.index + 0.5, color="#d55e00", linestyle="--", linewidth=1.2)
        where: dict[str, Any] = {"xycoords": axes.get_xaxis_transform(), "textcoords": "offset points"}
        label = f"{change.shift:+.2f} %"
        axes.annotate(label, (change.index + 0.5, 1), (3, 3), fontsize=8.5, color="#a84300", **where)
    axes.set_title(printable(trend.cell, 60), fontsize=9, loc="left")
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+g}" if value else "0"))


def _handles(trend: Trend) -> list[Any]:
    margin = float(trend.runs["margin_pct"].iloc[-1])
    return [
        Line2D([], [], marker="o", markersize=3.5, color=INK, linewidth=0.8, label="run, 95 % interval"),
        Line2D([], [], color="#0072b2", linewidth=1.6, label="level"),
        Line2D([], [], color="#d55e00", linestyle="--", linewidth=1.2, label="change of level"),
        Patch(color=BAND, label=f"margin ±{margin:g} %"),
    ]
