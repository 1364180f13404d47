"""What a step costs against the number of running requests, a panel a function, both variants side by side.

Draws the points and slopes of `bench.analysis.scaling`; the ratios that carry verdicts are in the effects figure.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, MaxNLocator

from bench.report.plots.style import BAND, WIDTH_IN, spans_decades, title, use_plain_numbers, variant_style
from bench.report.text import clip, printable

PANEL_IN, HEAD_IN, FOOT_IN, LINE_IN = 2.1, 0.92, 1.0, 0.15  # heights: panel, titles, axis and legend, a line
DODGE = 0.035  # variants stand beside each other, by this share of the distance that doubles the size
TITLES = {
    "schedule": "schedule()",
    "update": "update_from_output()",
    "finish": "finish_requests()",
    "model": "model executor",
}


def costs_figure(points: pd.DataFrame, slopes: pd.DataFrame, tier: str, workload: str) -> Figure:
    """µs a step of each variant, for one workload in one tier; bars are exact 95 % intervals over pairs."""
    points = _only(points, tier, workload)
    slopes = _only(slopes, tier, workload)
    functions, variants = list(points["function"].unique()), list(points["variant"].unique())
    foot = FOOT_IN + LINE_IN * (len(variants) + 1 if slopes["slope_us"].notna().any() else 0)
    height = PANEL_IN + HEAD_IN + foot
    figure = Figure(figsize=(WIDTH_IN, height))
    panels = figure.subplots(1, len(functions), squeeze=False)[0]
    figure.subplots_adjust(left=0.115, right=0.985, top=1 - HEAD_IN / height, bottom=foot / height, wspace=0.3)
    for axes, function in zip(panels, functions, strict=True):
        for place, variant in enumerate(variants):
            _draw_variant(
                axes, points[(points["function"] == function) & (points["variant"] == variant)], place, len(variants)
            )
        _dress(axes, points[points["function"] == function], slopes[slopes["function"] == function])
        axes.set_title(TITLES.get(function, function), fontsize=9.5, loc="left")
    panels[0].set_ylabel("µs a step")
    title(figure, f"Cost of a step: {printable(workload, 40)}, {tier} tier", _note(points))
    figure.legend(handles=_handles(variants), loc="lower left", bbox_to_anchor=(0.012, 0.0), ncols=4, fontsize=8.5)
    return figure


def _only(table: pd.DataFrame, tier: str, workload: str) -> pd.DataFrame:
    return table[(table["tier"] == tier) & (table["workload"] == workload)]


def _draw_variant(axes: Axes, curve: pd.DataFrame, place: int, num_variants: int) -> None:
    curve = curve.sort_values("num_running")
    sizes = curve["num_running"].to_numpy(dtype=np.float64) * 2 ** (DODGE * (2 * place - num_variants + 1))
    costs = curve["cost_us"].to_numpy(dtype=np.float64)
    reach = np.nan_to_num([costs - curve["low_us"], curve["high_us"] - costs], posinf=0.0, neginf=0.0)
    axes.errorbar(sizes, costs, yerr=reach, capsize=3, elinewidth=1.2, **_look(place))


def _look(place: int) -> dict[str, Any]:
    style = variant_style(place)
    return {
        "color": style.colour,
        "marker": style.marker,
        "linestyle": style.line,
        "linewidth": style.width,
        "markersize": 5.5 if style.filled else 8,
        "markerfacecolor": style.colour if style.filled else "white",
        "markeredgewidth": 1.6,
    }


def _handles(variants: list[str]) -> list[Line2D]:
    return [Line2D([], [], label=printable(name, 30), **_look(place)) for place, name in enumerate(variants)]


def _dress(axes: Axes, points: pd.DataFrame, slopes: pd.DataFrame) -> None:
    sizes = sorted(points["num_running"].unique())
    if sizes[0] > 0:
        axes.set_xscale("log", base=2)
        axes.set_xlim(sizes[0] / 1.5, sizes[-1] * 1.5)
    axes.xaxis.set_major_locator(FixedLocator(_spread(sizes)))
    if spans_decades(points["cost_us"].min(), points["cost_us"].max()):
        axes.set_yscale("log")
        axes.text(0.04, 0.97, "log axis", transform=axes.transAxes, fontsize=8, va="top")
    else:
        axes.set_ylim(0, 1.25 * points["cost_us"].max())
        axes.yaxis.set_major_locator(MaxNLocator(5))
    for which in ("x", "y"):
        use_plain_numbers(axes, which)
    axes.grid(axis="y", color=BAND, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_xlabel("requests running")
    lines = [
        f"{clip(printable(str(variant)), 16)} {slope:.3g}"
        for variant, slope in zip(slopes["variant"], slopes["slope_us"], strict=True)
        if np.isfinite(slope)
    ]
    if lines:
        note = "\n".join(["slope, µs a request:", *lines])
        axes.annotate(note, (0, 0), (0, -36), "axes fraction", "offset points", fontsize=8, va="top")


def _spread(sizes: list[int]) -> list[int]:
    """The sizes that get a label: those at least a factor 1.6 apart, so that labels do not touch."""
    shown = sizes[:1]
    for size in sizes[1:]:
        if size >= 1.6 * shown[-1]:
            shown.append(size)
    return shown


def _note(points: pd.DataFrame) -> str:
    pairs = sorted(points["num_pairs"].unique())
    many = f"{pairs[0]}" if len(pairs) == 1 else f"{pairs[0]} to {pairs[-1]}"
    return (
        f"wall time, mean over the judged steps; bars: exact 95 % interval, n = {many} pairs a point; lower is faster"
    )
