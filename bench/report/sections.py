"""The sections of a report below its verdicts: each function makes one from analysed tables or the manifest.

Order and figures are chosen in `bench.report.compose`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from bench.analysis import statistics
from bench.analysis.estimates import zygote_spread
from bench.analysis.load import Run
from bench.analysis.metrics import GATING, LATENCIES, SERVE
from bench.analysis.noise import KEY
from bench.analysis.slices import DISTURBANCES, slices_of
from bench.report.cells import engine_step_us, interval_us
from bench.report.content import Align, Picture, Section, Table
from bench.report.facts import DIGEST_LENGTH, canary, smallest_detectable
from bench.report.headline import verdict_rows
from bench.report.noise import noise_table
from bench.report.tables import candidate_label
from bench.report.text import LINE_LENGTH, listed, printable
from bench.units import SIGN_RULE, format_interval, format_percent, format_signed_us, format_us

DASH = "–"

Row = Mapping[Hashable, Any]


def compared(run: Run) -> Section:
    """Variants, traces and seeds: what must be equal for two runs to be the same experiment."""
    manifest = run.manifest
    variants = tuple((printable(one.spec), one.digest[:DIGEST_LENGTH]) for one in manifest.variants)
    traces = tuple((printable(one.name), str(one.num_requests), one.digest[:DIGEST_LENGTH]) for one in manifest.traces)
    seed = printable(str(manifest.config.get("seed", DASH)))
    seeds = f"Experiment seed {seed}; {len(manifest.hash_seeds)} hash seeds, one a zygote."
    return Section(
        "What was compared",
        (seeds, "Digests are the first letters of SHA-256; manifest.json holds them whole."),
        (
            Table(("variant", "source digest"), variants, ("left", "left")),
            Table(("trace", "requests", "digest"), traces, ("left", "right", "left")),
        ),
    )


def proofs(run: Run) -> Section:
    """The step-by-step comparison of decisions that came before any timing."""
    rows = []
    for record in run.manifest.comparisons:
        parity = record.parity
        found = DASH if parity is None else "alike" if parity.alike else "DIFFERENT"
        steps = DASH if parity is None else str(parity.num_steps)
        message = "" if parity is None else printable(parity.message, LINE_LENGTH)
        label = "A/A" if record.canary else printable(record.candidate)
        rows.append((printable(record.cell), label, found, steps, message))
    text = "Before any timing both variants ran each trace, and every decision of every step was compared."
    aligned: tuple[Align, ...] = ("left", "left", "left", "right", "left")
    return Section(
        "How equal decisions were proven",
        (text,),
        (Table(("cell", "candidate", "decisions", "steps compared", "message"), tuple(rows), aligned),),
    )


def parts(comparisons: pd.DataFrame) -> Section:
    """The rows without a verdict, p values adjusted over all of them."""
    of_steps = ~comparisons["metric"].isin([metric.name for metric in LATENCIES])  # those have their own section
    rows = comparisons[~comparisons["gating"] & ~comparisons["canary"] & of_steps].copy()
    rows["p_value"] = statistics.benjamini_hochberg(rows["p_value"].to_numpy(dtype="float64"))
    lines = tuple(_part(row) for row in rows.to_dict("records"))
    headers = ("cell", "candidate", "part", "clock", "baseline", "difference", "effect", "95 % interval", "p")
    note = f"{SIGN_RULE}; times a step; p by Benjamini and Hochberg over this table; none of these rows is judged"
    aligned: tuple[Align, ...] = ("left", "left", "left", "left", *("right",) * 5)
    return Section("Parts of a step", (), (Table(headers, lines, aligned, note),))


def _part(row: Row) -> tuple[str, ...]:
    return (
        printable(row["cell"]),
        candidate_label(row),
        row["metric"],
        row["clock"],
        format_us(row["baseline_us"]),
        format_signed_us(row["difference_us"]),
        format_percent(row["effect_pct"] / 100),
        format_interval(row["low_pct"] / 100, row["high_pct"] / 100),
        f"{row['p_value']:.2g}" if math.isfinite(row["p_value"]) else DASH,
    )


def worth(comparisons: pd.DataFrame) -> Section:
    """Absolute effects, beside the step of a whole engine where one ran the same workload at the same size."""
    rows = []
    for row in verdict_rows(comparisons, canaries=False).to_dict("records"):
        step = engine_step_us(comparisons, row)
        share = format_percent(row["difference_us"] / step) if step > 0 else DASH
        time, difference = format_us(row["baseline_us"]), format_signed_us(row["difference_us"])
        figures = (time, difference, interval_us(row), format_us(step), share)
        rows.append((printable(row["cell"]), candidate_label(row), *figures))
    headers = ("cell", "candidate", "baseline", "difference", "95 % interval", "engine step", "share of it")
    note = (
        f"{SIGN_RULE}; times a step; engine step: the same workload and size in the engine tier, {DASH} if not measured"
    )
    aligned: tuple[Align, ...] = ("left", "left", *("right",) * 5)
    return Section("What the effect is worth", (), (Table(headers, tuple(rows), aligned, note),))


def scaling(slopes: pd.DataFrame, crossings: pd.DataFrame, pictures: tuple[Picture, ...]) -> tuple[Section, ...]:
    """Cost against the number of running requests, and where the faster variant changes; none where all is empty."""
    rows = tuple(
        (row["tier"], printable(row["workload"]), printable(row["variant"]), row["function"], f"{row['slope_us']:.3g}",
         f"[{row['low_us']:.3g}, {row['high_us']:.3g}]", str(row["num_sizes"]))
        for row in slopes.to_dict("records")
        if math.isfinite(row["slope_us"])
    )  # fmt: skip
    lines = tuple(
        f"{row['tier']}, {printable(row['workload'])}, {printable(row['candidate'])}: the faster variant changes "
        + (f"at about {row['num_running']:.0f} running." if math.isfinite(row["num_running"]) else "nowhere in range.")
        for row in crossings.to_dict("records")
    )
    headers = ("tier", "workload", "variant", "function", "µs a further request", "95 % interval", "sizes")
    aligned: tuple[Align, ...] = ("left", "left", "left", "left", "right", "right", "right")
    tables = (Table(headers, rows, aligned, "least squares over pairs; a description, not judged"),) if rows else ()
    if not (lines or tables or pictures):
        return ()
    return (Section("Cost against the number running", lines, tables, pictures),)


def trust(run: Run, comparisons: pd.DataFrame) -> Section:
    """Canary, exclusions, and other ways to the same interval: reasons to believe the verdicts or not."""
    excluded = (
        f"A slice leaves with both its members if either saw one of these: {exclusion_rule()}; "
        "in the replay tier one of 20 ms or more bears a switch for every 20 ms and 5 % of stolen time."
    )
    return Section(
        "Why to trust it",
        (canary(comparisons), excluded, smallest_detectable(comparisons)),
        (_exclusions(comparisons), _intervals(comparisons), _zygotes(run, comparisons)),
    )


def exclusion_rule() -> str:
    """What excludes a slice, in words, tier by tier."""
    rules = [
        f"in the {tier} tier {listed([column.replace('_ms', ' time').replace('_', ' ') for column in columns])}"
        for tier, columns in DISTURBANCES.items()
    ]
    return "; ".join(rules)


def _exclusions(comparisons: pd.DataFrame) -> Table:
    rows = tuple(
        (printable(row["cell"]), candidate_label(row), str(row["num_slices"]), f"{row['excluded_pct']:.1f} %",
         format_percent(row["effect_pct"] / 100), format_percent(row["all_slices_pct"] / 100))
        for row in verdict_rows(comparisons).to_dict("records")
        if math.isfinite(row["excluded_pct"]) and row["tier"] != SERVE
    )  # fmt: skip
    headers = ("cell", "candidate", "slices kept", "excluded", "effect", "with no slice excluded")
    return Table(headers, rows, ("left", "left", *("right",) * 4), SIGN_RULE)


def _intervals(comparisons: pd.DataFrame) -> Table:
    rows = tuple(
        (printable(row["cell"]), candidate_label(row), *_pair_of_intervals(row), f"{row['p_value']:.2g}",
         row["score"], format_percent(row["other_score_pct"] / 100))
        for row in verdict_rows(comparisons).to_dict("records")
        if math.isfinite(row["effect_pct"])
    )  # fmt: skip
    headers = ("cell", "candidate", "exact", "t", "BCa bootstrap", "signed-rank p", "judged on", "other score")
    note = f"95 % intervals; {SIGN_RULE}; p unadjusted; scores: median of slices, or sums"
    return Table(headers, rows, ("left", "left", *("right",) * 4, "left", "right"), note)


def _pair_of_intervals(row: Row) -> tuple[str, ...]:
    ends = (("low_pct", "high_pct"), ("t_low_pct", "t_high_pct"), ("bca_low_pct", "bca_high_pct"))
    return tuple(format_interval(row[low] / 100, row[high] / 100) for low, high in ends)


def _zygotes(run: Run, comparisons: pd.DataFrame) -> Table:
    rows = []
    for row in verdict_rows(comparisons).to_dict("records"):
        if row["tier"] == SERVE:
            continue
        slices = slices_of(run, row["comparison"])
        spread = zygote_spread(slices, GATING[row["tier"]].column)
        if math.isfinite(spread.intraclass):
            pairs_a_zygote = row["num_pairs"] / slices.baseline["zygote"].nunique()
            shown = (f"{100 * spread.within_sd:.2f} %", f"{100 * spread.between_sd:.2f} %")
            widening = f"× {math.sqrt(1 + (pairs_a_zygote - 1) * spread.intraclass):.2f}"
            rows.append((printable(row["cell"]), candidate_label(row), *shown, widening))
    headers = ("cell", "candidate", "SD within a zygote", "SD between zygotes", "interval would widen")
    note = "pairs from one zygote share its memory layout; last column: if they are as alike as they look here"
    return Table(headers, tuple(rows), ("left", "left", *("right",) * 3), note)


def machine(run: Run) -> Section:
    """The host and the versions, as the run saved them."""
    manifest = run.manifest
    host = tuple(
        (printable(key), printable(_shown(value), LINE_LENGTH)) for key, value in manifest.host.items() if key != KEY
    )
    versions = tuple((printable(key), printable(value)) for key, value in manifest.versions.items())
    tables = (
        Table(("machine", ""), host, ("left", "left")),
        noise_table(manifest),
        Table(("package", "version"), versions, ("left", "left")),
    )
    return Section("Machine and versions", (), tables)


def _shown(value: object) -> str:
    return DASH if value in ("", None) else str(value)
