"""The comment for a pull request: a few lines that say it all, and the rest behind a fold.

Posting it is the business of the command line; this only writes it.
"""

from __future__ import annotations

from bench.report.content import Content, VerdictLine
from bench.report.pages import fill

MARKER = "<!-- runqueue-bench -->"  # by which a later run finds its own comment
MAX_BYTES = 60_000  # GitHub takes 65,536 characters
ROWS_ABOVE = 8  # with heading, warning, headlines and notes at most 25 lines above the fold
HEADLINES_ABOVE = 3
WORST_FIRST = ("VOID", "SLOWER", "INCONCLUSIVE", "FASTER", "EQUIVALENT")


def render_comment(content: Content, margin_pct: float) -> str:
    """`comment.md`: marker, warning, headline and the rows that need attention, then all rows in a fold.

    At most 25 lines stand above the fold and MAX_BYTES bytes in all; what had to go is counted.
    """
    shown = len(content.verdicts)
    text = _fill(content, margin_pct, shown)
    while len(text.encode()) > MAX_BYTES and shown:
        shown //= 2
        text = _fill(content, margin_pct, shown)
    return text


def _fill(content: Content, margin_pct: float, shown: int) -> str:
    first = _needing_attention(content.verdicts)[:ROWS_ABOVE]
    return fill(
        "comment.md.jinja",
        {
            "marker": MARKER,
            "content": content,
            "headlines": _headlines(content),
            "first": first,
            "hidden": len(content.verdicts) - len(first),
            "lines": content.verdicts[:shown],
            "cut": len(content.verdicts) - shown,
            "margin": f"{2 * margin_pct:g} %",
        },
    )


def _headlines(content: Content) -> list[str]:
    kept = list(content.headlines[:HEADLINES_ABOVE])
    rest = len(content.headlines) - len(kept)
    return [*kept, f"and {rest} more candidates"] if rest else kept


def _needing_attention(lines: tuple[VerdictLine, ...]) -> list[VerdictLine]:
    return sorted(lines, key=lambda line: WORST_FIRST.index(line.verdict))
