"""The section on the serve tier: how the client kept its times, and what clients of either arm saw."""

from __future__ import annotations

import pandas as pd

from bench.analysis.clients import client_facts, late_client
from bench.analysis.load import Run
from bench.analysis.metrics import LATENCIES, SERVE
from bench.manifest import ComparisonRecord
from bench.report.content import Align, Section, Table
from bench.report.tables import CANARY_LABEL, candidate_label
from bench.report.text import printable
from bench.units import SIGN_RULE, format_interval, format_percent, format_us

TEXT = (
    "Every latency counts from the moment at which the request was meant to arrive, not from when it was sent: a "
    "client that falls behind cannot hide a slow server. Lateness is how much later than meant the client sent."
)


def serving(run: Run, comparisons: pd.DataFrame) -> tuple[Section, ...]:
    """One section where any comparison was served, none otherwise."""
    records = [one for one in run.manifest.comparisons if one.tier == SERVE and len(run.requests_of(one.id))]
    if not records:
        return ()
    late = {f"{printable(record.cell)}, {_candidate(record)}": late_client(run, record.id) for record in records}
    paragraphs = (TEXT, *(f"{where}: {why}" for where, why in late.items() if why))
    return (Section("What clients of the servers saw", paragraphs, (_client(run, records), _latencies(comparisons))),)


def _client(run: Run, records: list[ComparisonRecord]) -> Table:
    rows = tuple(
        (
            printable(record.cell),
            _candidate(record),
            row["arm"],
            *(str(row[name]) for name in ("num_requests", "num_hung_up", "num_aborted")),
            *(f"{row[f'late_{name}_ms']:.3g} ms" for name in ("p50", "p99", "max")),
            *(f"{row[f'{name}_per_s']:.1f}" for name in ("requests", "tokens", "good")),
        )
        for record in records
        for row in client_facts(run, record.id).to_dict("records")
    )
    late = ("late p50", "late p99", "late max")
    headers = ("cell", "candidate", "arm", "requests", "hung up", "aborted by server", *late, "requests/s", "tokens/s")
    aligned: tuple[Align, ...] = ("left", "left", "left", *("right",) * 9)
    note = "rates: median over replays; requests/s: answered to the end; good/s: those that kept the objectives"
    return Table((*headers, "good/s"), rows, aligned, note)


def _candidate(record: ComparisonRecord) -> str:
    return CANARY_LABEL if record.canary else printable(record.candidate)


def _latencies(comparisons: pd.DataFrame) -> Table:
    shown = comparisons["metric"].isin([metric.name for metric in LATENCIES])
    rows = tuple(
        (
            printable(row["cell"]),
            candidate_label(row),
            str(row["metric"]),
            format_us(row["baseline_us"]),
            format_us(row["candidate_us"]),
            format_percent(row["effect_pct"] / 100),
            format_interval(row["low_pct"] / 100, row["high_pct"] / 100),
        )
        for row in comparisons[shown & (comparisons["tier"] == SERVE) & (comparisons["num_pairs"] > 0)].to_dict(
            "records"
        )
    )
    headers = ("cell", "candidate", "metric", "baseline", "candidate's", "effect", "95 % interval")
    note = f"{SIGN_RULE}; throughput: time for an output token, goodput: for a request that kept the objectives"
    return Table(headers, rows, ("left", "left", "left", *("right",) * 4), note)
