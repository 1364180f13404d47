"""Subcommands for what people look at: the pull-request comment, and the history of past runs."""

from __future__ import annotations

import os
import resource
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bench.errors import InputError, RunFolderError

if TYPE_CHECKING:
    from bench.analysis.trends import Trend

PATH = click.Path(path_type=Path)
MEMORY_BYTES = 8 * 2**30  # for a run folder that nobody trusts; a sound one of a thousand cells needs a tenth


@click.command()
@click.argument("run_dir", type=PATH)
@click.option("--repository", required=True, metavar="OWNER/NAME", help="Where the pull request is.")
@click.option("--pull-request", type=click.IntRange(1), metavar="N", help="Its number; or give --head-sha.")
@click.option("--head-sha", metavar="SHA", help="Its head commit, whole; the open pull request is looked up.")
@click.option("--token-env", default="GITHUB_TOKEN", help="Environment variable that holds the token.")
@click.option("--api-url", default="https://api.github.com", help="GitHub's REST API, or that of your own server.")
@click.option("--author", default="github-actions[bot]", help="Login that the token writes as: whose comment is ours.")
@click.option("--branch", default="runqueue-bench-plots", help="Branch without history that plots are pushed to.")
@click.option("--link", default="", metavar="URL", help="Where the whole report is, for instance the job's page.")
@click.option("--second", type=PATH, metavar="RUN_DIR", help="Run folder of an independent job, for a second opinion.")
@click.option("--dry-run", is_flag=True, help="Print the comment to stdout and send nothing.")
def comment(
    run_dir: Path,
    repository: str,
    pull_request: int | None,
    head_sha: str | None,
    token_env: str,
    api_url: str,
    author: str,
    branch: str,
    link: str,
    second: Path | None,
    dry_run: bool,
) -> None:
    """Say RUN_DIR in a pull request, in one comment that later runs bring up to date.

    Verdicts, text and plots are made again from the raw data of RUN_DIR, which may come from a job that nobody
    trusts. Plots go to a branch of their own; without leave to push there, the comment has a chart of letters.
    """
    from bench.report.github import Repository
    from bench.report.publish import Draft, Target, draft, publish

    target = Target(repository, api_url, author, branch, link, pull_request, head_sha)
    target.check()
    token = os.environ.get(token_env, "")
    if not token and not dry_run:
        raise InputError(f"--token-env {token_env}: that environment variable is empty or not set")
    limit_memory(MEMORY_BYTES)
    try:
        made: Draft = draft(run_dir, second)
    except MemoryError:
        raise RunFolderError(f"run {run_dir}: needs more than {MEMORY_BYTES // 2**30} GiB of memory") from None
    if dry_run:
        click.echo(made.body({}, link), nl=False)
        where = f"#{pull_request}" if pull_request else f"the pull request with head {head_sha}"
        click.echo(f"dry run: {repository} {where}, plots {', '.join(made.plots)}; nothing was sent", err=True)
        return
    connection = Repository(api_url, repository, token)
    click.echo(publish(made, target, connection, lambda line: click.echo(f"warning: {line}", err=True)))


@click.group()
def history() -> None:
    """Past runs in an append-only store: add one, look at the trend, find changes of level."""


STORE = click.option("--store", type=PATH, default=Path("results/history"), help="Folder of the store.")
ENVIRONMENT = click.option("--environment", default="", metavar="KEY", help="Only this environment.")
CELL = click.option("--cell", default="", metavar="NAME", help="Only this cell.")


@history.command("add")
@click.argument("run_dir", type=PATH)
@STORE
def history_add(run_dir: Path, store: Path) -> None:
    """Keep the effects of RUN_DIR; a run that is there already stays as it is."""
    from bench.analysis.history import add_run
    from bench.analysis.load import load_run

    added = add_run(load_run(run_dir), store)
    if not added.is_new:
        click.echo("was there already", err=True)
    click.echo(added.path)


@history.command("show")
@STORE
@ENVIRONMENT
@CELL
def history_show(store: Path, environment: str, cell: str) -> None:
    """List every series: its environment, cell and candidate, its runs and its latest effect."""
    from bench.report.trends import trend_table

    click.echo(trend_table(_trends(store, environment, cell)))


@history.command("plot")
@STORE
@ENVIRONMENT
@CELL
@click.option("--out", type=PATH, default=Path("results/history-plots"), help="Folder for PNG and SVG files.")
def history_plot(store: Path, environment: str, cell: str, out: Path) -> None:
    """Draw the effect of each candidate from run to run, with its changes of level."""
    from bench.report.trends import write_trend_plots

    for path in write_trend_plots(_trends(store, environment, cell), out):
        click.echo(path)


@history.command("check")
@STORE
@ENVIRONMENT
@CELL
@click.option("--recent", default=7, type=click.IntRange(1), help="A change is news for this many runs.")
def history_check(store: Path, environment: str, cell: str, recent: int) -> int:
    """Tell every change of level; end with exit code 4 where a candidate became slower lately."""
    from bench.analysis.trends import exit_code
    from bench.report.trends import change_lines

    found = _trends(store, environment, cell)
    for line in change_lines(found, recent):
        click.echo(line)
    return exit_code(found, recent)


def _trends(store: Path, environment: str, cell: str) -> list[Trend]:
    from bench.analysis.history import read_history
    from bench.analysis.trends import trends

    return trends(read_history(store, environment=environment, cell=cell))


def limit_memory(most: int) -> None:
    """This process may not take more than `most` bytes from here on, where the system can hold it to that."""
    with suppress(OSError, ValueError):  # macOS knows the limit and does not take it
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (most if hard < 0 else min(most, hard), hard))
