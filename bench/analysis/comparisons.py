"""One row for each comparison and metric: estimate, intervals, smallest detectable effect, and the verdict.

Joins estimates and verdicts into the table of `bench.records.COMPARISONS`; how it looks is for `bench.report`.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from bench.analysis.estimates import Estimate, estimate
from bench.analysis.files import replace_file
from bench.analysis.hosts import mixed_hosts
from bench.analysis.latencies import beyond_scheduler, latency_estimates
from bench.analysis.load import Run
from bench.analysis.metrics import BESIDE, GATING, METRICS, SERVE, Metric
from bench.analysis.noise import unfit_host
from bench.analysis.slices import Slices, slices_of
from bench.analysis.statistics import holm
from bench.analysis.verdicts import Evidence, Limits, Ruling, doubts_canary, judge, withhold
from bench.manifest import ComparisonRecord
from bench.records import COMPARISONS
from bench.units import format_percent

CSV_FLOAT = "%.9g"  # more digits than any clock has, few enough to read
PANDAS_TYPES = {"string": "str", "int64": "int64", "float64": "float64", "bool": "bool"}

Row = dict[str, Any]


def compare(run: Run) -> pd.DataFrame:
    """The table of `bench.records.COMPARISONS`, comparisons in the manifest's order, metrics in that of METRICS.

    Effects are `exp(score) - 1` in percent of the baseline; negative = candidate faster. A comparison that is void,
    failed or not measured has one row without figures.
    """
    findings = [_find(run, record) for record in run.manifest.comparisons]
    doubts = _canary_doubts(findings, run.limits)
    rows = [row for finding in findings for row in _rows(finding, doubts.get(finding.record.tier, ""), run.limits)]
    table = pd.DataFrame(rows, columns=[column.name for column in COMPARISONS])
    judged = table["gating"].astype(bool) & ~table["canary"].astype(bool)
    table.loc[judged, "p_holm"] = holm(table.loc[judged, "p_value"].to_numpy(dtype="float64"))
    return table.astype({column.name: PANDAS_TYPES[column.type] for column in COMPARISONS})


def write_comparisons(comparisons: pd.DataFrame, run_dir: Path) -> list[Path]:
    """`comparisons.csv` and `comparisons.parquet` in `run_dir`; the same table gives the same bytes."""
    text = comparisons.to_csv(index=False, float_format=CSV_FLOAT, lineterminator="\n")
    schema = pa.schema([(column.name, pa.type_for_alias(column.type)) for column in COMPARISONS])
    table = pa.Table.from_pandas(comparisons, schema=schema, preserve_index=False).replace_schema_metadata(None)
    content = io.BytesIO()
    pq.write_table(table, content)
    return [
        replace_file(run_dir / "comparisons.csv", text.encode()),
        replace_file(run_dir / "comparisons.parquet", content.getvalue()),
    ]


@dataclass(frozen=True)
class _Finding:
    """What one comparison gave: figures of each metric, the evidence for its verdict, and the ruling on it alone."""

    record: ComparisonRecord
    excluded: float
    estimates: Mapping[Metric, Estimate | None]
    evidence: Evidence
    ruling: Ruling


def _find(run: Run, record: ComparisonRecord) -> _Finding:
    slices, gating = slices_of(run, record.id), GATING[record.tier]
    void, failed = _why_void(record), _why_failed(record, len(slices.undisturbed) + len(run.requests_of(record.id)))
    if void or failed:
        evidence = Evidence(num_pairs=0, void=void, failed=failed)
        return _Finding(record, math.nan, {gating: None}, evidence, judge(evidence, run.limits))
    estimates = _estimates(run, record, slices)
    beside = BESIDE.get(record.tier)
    evidence = _evidence(estimates[gating], slices.excluded, estimates.get(beside) if beside else None)
    evidence = replace(
        evidence, tails=run.tails_of(record), mixed=mixed_hosts(run, record.id), unfit=unfit_host(run, record.tier)
    )
    ruling = judge(evidence, run.limits)
    if record.tier == SERVE:
        ruling = beyond_scheduler(ruling, estimates)
    return _Finding(record, slices.excluded, estimates, evidence, _remarked(ruling, estimates[gating], record))


def _estimates(run: Run, record: ComparisonRecord, slices: Slices) -> dict[Metric, Estimate]:
    if record.tier == SERVE:
        return latency_estimates(run, record.id, run.limits.margin, run.tails_of(record))
    gating, metrics = GATING[record.tier], METRICS[record.tier]
    shown = [metric for metric in metrics if metric == gating or slices.takes_time(metric.column)]
    return {metric: estimate(slices, metric.column, run.limits.margin, run.tails_of(record)) for metric in shown}


def _why_void(record: ComparisonRecord) -> str:
    if record.parity is not None and not record.parity.alike:
        return _one_line(f"decisions differ: {record.parity.message or record.message or 'no details were saved'}")
    if record.status == "void":
        return _one_line(record.message) or "marked void while measuring, no reason was saved"
    if record.parity is None and not record.canary and record.status in ("measured", "partial"):
        return "decisions of the two variants were never compared; run it again with the parity check"
    return ""


def _why_failed(record: ComparisonRecord, num_measured: int) -> str:
    if record.status == "failed":
        return _one_line(f"measuring failed: {record.message or 'no message was saved'}")
    return "" if num_measured else "no pair was measured; go on with `run --resume`"


def _evidence(figures: Estimate, excluded: float, beside: Estimate | None) -> Evidence:
    return Evidence(
        num_pairs=figures.num_pairs,
        effect=figures.effect,
        interval=figures.judged,
        equivalence=figures.equivalence,
        other_clock=beside.judged if beside else None,
        excluded=excluded,
        pairs_to_settle=figures.pairs_to_settle,
    )


def _remarked(ruling: Ruling, gating: Estimate, record: ComparisonRecord) -> Ruling:
    remarks = [ruling.reason]
    if gating.score == "sums" and math.isfinite(gating.other_score):
        figures = f"medians say {format_percent(gating.other_score)}, sums {format_percent(gating.effect)}"
        remarks.append(f"the cost is episodic ({figures}), judged on sums")
    if gating.num_pairs < record.num_pairs_planned:
        remarks.append(f"{gating.num_pairs} of {record.num_pairs_planned} planned pairs analysed")
    return replace(ruling, reason="; ".join(remarks))


def _canary_doubts(findings: list[_Finding], limits: Limits) -> dict[str, str]:
    doubts: dict[str, str] = {}
    for finding in findings:
        if finding.record.canary and not doubts.get(finding.record.tier):
            doubts[finding.record.tier] = doubts_canary(finding.ruling, finding.evidence, limits)
    return doubts


def _rows(finding: _Finding, doubt: str, limits: Limits) -> list[Row]:
    record = finding.record
    ruling = finding.ruling if record.canary else withhold(finding.ruling, doubt)
    rows = []
    for metric, figures in finding.estimates.items():
        row = _identity(record, metric, limits) | {"excluded_pct": 100 * finding.excluded} | _figures(figures)
        if row["gating"]:
            row |= {"verdict": ruling.verdict, "reason": ruling.reason, "pairs_needed": ruling.pairs_needed}
        elif figures is not None:
            row["pairs_needed"] = judge(_evidence(figures, finding.excluded, None), limits).pairs_needed
        rows.append(row)
    return rows


def _identity(record: ComparisonRecord, metric: Metric, limits: Limits) -> Row:
    return {
        "cell": record.cell,
        "comparison": record.id,
        "tier": record.tier,
        "workload": record.workload,
        "num_running": record.num_running,
        "baseline": record.baseline,
        "candidate": record.candidate,
        "canary": record.canary,
        "metric": metric.name,
        "clock": metric.clock,
        "gating": metric == GATING[record.tier],
        "look": record.look,
        "p_holm": math.nan,
        "margin_pct": 100 * limits.margin,
        "verdict": "",
        "reason": "",
    }


def _figures(figures: Estimate | None) -> Row:
    if figures is None:
        return {"num_pairs": 0, "num_slices": 0, "score": ""}
    return {
        "num_pairs": figures.num_pairs,
        "num_slices": figures.num_slices,
        "baseline_us": figures.baseline_us,
        "candidate_us": figures.candidate_us,
        "difference_us": figures.difference_us,
        "effect_pct": 100 * figures.effect,
        "low_pct": 100 * figures.interval[0],
        "high_pct": 100 * figures.interval[1],
        "judged_low_pct": 100 * figures.judged[0],
        "judged_high_pct": 100 * figures.judged[1],
        "low90_pct": 100 * figures.interval90[0],
        "high90_pct": 100 * figures.interval90[1],
        "all_slices_pct": 100 * figures.all_slices,
        "other_score_pct": 100 * figures.other_score,
        "score": figures.score,
        "t_low_pct": 100 * figures.t_interval[0],
        "t_high_pct": 100 * figures.t_interval[1],
        "bca_low_pct": 100 * figures.bca_interval[0],
        "bca_high_pct": 100 * figures.bca_interval[1],
        "p_value": figures.p_value,
        "pair_sd_pct": 100 * figures.sd,
        "mde_pct": 100 * figures.detectable,
    }


def _one_line(message: str) -> str:
    return " ".join(message.split())
