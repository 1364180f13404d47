"""The whole chain of a run, in its order: measure, then report; what it found decides the exit code."""

from __future__ import annotations

import datetime
import time
from pathlib import Path

import pandas as pd

from bench.analysis.comparisons import compare
from bench.analysis.load import Run, load_run
from bench.analysis.looks import regressions, unsettled
from bench.errors import EXIT_DONE, EXIT_FAULT, EXIT_REGRESSION, EXIT_VOID
from bench.manifest import Manifest
from bench.measure.opening import open_campaign
from bench.measure.plan import describe_plan
from bench.measure.progress import Reporter
from bench.options import Experiment
from bench.report.queue_share import queue_notes
from bench.report.render import render_report
from bench.report.tables import verdict_table
from bench.report.whole_engine import engine_notes
from bench.units import NS_PER_S, format_seconds
from bench.variants import load


def run_experiment(
    experiment: Experiment, run_dir: Path, *, resume: bool, gate: bool, reporter: Reporter, cluster: str | None = None
) -> tuple[str, int]:
    """Measure into `run_dir` and report there; the verdict table and the exit code."""
    began = time.monotonic()
    campaign = open_campaign(experiment, run_dir, resume=resume, reporter=reporter, cluster=cluster)
    manifest = campaign.measure()
    if campaign.look_again(unsettled(compare(load_run(run_dir)))):
        reporter.say("second look: more pairs for what the first look did not settle")
        manifest = campaign.measure()
    peak_rss_mib = max((c.peak_rss_mib for c in manifest.comparisons), default=0.0)
    if peak_rss_mib:  # servers are not arms
        reporter.say(f"peak memory of an arm: {peak_rss_mib:.0f} MiB", peak_rss_mib=peak_rss_mib)
    seconds = time.monotonic() - began
    render_report(run_dir)
    run = load_run(run_dir)
    if not resume:
        _say_how_much_was_timed(run, seconds, reporter)
    table = compare(run)
    text = "\n".join((verdict_table(table), *queue_notes(run, table), *engine_notes(run, table)))
    return text, exit_code(manifest, table, gate=gate)


def _say_how_much_was_timed(run: Run, seconds: float, reporter: Reporter) -> None:
    steps_s = sum(float(run.pairs_of(one.id)["step_ns"].sum()) for one in run.manifest.comparisons) / NS_PER_S
    if not steps_s:
        return
    share = f"{100 * steps_s / seconds:.0f} % of {format_seconds(seconds)}"
    reporter.say(f"timed steps of both arms: {share}", timed_s=round(steps_s, 3), wall_s=round(seconds, 3))


def plan_of(experiment: Experiment) -> str:
    """The comparisons that `run_experiment` would measure, as a table."""
    baseline, *candidates = (load(spec) for spec in (experiment.baseline, *experiment.candidates))
    for variant in (baseline, *candidates):
        variant.check(is_async=experiment.engine.async_scheduling)
    return describe_plan(experiment, baseline, candidates)


def exit_code(manifest: Manifest, comparisons: pd.DataFrame, *, gate: bool) -> int:
    """VOID before failure before regression; a regression only counts under `gate`."""
    if (comparisons["verdict"] == "VOID").any() or any(c.status == "void" for c in manifest.comparisons):
        return EXIT_VOID
    if any(c.status in ("failed", "partial") for c in manifest.comparisons):
        return EXIT_FAULT
    if gate and regressions(comparisons):
        return EXIT_REGRESSION
    return EXIT_DONE


def default_run_dir(name: str, results: Path = Path("results")) -> Path:
    """`results/<name>-<UTC time>`."""
    now = datetime.datetime.now(datetime.UTC)
    return results / f"{name}-{now:%Y%m%d-%H%M%S}"
