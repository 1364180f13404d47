"""What a calibration found: the estimates against what was planted, and how often an effect is found.

Draws the tables of `bench.analysis.calibration`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from bench.analysis.calibration import power_curve
from bench.report.plots.style import BAND, FAINT, INK, WIDTH_IN, title

HEIGHT_IN, HEAD_IN, FOOT_IN = 4.6, 0.8, 0.6
BLUE, ORANGE = "#0072b2", "#d55e00"
JITTER_SEED = 1


def calibration_figure(gates: pd.DataFrame, summary: pd.DataFrame, margin_pct: float, note: str) -> Figure:
    """Left every gate's estimate by planted effect; right the share of gates that found it, with theory's curve."""
    figure = Figure(figsize=(WIDTH_IN, HEIGHT_IN))
    left, right = figure.subplots(1, 2)
    figure.subplots_adjust(
        left=0.075, right=0.985, top=1 - HEAD_IN / HEIGHT_IN, bottom=FOOT_IN / HEIGHT_IN, wspace=0.24
    )
    _draw_estimates(left, gates, margin_pct)
    _draw_power(right, gates, summary)
    title(figure, "Effects of known size, and what the verdict makes of them", note)
    return figure


def _draw_estimates(axes: Axes, gates: pd.DataFrame, margin_pct: float) -> None:
    levels = sorted(gates["planted_pct"].unique())
    rng = np.random.default_rng(JITTER_SEED)
    axes.axhspan(-margin_pct, margin_pct, color=BAND, zorder=0)
    for place, level in enumerate(levels):
        found = gates.loc[gates["planted_pct"] == level, "effect_pct"].to_numpy(dtype=np.float64)
        spread = rng.uniform(-0.28, 0.28, found.size)
        axes.plot(place + spread, found, linestyle="none", marker="o", markersize=2.6, color=BLUE, alpha=0.55)
        axes.plot([place - 0.42, place + 0.42], [level, level], color=ORANGE, linewidth=1.8)
    axes.set_xticks(range(len(levels)), [f"{level:g}" for level in levels])
    axes.set_xlabel("planted effect, %")
    axes.set_title(f"estimates, in %; orange: the truth; grey: margin ±{margin_pct:g} %", fontsize=9, loc="left")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+g}" if value else "0"))


def _draw_power(axes: Axes, gates: pd.DataFrame, summary: pd.DataFrame) -> None:
    planted = summary[summary["planted_pct"] > 0]
    for name, colour, marker, label in (
        ("found", BLUE, "o", "interval above 0"), ("called", ORANGE, "s", "called SLOWER"),
    ):  # fmt: skip
        share = 100 * planted[name] / planted["num_gates"]
        ends = np.array([share - planted[f"{name}_low_pct"], planted[f"{name}_high_pct"] - share]).clip(min=0)
        where: dict[str, Any] = {"markersize": 5, "elinewidth": 1, "capsize": 2}
        axes.errorbar(
            planted["planted_pct"], share, yerr=ends, marker=marker, linestyle="none", color=colour, label=label,
            markerfacecolor="white" if name == "called" else colour, **where,
        )  # fmt: skip
    first = gates[gates["planted_pct"] == planted["planted_pct"].min()]
    if len(first):
        effects = np.geomspace(0.05, max(5.0, float(planted["planted_pct"].max())), 120)
        sd, pairs = float(first["pair_sd_pct"].median()), int(first["num_pairs"].median())
        curve = 100 * np.array(power_curve(sd, pairs, [*effects]))
        axes.plot(effects, curve, color=FAINT, linewidth=1.2, label=f"t test, {pairs} pairs,\nSD {sd:.2f} %")
    axes.set_xscale("log")
    levels = [0.1, *planted["planted_pct"]]
    axes.set_xticks(levels, [f"{level:g}" for level in levels])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("planted effect, %")
    axes.set_ylim(-3, 103)
    axes.set_title("share of gates in %, with 95 % intervals", fontsize=9, loc="left", color=INK)
    axes.legend(loc="upper left", fontsize=8.5)
