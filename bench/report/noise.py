"""The noise score that a run took before its first pair, as a sentence beside the noise floor and as a table."""

from __future__ import annotations

from bench.analysis.noise import noise_sessions
from bench.manifest import Manifest
from bench.report.content import Table
from bench.report.text import printable

DASH = "–"


def noise_score(manifest: Manifest) -> tuple[str, ...]:
    """The worst of the sessions in a sentence; empty where no score was taken."""
    sessions = noise_sessions(manifest)
    if not sessions:
        return ()
    spread, disturbed = (max(getattr(one, name) for one in sessions) for name in ("spread_pct", "disturbed_pct"))
    unfit = "; NOT FIT to measure" if any(one.unfit for one in sessions) else ""
    return (
        f"Noise score before the first pair: CPU time of equal work spread by {spread:.1f} %, "
        f"{disturbed:.1f} % of it lost the core{unfit}.",
    )


def noise_table(manifest: Manifest) -> Table:
    """A row a session, a resumed run has several; no row where no score was taken."""
    rows = tuple(
        (str(number), f"{one.spread_pct:.2f} %", f"{one.disturbed_pct:.2f} %", f"{one.slice_us:.0f} µs",
         f"{one.timer_ns} ns", f"{one.cpu_timer_ns} ns", f"{one.load_1min:g}", printable(one.governor) or DASH,
         printable(one.smt_siblings) or DASH, printable("; ".join(one.unfit)) or "fit")
        for number, one in enumerate(noise_sessions(manifest), 1)
    )  # fmt: skip
    clocks = ("wall clock step", "CPU clock step")
    headers = ("session", "spread", "disturbed", "slice", *clocks, "load", "governor", "SMT siblings", "fit to measure")
    note = "a fixed piece of Python work in slices, on the arms' core, before the first pair of each session"
    return Table(headers, rows, (*("right",) * 7, "left", "left", "left"), note)
