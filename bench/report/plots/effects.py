"""One row a comparison: effect with its intervals against the margin, and the verdict in words.

Draws what `bench.analysis.comparisons` judged and judges nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter

from bench.report.headline import WORST_FIRST, verdict_rows
from bench.report.plots.style import BAND, FAINT, INK, WIDTH_IN
from bench.report.tables import candidate_label
from bench.report.text import clip, printable
from bench.units import SIGN_RULE, format_percent

ROW_IN, HEAD_IN, FOOT_IN = 0.4, 0.5, 1.12  # height of a row, of the title, of axis and legends
AXES_LEFT, AXES_WIDTH = 0.29, 0.37
VERDICT_AT, FIGURES_AT = 1.05, 1.45  # places of the words right of the axes, in widths of the axes
LABEL_LENGTH = 30
MAX_ROWS = 60  # two screens of them; a taller figure is neither read nor opened by every viewer
MARKERS = {"FASTER": "<", "SLOWER": ">", "EQUIVALENT": "o", "INCONCLUSIVE": "o"}
COLOURS = {"FASTER": "#0072b2", "SLOWER": "#d55e00", "EQUIVALENT": INK, "INCONCLUSIVE": FAINT, "VOID": "#a00000"}

Row = Mapping[Hashable, Any]


def effects_figure(comparisons: pd.DataFrame) -> Figure:
    """The verdict rows from top to bottom; effects in percent of the baseline, negative = candidate faster."""
    rows = shown_rows(comparisons).to_dict("records")
    margin = float(comparisons["margin_pct"].iloc[0])
    height = HEAD_IN + FOOT_IN + ROW_IN * len(rows)
    figure = Figure(figsize=(WIDTH_IN, height))
    axes = figure.add_axes((AXES_LEFT, FOOT_IN / height, AXES_WIDTH, 1 - (HEAD_IN + FOOT_IN) / height))
    _scale(axes, rows, margin)
    axes.axvspan(-margin, margin, color=BAND, zorder=0)
    axes.axvline(0, color=FAINT, linewidth=1, zorder=1)
    for place, row in enumerate(rows):
        axes.axhline(place + 0.5, color=BAND, linewidth=0.8, zorder=0)
        _draw_row(axes, place, row)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks(range(len(rows)), [_label(row) for row in rows], fontsize=8.5)
    axes.tick_params(axis="y", length=0)
    figure.text(
        0.012, 1 - 0.2 / height, "Effect on the time a step, by comparison", fontsize=11, va="top", weight="bold"
    )
    _legend(figure, margin, height)
    return figure


def shown_rows(comparisons: pd.DataFrame) -> pd.DataFrame:
    """The verdict rows that are drawn: all, or the MAX_ROWS that need attention most, in their own order."""
    rows = verdict_rows(comparisons)
    worst = rows["verdict"].map(WORST_FIRST.index).sort_values(kind="stable").index[:MAX_ROWS]
    return rows.loc[worst.sort_values()]


def _scale(axes: Axes, rows: list[dict[Hashable, Any]], margin: float) -> None:
    ends = np.array([row[end] for row in rows for end in ("effect_pct", "low_pct", "high_pct")], dtype=np.float64)
    ends = np.abs(ends[np.isfinite(ends)])
    reach = max(1.15 * float(ends.max(initial=0.0)), 1.6 * margin)
    kind = ""
    if reach > 6 * margin:
        axes.set_xscale("symlog", linthresh=2 * margin)
        axes.xaxis.set_major_locator(FixedLocator(_symlog_ticks(reach, margin)))
        axes.xaxis.set_minor_locator(FixedLocator([]))
        kind = ", compressed far from 0"
        reach *= 1.3
    axes.set_xlim(-reach, reach)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+g}" if value else "0"))
    axes.set_xlabel(f"effect, % of the baseline{kind}\n← candidate faster   ({SIGN_RULE})   slower →", fontsize=8.5)


def _symlog_ticks(reach: float, margin: float) -> list[float]:
    """0, the margin, and beyond it powers of ten, with 3, 30 … between them where there is room."""
    between = (1, 3) if reach < 50 else (1,)
    outer = [step * 10.0**decade for decade in range(-2, 6) for step in between]
    outer = [value for value in outer if 2.5 * margin < value < reach]
    return sorted([-value for value in outer] + [-margin, 0.0, margin] + outer)


def _draw_row(axes: Axes, place: int, row: Row) -> None:
    colour = COLOURS[row["verdict"]]
    beside: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "va": "center", "fontsize": 8.5}
    effect = row["effect_pct"]
    axes.text(VERDICT_AT, place, row["verdict"], color=colour, weight="bold", **beside)
    if not np.isfinite(effect):
        axes.text(FIGURES_AT, place, "no figures", **beside)
        return
    for low, high, width in (("low_pct", "high_pct", 1.3), ("low90_pct", "high90_pct", 3.6)):
        if np.isfinite(row[low]) and np.isfinite(row[high]):
            axes.plot([row[low], row[high]], [place, place], color=colour, linewidth=width, solid_capstyle="butt")
            if width < 2:
                axes.plot([row[low], row[high]], [place, place], color=colour, marker="|", linestyle="none")
    hollow = "white" if row["verdict"] == "INCONCLUSIVE" else colour
    marker = MARKERS.get(row["verdict"], "X")
    axes.plot([effect], [place], marker=marker, markersize=7.5, color=colour, markerfacecolor=hollow, linestyle="none")
    axes.text(FIGURES_AT, place, f"{format_percent(effect / 100)}, n = {row['num_pairs']}", **beside)


def _label(row: Row) -> str:
    return f"{clip(printable(row['cell']), LABEL_LENGTH)}\n{candidate_label(row, LABEL_LENGTH)}"


def _legend(figure: Figure, margin: float, height: float) -> None:
    marks = [
        Line2D([], [], marker=MARKERS[verdict], color=COLOURS[verdict], linestyle="none", label=verdict,
               markerfacecolor="white" if verdict == "INCONCLUSIVE" else COLOURS[verdict])
        for verdict in MARKERS
    ]  # fmt: skip
    lines = [
        Line2D([], [], color=INK, linewidth=1.3, label="95 % interval"),
        Line2D([], [], color=INK, linewidth=3.6, label="90 % interval"),
        Patch(color=BAND, label=f"margin ±{margin:g} %"),
    ]
    place: dict[str, Any] = {
        "loc": "lower left",
        "fontsize": 8,
        "handletextpad": 0.4,
        "columnspacing": 1.4,
        "borderaxespad": 0,
    }
    figure.legend(handles=marks, bbox_to_anchor=(0.012, 0.3 / height), ncols=len(marks), **place)
    figure.legend(handles=lines, bbox_to_anchor=(0.012, 0.08 / height), ncols=len(lines), **place)
    figure.text(0.99, 0.13 / height, "n: pairs; A/A: the baseline with itself", ha="right", fontsize=8)
