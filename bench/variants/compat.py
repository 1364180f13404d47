"""Whether the dict rewrite knows other vLLM versions, from their sources alone: a row a version, a refusal a row too.

Nothing is imported or run: what a version decides is the business of the proof, on an installed one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import libcst as cst
from libcst.metadata import MetadataWrapper
from tabulate import tabulate

from bench.errors import VariantError
from bench.variants import running_as_dict
from bench.variants.build import Rewrite, check_compiles
from bench.variants.describe import diff_between
from bench.variants.source import SchedulerSource, read_source
from bench.variants.uses import UseKind, find_uses

HEADERS = ("vLLM", "package", "uses", "rewritten", "+ lines", "- lines", "result")


@dataclass(frozen=True)
class Compatibility:
    """What the rewrite makes of one version; `refusal` is None where it knows every use and the result compiles."""

    version: str
    package: str = "-"
    kinds: tuple[UseKind, ...] = ()
    lines_added: int = 0
    lines_removed: int = 0
    refusal: str | None = None

    @property
    def num_rewritten(self) -> int:
        """Uses that read differently for a dict; the others stay as they are."""
        return sum(kind not in running_as_dict.UNCHANGED for kind in self.kinds)


def check_sources(folder: Path) -> list[Compatibility]:
    """A row for each `folder/<version>/vllm`, oldest version first; raises VariantError where there is none."""
    roots = [path for path in folder.iterdir() if (path / "vllm").is_dir()] if folder.is_dir() else []
    if not roots:
        raise VariantError(f"sources {folder}: no <version>/vllm in it; --fetch gets the tried versions there by pip")
    return [check_source(root, running_as_dict.rewrite) for root in sorted(roots, key=_version_order)]


def check_source(root: Path, rewrite: Rewrite) -> Compatibility:
    """The row of one unpacked vLLM, named by its folder."""
    row = Compatibility(root.name)
    try:
        source = read_source(root, root.name)
        row = replace(row, package=source.package)
        row = replace(row, kinds=tuple(_kinds(source)))
        rewritten = {file: rewrite(text, file) for file, text in source.texts.items()}
        check_compiles(rewritten)
    except VariantError as error:
        return replace(row, refusal=str(error))
    diff = diff_between(source, rewritten).splitlines()
    return replace(row, lines_added=_count(diff, "+"), lines_removed=_count(diff, "-"))


def table_of(rows: Sequence[Compatibility]) -> str:
    """The rows as text; a refusal stands whole below the table."""
    cells = [
        (
            row.version,
            row.package,
            len(row.kinds) or "-",
            row.num_rewritten if row.refusal is None else "-",
            f"+{row.lines_added}" if row.refusal is None else "-",
            f"-{row.lines_removed}" if row.refusal is None else "-",
            "compiles" if row.refusal is None else "REFUSED",
        )
        for row in rows
    ]
    right = "right"
    aligned = ("left", "left", right, right, right, right, "left")
    table = tabulate([HEADERS, *cells], tablefmt="plain", disable_numparse=True, colalign=aligned)
    refusals = [f"{row.version}: {row.refusal}" for row in rows if row.refusal is not None]
    return "\n".join([table, *refusals])


def _kinds(source: SchedulerSource) -> Iterable[UseKind]:
    for file, text in source.texts.items():
        module = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
        yield from (use.kind for use in find_uses(module, file).listed)


def _count(diff: Iterable[str], sign: str) -> int:
    return sum(line.startswith(sign) and not line.startswith(sign * 3) for line in diff)


def _version_order(root: Path) -> tuple[tuple[int, ...], str]:
    return tuple(int(number) for number in re.findall(r"\d+", root.name)), root.name
