"""What a report says, before it is Markdown or HTML: plain strings in tables, sections and figures.

Nothing here is escaped; each page escapes for its own language.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Align = Literal["left", "right"]


@dataclass(frozen=True)
class Table:
    """Rows of text under headers; `note` stands below, the sign rule among it wherever there are effects."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    aligned: tuple[Align, ...]
    note: str = ""


@dataclass(frozen=True)
class Picture:
    """One figure: `name` without ending under `plots/`, what it shows in words, and its SVG for pages that hold it."""

    name: str
    caption: str
    svg: str
    is_narrow: bool = False  # fits a phone without scrolling


@dataclass(frozen=True)
class Section:
    """A heading with what belongs below it, in this order."""

    title: str
    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True)
class VerdictLine:
    """One comparison as a reader meets it first."""

    cell: str
    candidate: str
    verdict: str
    effect: str
    interval: str
    difference: str
    baseline: str
    detectable: str
    pairs: str
    reason: str
    strip: str


@dataclass(frozen=True)
class Link:
    """A file of the run folder; `path` is relative to it, with slashes, not yet fit for a URL."""

    text: str
    path: str


@dataclass(frozen=True)
class Cell:
    """Everything about one comparison; the first four fields are what a page names and filters it by."""

    anchor: str
    tier: str
    workload: str
    num_running: int
    line: VerdictLine
    tables: tuple[Table, ...]
    pictures: tuple[Picture, ...]
    raw: tuple[Link, ...]
    raw_by_pair: tuple[Link, ...]
    is_largest: bool  # the largest size of its workload, tier and candidate


@dataclass(frozen=True)
class Facts:
    """What tells how far a job can be trusted, each in a line or a few."""

    machine: str
    noise: tuple[str, ...]
    traces: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Content:
    """A whole report; `warning` is empty unless something is VOID."""

    title: str
    subtitle: str
    warning: str
    headlines: tuple[str, ...]
    notes: tuple[str, ...]
    verdicts: tuple[VerdictLine, ...]
    cells: tuple[Cell, ...]
    sections: tuple[Section, ...]
    facts: Facts
