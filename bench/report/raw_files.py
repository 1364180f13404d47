"""Which raw files of a run folder stand behind one comparison, for a page that lies in that folder.

Names only what is there; reading belongs to `bench.analysis`.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from bench.analysis.load import PAIR_FILE, Run
from bench.manifest import ComparisonRecord
from bench.report.content import Link
from bench.report.text import printable

NOUNS = {"pairs": "slices", "requests": "requests", "steps": "steps", "chunks": "chunks"}  # what each folder holds


def whole_links(run: Run, record: ComparisonRecord) -> tuple[Link, ...]:
    """What describes the comparison as a whole: table, manifest, trace, and pyperf's file of each arm."""
    trace = next((one.file for one in run.manifest.traces if one.name == record.trace), "")
    candidate = f"{record.id}-candidate" if record.canary else record.id
    wanted = [
        Link("manifest.json", "manifest.json"),
        Link(f"trace {printable(record.trace)}", trace),
        Link("pyperf baseline", f"pyperf/{record.id}-baseline.json"),
        Link("pyperf candidate", f"pyperf/{candidate}.json"),
    ]
    return (Link("comparisons.csv", "comparisons.csv"), *(link for link in wanted if _is_there(run.path, link.path)))


def pair_links(run: Run) -> dict[str, tuple[Link, ...]]:
    """The Parquet files of each pair by comparison id, slices before steps; listed once, a run has thousands."""
    found: dict[str, list[Link]] = {}
    for folder, noun in NOUNS.items():
        for file in sorted((run.path / folder).glob("*.parquet")):
            match = PAIR_FILE.fullmatch(file.name)
            if match is not None:
                link = Link(f"{noun} of pair {int(match['pair'])}", f"{folder}/{file.name}")
                found.setdefault(match["comparison"], []).append(link)
    return {comparison: tuple(links) for comparison, links in found.items()}


def _is_there(folder: Path, path: str) -> bool:
    if not path or ".." in PurePosixPath(path).parts or not path.isprintable():
        return False
    try:
        return (folder / path).is_file() and not (folder / path).is_symlink()
    except OSError:  # a name longer than any file system takes
        return False
