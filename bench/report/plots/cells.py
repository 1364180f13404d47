"""One comparison from three sides: each pair's effect, the time by function, and how the quantiles of a step shift.

Narrow enough for a phone; draws what `bench.analysis` found and judges nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from bench.report.plots.style import BAND, FAINT, INK, VARIANT_STYLES, title
from bench.report.tables import candidate_label
from bench.report.text import printable
from bench.units import SIGN_RULE

NARROW_IN, HEIGHT_IN = 4.0, 6.6
TEXT = 9  # points; 11 pixels on a phone of 390
FUNCTIONS = {"schedule": "schedule()", "update": "update…()", "finish": "finish…()", "model": "model"}
ARMS = ("baseline", "candidate")

Row = Mapping[Hashable, Any]


def cell_figure(row: Row, pairs: pd.DataFrame, parts: pd.DataFrame, quantiles: pd.DataFrame) -> Figure:
    """The figure of one verdict `row`; effects in % of the baseline, negative = candidate faster, times in µs a step.

    `pairs` is that of `bench.analysis.pair_effects`, `parts` the rows of the functions, `quantiles` that of
    `bench.analysis.quantiles`; an empty one leaves its panel with a word in place of marks.
    """
    figure = Figure(figsize=(NARROW_IN, HEIGHT_IN))
    upper, middle, lower = figure.subplots(3, 1, height_ratios=(1.5, 1.1, 1))
    figure.subplots_adjust(left=0.24, right=0.96, top=0.865, bottom=0.075, hspace=0.62)
    _draw_pairs(upper, row, pairs)
    _draw_parts(middle, parts)
    _draw_quantiles(lower, row, quantiles)
    title(figure, printable(row["cell"], 40), f"{candidate_label(row, 40)}; {SIGN_RULE}")
    return figure


def _draw_pairs(axes: Axes, row: Row, pairs: pd.DataFrame) -> None:
    effects = pairs["effect_pct"].to_numpy(dtype=np.float64)
    axes.set_title("effect of each pair, %", fontsize=TEXT, loc="left")
    axes.axvspan(-row["margin_pct"], row["margin_pct"], color=BAND, zorder=0)
    axes.axvline(0, color=FAINT, linewidth=1, zorder=1)
    if effects.size == 0:
        return _say_nothing(axes, "no pair")
    axes.plot(effects, np.arange(effects.size), marker="o", markersize=4, linestyle="none", color=FAINT)
    above = -1 - 0.08 * effects.size
    if np.isfinite(row["low_pct"]) and np.isfinite(row["high_pct"]):
        axes.plot([row["low_pct"], row["high_pct"]], [above, above], color=INK, linewidth=2.4, marker="|")
    axes.plot([row["effect_pct"]], [above], marker="D", markersize=6, color=INK)
    ends = [row[end] for end in ("low_pct", "high_pct") if np.isfinite(row[end])]
    _centre(axes, [*effects, *ends], row["margin_pct"])
    axes.set_ylim(effects.size, 2 * above)
    ticks = {above: "95 %", 0: "first pair"} | ({effects.size - 1: "last"} if effects.size > 1 else {})
    axes.set_yticks(list(ticks), list(ticks.values()), fontsize=TEXT)
    return None


def _draw_parts(axes: Axes, parts: pd.DataFrame) -> None:
    axes.set_title("µs a step", fontsize=TEXT, loc="left")
    if parts.empty:
        return _say_nothing(axes, "no figures")
    functions = [FUNCTIONS.get(name, printable(name, 12)) for name in parts["metric"]]
    for place, arm in enumerate(ARMS):
        style = VARIANT_STYLES[place]
        heights = np.arange(len(parts)) + (place - 0.5) * 0.38
        look: dict[str, Any] = {"color": style.colour} if place else {"color": "white", "edgecolor": style.colour}
        axes.barh(heights, parts[f"{arm}_us"], height=0.36, label=arm, hatch="" if place else "///", **look)
    axes.set_yticks(range(len(parts)), functions, fontsize=TEXT)
    axes.set_ylim(len(parts) - 0.4, -0.6)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.tick_params(axis="x", labelsize=TEXT)
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=2, fontsize=TEXT, borderaxespad=0,
                handlelength=1.2, columnspacing=0.8)  # fmt: skip
    return None


def _draw_quantiles(axes: Axes, row: Row, quantiles: pd.DataFrame) -> None:
    axes.set_title("shift of a step's quantiles, %", fontsize=TEXT, loc="left")
    axes.axvspan(-row["margin_pct"], row["margin_pct"], color=BAND, zorder=0)
    axes.axvline(0, color=FAINT, linewidth=1, zorder=1)
    known = quantiles[np.isfinite(quantiles["effect_pct"].to_numpy(dtype=np.float64))]
    if known.empty:
        return _say_nothing(axes, "no steps saved")
    places = np.arange(len(known))
    centres = known["effect_pct"].to_numpy(dtype=np.float64)
    ends = known[["low_pct", "high_pct"]].to_numpy(dtype=np.float64)
    reach = np.nan_to_num(np.abs(ends.T - centres), posinf=0.0, neginf=0.0)
    axes.errorbar(centres, places, xerr=reach, marker="s", linestyle="none", capsize=3, color=INK)
    axes.set_yticks(places, [f"p{100 * level:g}" for level in known["quantile"]], fontsize=TEXT)
    axes.set_ylim(len(known) - 0.4, -0.6)
    _centre(axes, [*centres, *ends[np.isfinite(ends)]], row["margin_pct"])
    return None


def _centre(axes: Axes, values: list[float], margin: float) -> None:
    reach = max(1.15 * float(np.abs(np.array(values, dtype=np.float64)).max(initial=0.0)), 1.4 * margin)
    axes.set_xlim(-reach, reach)
    axes.xaxis.set_major_locator(MaxNLocator(5, symmetric=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+g}" if value else "0"))
    axes.tick_params(axis="x", labelsize=TEXT)


def _say_nothing(axes: Axes, why: str) -> None:
    axes.text(0.5, 0.5, why, transform=axes.transAxes, ha="center", va="center", fontsize=TEXT)
    axes.set_xticks([])
    axes.set_yticks([])
