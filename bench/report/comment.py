"""The comment for a pull request: a few lines that say it all, and the rest behind folds.

Posting it is the business of `bench.report.publish`; this only writes it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby

from bench.report.content import Content, VerdictLine
from bench.report.headline import WORST_FIRST
from bench.report.pages import fill
from bench.report.text import escape_markdown, listed

MARKER = "<!-- runqueue-bench -->"  # by which a later run finds its own comment
MAX_BYTES = 60_000  # GitHub takes 65,536 characters
ROWS_ABOVE = 5  # with heading, warning, headlines, notes and noise floor at most 25 lines above the fold
HEADLINES_ABOVE = 2
MAX_POINTS = 12  # more labels than that run into each other
LABEL_ODD = re.compile(r"[^A-Za-z0-9 ./+-]")  # all else could end a label or begin something in Mermaid
EFFECT = r"[+-]\d+\.\d+ %"
TRACES_SHOWN = 40
ROWS_A_FOLD = 60  # so that a long run loses its calmest rows and not all of them
ROW_HEADER = (
    "| cell | candidate | baseline | difference | effect | 95 % interval | MDE | pairs | reason |\n"
    "| :-- | :-- | --: | --: | --: | --: | --: | --: | :-- |"
)


@dataclass(frozen=True)
class Fold:
    """One section behind a fold: dropped whole or kept whole."""

    title: str
    text: str


def render_comment(
    content: Content,
    margin_pct: float,
    *,
    pictures: Mapping[str, str] | None = None,
    link: str = "",
    max_bytes: int = MAX_BYTES,
) -> str:
    """`comment.md`: verdict, rows that need attention, noise floor, machine; then folds for the rest.

    `pictures` maps captions to URLs of PNG files, which replace the chart in letters; `link` leads to the whole report.
    At most 25 lines stand above the fold and `max_bytes` bytes in all: folds are dropped whole, the least urgent
    first, and named. Only the top is left where even that is too little.
    """
    shown = [f"![{escape_markdown(caption)}]({url})" for caption, url in (pictures or {}).items()]
    more = (
        Fold("More plots", "\n\n".join(shown[1:])) if shown else Fold("Chart", _mermaid(content.verdicts, margin_pct))
    )
    kept = [fold for fold in (more, *_rows_by_verdict(content.verdicts), _digests(content)) if fold.text]
    dropped: list[str] = []
    while True:
        text = _fill(content, margin_pct, kept, dropped, (shown[0] if shown else "", link))
        if len(text.encode()) <= max_bytes or not kept:
            return text
        dropped.insert(0, kept.pop(_least_urgent(kept)).title)


def _least_urgent(folds: list[Fold]) -> int:
    """The rows of the calmest verdict go first, then worse ones, then what is left from the end."""
    rows = [place for place, fold in enumerate(folds) if fold.title.split(":")[0] in WORST_FIRST]
    return rows[-1] if rows else len(folds) - 1


def _fill(
    content: Content, margin_pct: float, folds: list[Fold], dropped: list[str], picture_and_link: tuple[str, str]
) -> str:
    first = _needing_attention(content.verdicts)[:ROWS_ABOVE]
    return fill(
        "comment.md.jinja",
        {
            "marker": MARKER,
            "content": content,
            "headlines": _headlines(content),
            "first": first,
            "hidden": len(content.verdicts) - len(first),
            "margin": f"{2 * margin_pct:g} %",
            "folds": folds,
            "dropped": listed(dropped),
            "picture": picture_and_link[0],
            "link": picture_and_link[1],
        },
    )


def _headlines(content: Content) -> list[str]:
    kept = list(content.headlines[:HEADLINES_ABOVE])
    rest = len(content.headlines) - len(kept)
    return [*kept, f"and {rest} more candidates"] if rest else kept


def _needing_attention(lines: tuple[VerdictLine, ...]) -> list[VerdictLine]:
    return sorted(lines, key=lambda line: WORST_FIRST.index(line.verdict))


def _rows_by_verdict(lines: tuple[VerdictLine, ...]) -> list[Fold]:
    folds = []
    for verdict, group in groupby(_needing_attention(lines), key=lambda line: line.verdict):
        rows = [_row(line) for line in group]
        for start in range(0, len(rows), ROWS_A_FOLD):
            part = rows[start : start + ROWS_A_FOLD]
            which = f", {start + 1} to {start + len(part)}" if len(rows) > ROWS_A_FOLD else ""
            folds.append(Fold(f"{verdict}: {len(rows)} of {len(lines)}{which}", "\n".join((ROW_HEADER, *part))))
    return folds


def _row(line: VerdictLine) -> str:
    cells = (line.cell, line.candidate, line.baseline, line.difference, line.effect, line.interval, line.detectable)
    return f"| {' | '.join(escape_markdown(cell) for cell in (*cells, line.pairs, line.reason))} |"


def _digests(content: Content) -> Fold:
    shown = content.facts.traces[:TRACES_SHOWN]
    lines = [f"* {escape_markdown(name)}: {escape_markdown(digest)}" for name, digest in shown]
    more = len(content.facts.traces) - len(shown)
    lines += [f"* and {more} more in manifest.json"] if more else []
    return Fold("Traces, by the first letters of their SHA-256", "\n".join(lines))


def _mermaid(lines: tuple[VerdictLine, ...], margin_pct: float) -> str:
    """Effects as points, drawn by GitHub itself: what a comment has where no picture can be linked; empty for none.

    A quadrant chart, because Mermaid's bars begin at the end of the axis and not at 0. Effects past twice the margin
    lie at the edge.
    """
    shown = [line for line in _needing_attention(lines) if re.fullmatch(EFFECT, line.effect)][:MAX_POINTS]
    if not shown:
        return ""
    end = f"{2 * margin_pct:g} %"
    chart = [
        "```mermaid",
        '%%{init: {"quadrantChart": {"chartWidth": 720, "chartHeight": 620}}}%%',
        "quadrantChart",
        f"  title Effect on the time a step from -{end} to +{end}, 0 in the middle",
        '  x-axis "candidate faster" --> "candidate slower"',
    ]
    for place, line in enumerate(shown):
        share = 0.5 + float(line.effect.removesuffix(" %")) / (4 * margin_pct)
        height = 0.97 - 0.92 * place / max(len(shown) - 1, 1)
        chart.append(f'  "{_label(line)}": [{min(max(share, 0.01), 0.99):.3f}, {height:.3f}]')
    left_out = len(lines) - len(shown)
    return "\n".join([*chart, "```"]) + (f"\n\n{left_out} more in the tables." if left_out else "")


def _label(line: VerdictLine) -> str:
    return f"{LABEL_ODD.sub(' ', f'{line.cell[:36]} {line.candidate[:16]}').strip()} {line.effect}"
