"""The subcommands of `variants`: what each variant is, and how it stands on other versions of vLLM."""

from __future__ import annotations

from pathlib import Path

import click

from bench.errors import EXIT_DONE, EXIT_INPUT

PATH = click.Path(path_type=Path)


@click.group()
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
