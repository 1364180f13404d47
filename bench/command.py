"""Runs a command of this package as `python -m` does: errors become one line and an exit code."""

from __future__ import annotations

import sys

import click
from click.exceptions import NoArgsIsHelpError

from bench.errors import EXIT_DONE, BenchError


def run_command(command: click.Command, prog_name: str) -> None:
    """Run `command` on the arguments of this process, which ends with its exit code."""
    try:
        sys.exit(command.main(prog_name=prog_name, standalone_mode=False) or EXIT_DONE)
    except BenchError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
    except NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        click.echo(f"error: {_one_line(error)}", err=True)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(130)


def _one_line(error: click.ClickException) -> str:
    """What click says on three lines and more: the fault, and which --help tells what is right."""
    message = " ".join(error.format_message().split()).removesuffix(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"{message}; see `{context.command_path} --help`" if context else message
