"""Everything about one comparison in one place: result, functions, quantiles, sizes, figures, raw files.

Figures are drawn for the comparisons that need attention most; tables stand for all.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bench.analysis.load import Run
from bench.analysis.metrics import FUNCTIONS, SERVE
from bench.analysis.pair_effects import pair_effects
from bench.analysis.quantiles import quantile_shift
from bench.analysis.timeline import timeline
from bench.manifest import ComparisonRecord
from bench.report.content import Align, Cell, Picture, Table, VerdictLine
from bench.report.headline import WORST_FIRST, verdict_rows
from bench.report.plots.cells import cell_figure
from bench.report.plots.style import Image, draw
from bench.report.plots.timelines import timeline_figure
from bench.report.raw_files import pair_links, whole_links
from bench.report.tables import candidate_label
from bench.report.text import names, printable
from bench.units import SIGN_RULE, format_interval, format_percent, format_signed_us, format_us

MAX_DRAWN = 40  # comparisons with figures: a page of them opens at once, and they are drawn in half a minute
NOTE = f"{SIGN_RULE}; times a step"
DASH = "–"
CURVE = ("tier", "workload", "candidate", "canary")

Row = Mapping[Hashable, Any]
Drawn = list[tuple[Picture, Image]]


@dataclass(frozen=True)
class Figures:
    """What was computed once for one comparison and is shown in tables and figures alike."""

    row: Row
    parts: pd.DataFrame
    quantiles: pd.DataFrame


def cells(run: Run, comparisons: pd.DataFrame, lines: tuple[VerdictLine, ...]) -> tuple[tuple[Cell, ...], Drawn]:
    """One Cell for each verdict row, in its order, and the figures of those that are drawn."""
    rows = verdict_rows(comparisons).to_dict("records")
    anchors = names([f"cell-{row['comparison']}" for row in rows])
    shown, largest, files = _drawn_ids(rows), _largest(comparisons), pair_links(run)
    made, drawn = [], []
    for row, anchor, line in zip(rows, anchors, lines, strict=True):
        record = run.comparison(row["comparison"])
        figures = _figures(run, comparisons, row)
        pictures = _draw(run, record, figures, anchor) if record.id in shown else []
        drawn += pictures
        made.append(
            Cell(
                anchor=anchor,
                tier=record.tier,
                workload=printable(record.workload),
                num_running=record.num_running,
                line=line,
                tables=_tables(comparisons, figures),
                pictures=tuple(picture for picture, _ in pictures),
                raw=whole_links(run, record),
                raw_by_pair=files.get(record.id, ()),
                is_largest=record.id in largest,
            )
        )
    return tuple(made), drawn


def _drawn_ids(rows: list[dict[Hashable, Any]]) -> set[str]:
    measured = [row for row in rows if row["num_pairs"] > 0]
    measured.sort(key=lambda row: WORST_FIRST.index(row["verdict"]))
    return {row["comparison"] for row in measured[:MAX_DRAWN]}


def _largest(comparisons: pd.DataFrame) -> set[str]:
    judged = comparisons[comparisons["gating"] & ~comparisons["canary"] & (comparisons["num_pairs"] > 0)]
    largest = judged.groupby(["tier", "workload", "candidate"], sort=False)["num_running"].idxmax()
    return set(judged.loc[largest, "comparison"])


def _figures(run: Run, comparisons: pd.DataFrame, row: Row) -> Figures:
    mine = comparisons[(comparisons["comparison"] == row["comparison"]) & (comparisons["clock"] == "wall")]
    functions = [part.name for part in FUNCTIONS[row["tier"]]]
    return Figures(row, mine[mine["metric"].isin(functions)], quantile_shift(run, row["comparison"]))


def _draw(run: Run, record: ComparisonRecord, figures: Figures, anchor: str) -> Drawn:
    about = f"{printable(record.cell)}, {candidate_label(figures.row)}"
    pairs = pair_effects(run, record.id, figures.row["score"])
    image = draw(cell_figure, figures.row, pairs, figures.parts, figures.quantiles)
    caption = f"Effect of each pair, time by function, and shift of the quantiles of a step: {about}"
    drawn = [(Picture(anchor, caption, image.svg.decode(), is_narrow=True), image)]
    steps = timeline(run, record.id)
    if not steps.empty:
        image = draw(timeline_figure, steps, record)
        caption = f"Time of each step in both arms: {about}"
        drawn.append((Picture(f"timeline-{anchor.removeprefix('cell-')}", caption, image.svg.decode()), image))
    return drawn


def _tables(comparisons: pd.DataFrame, figures: Figures) -> tuple[Table, ...]:
    made = (_result(comparisons, figures.row), _by_function(comparisons, figures), _by_quantile(figures.quantiles))
    return (*made, _by_size(comparisons, figures.row))


def _result(comparisons: pd.DataFrame, row: Row) -> Table:
    step = engine_step_us(comparisons, row)
    share = format_percent(row["difference_us"] / step) if step > 0 else DASH
    excluded = f"{row['excluded_pct']:.1f} %" if math.isfinite(row["excluded_pct"]) else DASH
    clock = f"{row['metric']} {row['clock']} time"
    rows = (
        ("effect", format_percent(row["effect_pct"] / 100)),
        ("95 % interval", format_interval(row["low_pct"] / 100, row["high_pct"] / 100)),
        ("90 % interval", format_interval(row["low90_pct"] / 100, row["high90_pct"] / 100)),
        ("difference", format_signed_us(row["difference_us"])),
        ("difference, 95 % interval", interval_us(row)),
        (f"baseline, {clock}", format_us(row["baseline_us"])),
        (f"candidate, {clock}", format_us(row["candidate_us"])),
        ("whole engine step", format_us(step)),
        ("difference, share of an engine step", share),
        ("minimum detectable effect", f"±{row['mde_pct']:.2f} %" if math.isfinite(row["mde_pct"]) else DASH),
        ("margin", f"±{row['margin_pct']:g} %"),
        ("pairs, slices, excluded", f"{row['num_pairs']}, {row['num_slices']}, {excluded}"),
    )
    return Table(("result", ""), rows, ("left", "right"), f"{SIGN_RULE}; TPOT" if row["tier"] == SERVE else NOTE)


def engine_step_us(comparisons: pd.DataFrame, row: Row) -> float:
    """Baseline time of a whole engine step for the workload and size of `row` in µs; nan where none was measured."""
    if row["tier"] == "engine":
        return float(row["baseline_us"])
    same = (comparisons["workload"] == row["workload"]) & (comparisons["num_running"] == row["num_running"])
    engine = comparisons[same & (comparisons["tier"] == "engine") & (comparisons["metric"] == "step")]
    return float(engine["baseline_us"].median()) if len(engine) else math.nan


def interval_us(row: Row) -> str:
    """The 95 % interval of `row` in µs a step: `-1.20 µs … +3.40 µs`."""
    low, high = (row["baseline_us"] * row[end] / 100 for end in ("low_pct", "high_pct"))
    finite = math.isfinite(low) and math.isfinite(high)
    return f"{format_signed_us(low)} … {format_signed_us(high)}" if finite else DASH


def _by_function(comparisons: pd.DataFrame, figures: Figures) -> Table:
    mine = comparisons[comparisons["comparison"] == figures.row["comparison"]]
    whole = mine[(mine["clock"] == "wall") & mine["metric"].isin(["step", "scheduler"])].tail(1)["baseline_us"]
    total = float(whole.iloc[0]) if len(whole) else math.nan
    rows = tuple(
        (part["metric"], *_change(part), format_us(part["baseline_us"]), _share(part["baseline_us"], total))
        for part in figures.parts.to_dict("records")
    )
    of = "the step" if figures.row["tier"] == "engine" else "the scheduler"
    headers = ("function", "effect", "95 % interval", "difference", "baseline", f"share of {of}")
    return Table(headers, rows, _aligned(6), f"wall time; {NOTE}")


def _share(time: float, total: float) -> str:
    return f"{100 * time / total:.1f} %" if total > 0 and math.isfinite(time) else DASH


def _change(row: Row) -> tuple[str, str, str]:
    return *_effect(row), format_signed_us(row["difference_us"])


def _effect(row: Row) -> tuple[str, str]:
    return format_percent(row["effect_pct"] / 100), format_interval(row["low_pct"] / 100, row["high_pct"] / 100)


def _by_quantile(quantiles: pd.DataFrame) -> Table:
    rows = tuple(
        (f"p{100 * row['quantile']:g}", *_effect(row), format_us(row["baseline_us"]), format_us(row["candidate_us"]))
        for row in quantiles.to_dict("records")
    )
    steps = f"; over {quantiles['num_steps'].iloc[0]} or more steps a pair" if rows else ""
    headers = ("quantile of a step", "shift", "95 % interval", "baseline", "candidate")
    return Table(headers, rows, _aligned(5), f"{NOTE}{steps}")


def _by_size(comparisons: pd.DataFrame, row: Row) -> Table:
    rows = verdict_rows(comparisons)
    same = rows[(rows[list(CURVE)] == [row[key] for key in CURVE]).all(axis=1)]
    lines = tuple(
        (str(one["num_running"]), one["verdict"], *_change(one), format_us(one["baseline_us"]))
        for one in same.sort_values("num_running").to_dict("records")
    )
    headers = ("requests running", "verdict", "effect", "95 % interval", "difference", "baseline")
    aligned: tuple[Align, ...] = ("right", "left", *("right",) * 4)
    return Table(headers, lines if len(lines) > 1 else (), aligned, NOTE)


def _aligned(columns: int) -> tuple[Align, ...]:
    right: Align = "right"
    return ("left", *(right for _ in range(columns - 1)))
