"""The command line: each subcommand is one call; an error becomes one line on stderr and its exit code.

Exit codes: 0 done, 1 our own fault, 2 wrong usage or input, 3 void, 4 a regression under --gate.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

import bench
from bench.errors import EXIT_DONE, EXIT_INPUT, EXIT_VOID, BenchError, RunFolderError

PATH = click.Path(path_type=Path)
EPILOG = "Exit codes: 0 done, 1 our own fault, 2 wrong usage or input, 3 void, 4 a regression under --gate."


@click.group(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.version_option(bench.__version__, prog_name="runqueue-bench")
def cli() -> None:
    """Settle scheduler questions for vLLM: identical traces, equal decisions proven first, then a verdict."""


def main() -> None:
    """Run the command line; the process ends with its exit code."""
    try:
        sys.exit(cli.main(prog_name="python -m bench", standalone_mode=False) or EXIT_DONE)
    except BenchError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(130)


@cli.command()
@click.argument("config", type=PATH)
@click.option("--out", type=PATH, help="Run folder; absent: results/<name>-<UTC time>.")
@click.option("--resume", is_flag=True, help="Go on with the run in --out: measure only the pairs that are missing.")
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
    executor: str,
    address: str,
    json_progress: bool,
    gate: bool,
    overrides: tuple[str, ...],
) -> int:
    """Measure the experiment in CONFIG (TOML), report it, print the verdicts and, last, the run folder."""
    from bench.chain import default_run_dir, run_experiment
    from bench.config import load_experiment
    from bench.measure.progress import Reporter

    if resume and out is None:
        raise RunFolderError("--resume needs --out: which run folder to go on with")
    experiment = load_experiment(config, overrides)
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
) -> int:
    """Prove, step by step, that CANDIDATE decides as BASELINE does; exit 3 names the first step that differs."""
    from bench.config import EngineOptions
    from bench.measure.verify import traces_to_verify, verify_traces

    if trace_file is not None and workloads:
        raise click.UsageError("--trace and --workload exclude each other")
    options = EngineOptions.model_validate({"policy": policy, "async_scheduling": async_scheduling})
    traces = traces_to_verify(workloads, trace_file, num_running, seeds)
    alike = True
    for name, proof in verify_traces(baseline, candidate, traces, options, step_time_limit):
        alike &= proof.alike
        click.echo(f"{'alike  ' if proof.alike else 'DIFFERS'} {name}: {proof.message}")
    return EXIT_DONE if alike else EXIT_VOID


@cli.group()
def trace() -> None:
    """Frozen request traces: make one, look at one."""


@trace.command("generate")
@click.argument("workload")
@click.option("-o", "--output", required=True, type=PATH, help="Trace file to write (JSON Lines).")
@click.option(
    "--num-running", default=64, type=click.IntRange(1, 16_384), help="Target length of RUNNING, in requests."
)
@click.option("--seed", default=1, type=click.IntRange(0), help="Same seed, same bytes.")
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="NAME=VALUE",
    help="Workload option; see `trace workloads`.",
)
def trace_generate(workload: str, output: Path, num_running: int, seed: int, assignments: tuple[str, ...]) -> None:
    """Generate a trace of WORKLOAD and freeze it in a file."""
    from bench.traces.files import write_trace
    from bench.traces.options import parse_assignments
    from bench.traces.workloads import generate

    made = generate(workload, num_running=num_running, seed=seed, options=parse_assignments(assignments))
    write_trace(made, output)
    click.echo(f"{output}: {len(made.requests)} requests, digest {made.digest}", err=True)
    click.echo(output)


class _ImportCommand(click.Command):
    """Takes its options from where they are declared, which is read only when they are wanted."""

    def get_params(self, context: click.Context) -> list[click.Parameter]:
        from bench.traces.importers import describe_import_options

        known = {parameter.name for parameter in self.params}
        for option in describe_import_options():
            if option.name not in known:
                flag = f"--{option.name.replace('_', '-')}"
                kind = click.Choice(option.choices) if option.choices else type(option.default)
                is_flag = isinstance(option.default, bool)
                self.params.append(
                    click.Option([flag], default=option.default, type=kind, is_flag=is_flag, help=option.help())
                )
        return super().get_params(context)


@trace.command("import", cls=_ImportCommand)
@click.argument("files", type=PATH, nargs=-1, required=True, metavar="FILE…")
@click.option("-o", "--output", required=True, type=PATH, help="Trace file to write (JSON Lines).")
@click.option("--component-lengths", type=PATH, help="RAGPulse's tables of token lengths.")
def trace_import(files: tuple[Path, ...], output: Path, component_lengths: Path | None, **options: object) -> None:
    """Turn the trace of another tool into a frozen one; every row left out or changed is counted by its reason.

    The format is known by its keys; docs/traces.md lists them. Several FILEs are merged where they share a clock.
    """
    from bench.traces.files import write_trace
    from bench.traces.importers import ImportOptions, import_trace

    if output.exists() and any(file.exists() and output.samefile(file) for file in files):
        raise click.UsageError(f"-o {output} would replace the file that is imported")
    imported = import_trace(files, ImportOptions(**options), component_lengths)  # type: ignore[arg-type]
    write_trace(imported.trace, output)
    for line in imported.lines():
        click.echo(line, err=True)
    click.echo(f"{output}: {len(imported.trace.requests)} requests, digest {imported.trace.digest}", err=True)
    click.echo(output)


@trace.command("export")
@click.argument("file", type=PATH)
@click.option("-o", "--output", required=True, type=PATH, help="File to write (JSON Lines in Mooncake's keys).")
def trace_export(file: Path, output: Path) -> None:
    """Write a trace FILE for readers of Mooncake traces: no header, ms, and an id for every block of each prompt."""
    from bench.traces.export import export_mooncake
    from bench.traces.files import read_trace

    for line in export_mooncake(read_trace(file), output):
        click.echo(line, err=True)
    click.echo(output)


@trace.command("show")
@click.argument("file", type=PATH)
@click.option("--plot", type=PATH, help="Also draw arrivals, lengths and shared prefixes into this .png or .svg file.")
def trace_show(file: Path, plot: Path | None) -> None:
    """Describe a trace FILE: source, rows, lengths, arrivals, aborts, and what it asks of the engine."""
    from bench.traces.files import read_trace
    from bench.traces.summary import summarise

    shown = read_trace(file)
    click.echo(summarise(shown))
    if plot is not None:
        from bench.report.plots.trace_figure import plot_trace

        plot_trace(shown, plot)
        click.echo(plot)


@trace.command("workloads")
def trace_workloads() -> None:
    """List the workloads: the path of the scheduler that each takes, and its options with units and defaults."""
    from bench.traces.workloads import describe_workloads

    click.echo(describe_workloads())


@cli.group()
def variants() -> None:
    """Scheduler variants: what there is, and what each changes in vLLM."""


@variants.command("list")
def variants_list() -> None:
    """Name each variant with the digest of its source, and the uses of `self.running` in the installed vLLM."""
    from bench.variants.describe import describe_variants

    click.echo(describe_variants())


@variants.command("diff")
@click.argument("name", metavar="SPEC")
@click.option("--vllm", type=PATH, help="Another vLLM: the folder that holds `vllm/` of a tree or an unpacked package.")
def variants_diff(name: str, vllm: Path | None) -> None:
    """Print the exact unified diff of a variant against the installed vLLM; `patch -p1` applies it to a vLLM tree."""
    from bench.variants.describe import diff_of

    click.echo(diff_of(name, vllm), nl=False)


@variants.command("compat")
@click.option("--sources", required=True, type=PATH, help="Folder of unpacked versions: <version>/vllm/….")
@click.option("--fetch", is_flag=True, help="First fetch, by pip, those tried versions that --sources lacks.")
def variants_compat(sources: Path, fetch: bool) -> int:
    """Try the dict rewrite on the source of other vLLM versions; exit 2 where it refuses one."""
    from bench.variants.compat import check_sources, table_of
    from bench.variants.fetch import TRIED_VERSIONS, fetch_sources

    if fetch:
        for version in fetch_sources(TRIED_VERSIONS, sources):
            click.echo(f"fetched vLLM {version}", err=True)
    rows = check_sources(sources)
    click.echo(table_of(rows))
    return EXIT_INPUT if any(row.refusal for row in rows) else EXIT_DONE


@variants.command("build")
def variants_build() -> None:
    """Generate every named variant now and print where its modules lie."""
    from bench.variants.describe import build_all

    for folder in build_all():
        click.echo(folder)


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
