"""The command line: each subcommand is one call; an error becomes one line on stderr and its exit code.

Exit codes: 0 done, 1 our own fault, 2 wrong usage or input, 3 void, 4 a regression under --gate.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import click

import bench
from bench.cli_report import comment, history
from bench.cli_traces import trace
from bench.cli_variants import variants
from bench.command import run_command
from bench.errors import EXIT_DONE, EXIT_VOID, RunFolderError

PATH = click.Path(path_type=Path)
EPILOG = "Exit codes: 0 done, 1 our own fault, 2 wrong usage or input, 3 void, 4 a regression under --gate."


@click.group(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.version_option(bench.__version__, prog_name="runqueue-bench")
def cli() -> None:
    """Settle scheduler questions for vLLM: identical traces, equal decisions proven first, then a verdict."""


def main() -> None:
    """Run the command line; the process ends with its exit code."""
    run_command(cli, "python -m bench")


@cli.command()
@click.argument("config", type=PATH)
@click.option("--out", type=PATH, help="Run folder; absent: results/<name>-<UTC time>.")
@click.option("--resume", is_flag=True, help="Go on with the run in --out: measure only the pairs that are missing.")
@click.option("--dry-run", is_flag=True, help="List the comparisons that would be measured, and end.")
@click.option("--executor", default="local", type=click.Choice(["local", "ray"]), help="Where the workers run.")
@click.option("--address", default="auto", help="With --executor ray: the cluster's address; auto: this host's.")
@click.option("--json-progress", is_flag=True, help="Progress as JSON, one object a line on stderr.")
@click.option("--gate", is_flag=True, help="End with exit code 4 where a candidate is SLOWER.")
@click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a key of CONFIG: dotted key, TOML value."
)
def run(
    config: Path,
    out: Path | None,
    resume: bool,
    dry_run: bool,
    executor: str,
    address: str,
    json_progress: bool,
    gate: bool,
    overrides: tuple[str, ...],
) -> int:
    """Measure the experiment in CONFIG (TOML), report it, print the verdicts and, last, the run folder."""
    from bench.chain import default_run_dir, plan_of, run_experiment
    from bench.config import load_experiment
    from bench.measure.progress import Reporter

    if resume and out is None:
        raise RunFolderError("--resume needs --out: which run folder to go on with")
    experiment = load_experiment(config, overrides)
    if dry_run:
        click.echo(plan_of(experiment))
        return EXIT_DONE
    run_dir = out or default_run_dir(experiment.name)
    reporter = Reporter(as_json=json_progress)
    cluster = address if executor == "ray" else None
    table, code = run_experiment(experiment, run_dir, resume=resume, gate=gate, reporter=reporter, cluster=cluster)
    click.echo(table)
    click.echo(run_dir)
    return code


@cli.command()
@click.option("--candidate", required=True, metavar="SPEC", help="Variant: a name, class:MODULE:CLASS, or patch:FILE.")
@click.option("--baseline", default="list", metavar="SPEC", help="Variant to compare with.")
@click.option(
    "--workload", "workloads", multiple=True, metavar="NAME", help="Workload; may be given again. Absent: all."
)
@click.option("--trace", "trace_file", type=PATH, help="A trace file in place of workloads.")
@click.option(
    "--num-running", default=64, type=click.IntRange(1, 16_384), help="Target length of RUNNING, in requests."
)
@click.option("--seeds", default=1, type=click.IntRange(1, 10_000), help="Seeds of each workload to try, from 1 on.")
@click.option("--policy", default="fcfs", type=click.Choice(["fcfs", "priority"]), help="Scheduling policy.")
@click.option("--async-scheduling", is_flag=True, help="The variants' AsyncScheduler, one step ahead.")
@click.option("--step-time-limit", default=20.0, type=click.FloatRange(0.01, 3600), help="A longer step hangs, in s.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="engine.KEY=VALUE, as in a config.")
def verify(
    candidate: str,
    baseline: str,
    workloads: tuple[str, ...],
    trace_file: Path | None,
    num_running: int,
    seeds: int,
    policy: str,
    async_scheduling: bool,
    step_time_limit: float,
    overrides: tuple[str, ...],
) -> int:
    """Prove, step by step, that CANDIDATE decides as BASELINE does; exit 3 names the first step that differs."""
    from bench.config import load_engine_options
    from bench.measure.verify import missed_path, traces_to_verify, verify_traces

    if trace_file is not None and workloads:
        raise click.UsageError("--trace and --workload exclude each other")
    options = load_engine_options(overrides, policy=policy, async_scheduling=async_scheduling)
    traces = traces_to_verify(workloads, trace_file, num_running, seeds)
    alike = True
    for name, proof in verify_traces(baseline, candidate, traces, options, step_time_limit):
        alike &= proof.alike
        click.echo(f"{'alike  ' if proof.alike else 'DIFFERS'} {name}: {proof.message}")
        for missed in missed_path(traces[name], proof) if proof.alike else ():
            click.echo(f"warning: {name}: the trace missed the path of its workload: {missed}", err=True)
    return EXIT_DONE if alike else EXIT_VOID


@cli.command()
@click.option("--candidate", required=True, metavar="SPEC", help="Variant: a name, class:MODULE:CLASS, or patch:FILE.")
@click.option("--baseline", default="list", metavar="SPEC", help="Variant to compare with.")
@click.option(
    "--vllm-source",
    required=True,
    type=PATH,
    help="A vLLM source tree, a source release (.tar.gz), or a folder that holds the release.",
)
@click.option("--fetch", is_flag=True, help="First fetch, by pip, the release into the folder --vllm-source.")
def conformance(candidate: str, baseline: str, vllm_source: Path, fetch: bool) -> int:
    """Run vLLM's own scheduler tests on BASELINE and CANDIDATE, offline; exit 3 where a test differs. Takes minutes."""
    from bench.parity.conformance.outcomes import table_of
    from bench.parity.conformance.suite import run_conformance

    if fetch:
        from bench.parity.conformance.release import fetch_release

        click.echo(fetch_release(vllm_source), err=True)
    comparison = run_conformance(baseline, candidate, vllm_source, _done_so_far if sys.stderr.isatty() else None)
    click.echo(table_of(comparison, baseline, candidate))
    return EXIT_DONE if comparison.conforms else EXIT_VOID


def _done_so_far(num_done: Mapping[str, int]) -> None:
    counts = ", ".join(f"{count} on the {side}" for side, count in num_done.items())
    click.echo(f"\rtests done: {counts} ", nl=False, err=True)


@cli.command()
@click.option("--config", default=Path("configs/calibrate.toml"), type=PATH, help="The gate: one cell, one variant.")
@click.option("--aa", default=100, type=click.IntRange(1, 10_000), help="Gates of identical schedulers to have in all.")
@click.option("--planted", default="0.5,1,2,5", metavar="PCT,…", help="Effects to plant, in % of the step.")
@click.option("--out", default=Path("results/calibration"), type=PATH, help="Folder; one that exists is gone on with.")
@click.option("--json-progress", is_flag=True, help="Progress as JSON, one object a line on stderr.")
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Override a key of the config: dotted key, TOML value.",
)
def calibrate(config: Path, aa: int, planted: str, out: Path, json_progress: bool, overrides: tuple[str, ...]) -> None:
    """Measure how often the verdict cries wolf and how small a change it sees. About 40 s a gate; stop and go on."""
    from bench.calibrate import Calibration
    from bench.calibrate import calibrate as run_calibration
    from bench.config import load_experiment
    from bench.measure.progress import Reporter

    asked = Calibration(load_experiment(config, overrides), _percentages(planted))
    for path in run_calibration(asked, out, aa, Reporter(as_json=json_progress)):
        click.echo(path)


def _percentages(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise click.BadParameter(f"{text!r}: expected numbers like 0.5,1,2,5", param_hint="--planted") from None


@cli.command()
@click.argument("run_dir", type=PATH)
def report(run_dir: Path) -> None:
    """Make tables, plots and pages of RUN_DIR again from its raw files alone; twice gives the same bytes."""
    from bench.report.render import render_report

    for path in render_report(run_dir):
        click.echo(path)


@cli.command()
def doctor() -> None:
    """Examine this machine: cores, noise, GPU, versions; what to mend before its figures are believed."""
    from bench.measure.doctor import examine

    click.echo(examine())


cli.add_command(comment)
cli.add_command(history)
cli.add_command(trace)
cli.add_command(variants)
