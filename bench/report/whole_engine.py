"""The section on the engine tier: where a whole engine's step goes, what the probe costs, and Amdahl's check."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from bench.analysis.amdahl import WAITING, amdahl
from bench.analysis.load import Run
from bench.analysis.metrics import PARTS
from bench.analysis.probe_cost import CLAIM_FACTOR, cost_share, is_below_claim, probe_costs
from bench.manifest import SIMULATED_MODEL
from bench.report.content import Align, Section, Table
from bench.report.tables import candidate_label
from bench.report.text import printable
from bench.units import SIGN_RULE, format_interval, format_percent, format_us

DASH = "–"
MARK = " †"
SIMULATED = (
    f"Cells named {SIMULATED_MODEL.replace(' ', '_')} have no model: an executor of ours answers each batch after the "
    "time that the name says. Engine core, batch queue and scheduler are vLLM's own; of the model nothing is."
)

Row = Mapping[Hashable, Any]


def whole_engine(run: Run, comparisons: pd.DataFrame) -> tuple[Section, ...]:
    """One section where any engine was measured, none otherwise."""
    checked = amdahl(comparisons)
    if checked.empty:
        return ()
    costs = probe_costs(run)
    paragraphs = tuple(engine_notes(run, comparisons))
    tables = (_parts(comparisons, costs), _amdahl(checked, costs), _probe(costs))
    return (Section("Inside a whole engine", paragraphs, tables),)


def engine_notes(run: Run, comparisons: pd.DataFrame) -> list[str]:
    """What must be known beside the verdicts of the engine tier, a sentence each; none where it did not run."""
    steps = comparisons[comparisons["metric"].eq("step") & ~comparisons["canary"] & comparisons["num_pairs"].gt(0)]
    if steps.empty:
        return []
    notes = [SIMULATED] if steps["cell"].str.contains(SIMULATED_MODEL.replace(" ", "_")).any() else []
    notes += _probe_notes(probe_costs(run), steps)
    unaccounted = _unaccounted(comparisons, steps)
    if unaccounted:
        notes.append(f"The parts of an engine's step add up to it within {max(unaccounted):.1f} %.")
    return notes


def _probe_notes(costs: pd.DataFrame, steps: pd.DataFrame) -> list[str]:
    """The probe's cost at each size that was measured, against the shortest step of that size."""
    notes = []
    shortest = steps.groupby("num_running")["baseline_us"].min()
    for row in costs.to_dict("records"):
        step = float(shortest.get(row["num_running"], math.nan))
        if step > 0:
            interval = f"[{100 * row['low_us'] / step:.2f}, {100 * row['high_us'] / step:.2f}] %"
            share = f"{100 * row['cost_us'] / step:.2f} % {interval} of the shortest engine step"
            notes.append(f"The step probe costs {share} at {row['num_running']} running.")
    return notes


def _unaccounted(comparisons: pd.DataFrame, steps: pd.DataFrame) -> list[float]:
    other = comparisons[comparisons["metric"] == "other"].set_index("comparison")["baseline_us"]
    whole = steps.set_index("comparison")["baseline_us"]
    return [float(share) for share in (100 * other / whole).dropna()]


def _parts(comparisons: pd.DataFrame, costs: pd.DataFrame) -> Table:
    names = [part.name for part in PARTS]
    wall = comparisons[comparisons["clock"].eq("wall") & comparisons["tier"].eq("engine") & ~comparisons["canary"]]
    rows = []
    for _, mine in wall.groupby("comparison", sort=False):
        times = dict(zip(mine["metric"], mine["baseline_us"], strict=True))
        step = times.get("step", math.nan)
        if not step > 0:
            continue
        first = mine.iloc[0]
        probe = _percent(cost_share(costs, first["num_running"], step))
        shares = [_percent(times.get(name, 0.0) / step) for name in names]
        rows.append((printable(first["cell"]), format_us(step), *shares, probe))
    headers = ("cell", "step", *names, "probe")
    note = (
        "share of the baseline's step; idle: waiting for a model that runs beside the scheduler; other: in no part, so "
        "that all but this adds up; probe: what the measuring itself adds"
    )
    aligned: tuple[Align, ...] = ("left", *("right",) * 11)
    return Table(headers, tuple(dict.fromkeys(rows)), aligned, note)


def _amdahl(checked: pd.DataFrame, costs: pd.DataFrame) -> Table:
    rows = tuple(_checked(row, costs) for row in checked.to_dict("records"))
    headers = (
        "cell", "candidate", "scheduler's share", "replay effect", "predicted", "95 % interval", "observed",
        "95 % interval", "agree",
    )  # fmt: skip
    note = (
        f"of the step; {SIGN_RULE}; predicted: share × effect of the same workload and size in the replay tier, but "
        f"nothing where the engine waits for its model more than {100 * WAITING:g} % of the step and a loss is shorter "
        f"than the wait; agree: the intervals overlap; {DASH}: not in this run;{MARK}: less than {CLAIM_FACTOR} times "
        "what the probe costs at most, no claim"
    )
    return Table(headers, rows, ("left", "left", *("right",) * 6, "left"), note)


def _checked(row: Row, costs: pd.DataFrame) -> tuple[str, ...]:
    share = cost_share(costs, row["num_running"], row["step_us"], "high_us")
    mark = MARK if is_below_claim(row["observed_pct"] / 100, share) else ""
    return (
        printable(row["cell"]),
        candidate_label({**row, "canary": False}),
        f"{row['share_pct']:.1f} %",
        format_percent(row["replay_pct"] / 100),
        format_percent(row["predicted_pct"] / 100),
        format_interval(row["predicted_low_pct"] / 100, row["predicted_high_pct"] / 100),
        format_percent(row["observed_pct"] / 100) + mark,
        format_interval(row["observed_low_pct"] / 100, row["observed_high_pct"] / 100),
        row["agree"] or DASH,
    )


def _probe(costs: pd.DataFrame) -> Table:
    rows = tuple(
        (str(row["num_running"]), str(row["num_pairs"]), format_us(row["cost_us"]),
         f"{format_us(row['low_us'])} … {format_us(row['high_us'])}")
        for row in costs.to_dict("records")
    )  # fmt: skip
    headers = ("requests running", "pairs of steps", "the probe adds", "95 % interval")
    note = "thread CPU time; median difference of neighbouring steps with the probe and without it, order drawn"
    return Table(headers, rows, ("right",) * 4, note)


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %" if math.isfinite(share) else DASH
