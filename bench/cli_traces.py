"""Subcommands for traces: make one, take one from another tool, look at one, give one to another tool."""

from __future__ import annotations

from pathlib import Path

import click

PATH = click.Path(path_type=Path)


@click.group()
def trace() -> None:
    """Frozen request traces: make one, import one, look at one."""


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
    if plot is not None:
        from bench.report.plots.trace_figure import plot_trace

        plot_trace(shown, plot)
    click.echo(summarise(shown))
    if plot is not None:
        click.echo(plot)


@trace.command("workloads")
@click.option("--markdown", is_flag=True, help="As docs/workloads.md has it.")
def trace_workloads(markdown: bool) -> None:
    """List the workloads: the path of the scheduler that each takes, its proof, its options with units and defaults."""
    from bench.traces.workloads import describe_workloads, workloads_markdown

    click.echo(workloads_markdown() if markdown else describe_workloads())
