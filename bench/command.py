"""Runs a command of this package as `python -m` does: errors become one line and an exit code."""

from __future__ import annotations

import sys

import click

from bench.errors import EXIT_DONE, BenchError


def run_command(command: click.Command, prog_name: str) -> None:
    """Run `command` on the arguments of this process, which ends with its exit code."""
    try:
        sys.exit(command.main(prog_name=prog_name, standalone_mode=False) or EXIT_DONE)
    except BenchError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(130)
