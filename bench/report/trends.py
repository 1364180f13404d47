"""Past runs for people: the table of all series, the sentences about changes, and the trend plots.

What they say is found in `bench.analysis.trends`.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from tabulate import tabulate

from bench.analysis.files import replace_file
from bench.analysis.trends import RECENT, Trend
from bench.report.plots.history import history_figure
from bench.report.plots.style import draw
from bench.report.text import names, printable
from bench.units import SIGN_RULE, format_interval, format_percent

HEADERS = ("environment", "cell", "candidate", "runs", "from", "to", "latest effect", "95 % interval", "changes")
ALIGNED = ("left", "left", "left", "right", "left", "left", "right", "right", "right")


def trend_table(found: list[Trend]) -> str:
    """One line a series, with its last effect; negative = candidate faster."""
    rows = []
    for one in found:
        last = one.runs.iloc[-1]
        interval = format_interval(last["low_pct"] / 100, last["high_pct"] / 100)
        effect, days = format_percent(last["effect_pct"] / 100), one.runs["created"].str[:10]
        names_of = (printable(one.environment, 40), printable(one.cell, 40), _candidate(one))
        counted = (str(len(one.runs)), printable(days.iloc[0]), printable(days.iloc[-1]))
        rows.append((*names_of, *counted, effect, interval, str(len(one.changes))))
    shown = tabulate([HEADERS, *rows], tablefmt="plain", disable_numparse=True, colalign=ALIGNED)
    return f"{shown}\n\neffect: {SIGN_RULE}"


def _candidate(trend: Trend) -> str:
    return "A/A" if trend.canary else printable(trend.candidate, 30)


def change_lines(found: list[Trend], recent: int = RECENT) -> list[str]:
    """A sentence for each change of level, news first; one that says so where there is none."""
    told = [(one, change) for one in found for change in one.changes]
    told.sort(key=lambda pair: pair[0].news(recent) is not pair[1])
    lines = [_line(one, index, recent) for one, change in told for index in [one.changes.index(change)]]
    if lines:
        return lines
    return [f"no change of level in {len(found)} series; too few runs show nothing"]


def _line(trend: Trend, place: int, recent: int) -> str:
    change = trend.changes[place]
    first = trend.runs.iloc[change.index]
    before = trend.runs.iloc[change.index - 1]
    is_news = trend.news(recent) is change
    word = ("SLOWER" if change.shift > 0 else "FASTER") if is_news else "earlier"
    source = "" if first["candidate_digest"] == before["candidate_digest"] else "; the candidate's source changed there"
    return (
        f"{word}: {printable(trend.cell)}, {_candidate(trend)}: {format_percent(change.shift / 100)} since run "
        f"{change.index + 1} of {len(trend.runs)} ({printable(first['created'][:10])}, {printable(first['run'], 16)}), "
        f"from {format_percent(change.before / 100)} to {format_percent(change.after / 100)}{source}"
    )


def write_trend_plots(found: list[Trend], folder: Path) -> list[Path]:
    """`history-<environment>-<candidate>.png` and `.svg` in `folder`; the same history gives the same bytes."""
    by_figure = [(key, list(group)) for key, group in groupby(sorted(found, key=_figure_key), key=_figure_key)]
    paths = []
    for name, (_, shown) in zip(names([f"history-{'-'.join(key)}" for key, _ in by_figure]), by_figure, strict=True):
        image = draw(history_figure, shown)
        paths.append(replace_file(folder / f"{name}.png", image.png))
        paths.append(replace_file(folder / f"{name}.svg", image.svg))
    return paths


def _figure_key(trend: Trend) -> tuple[str, str, str]:
    return trend.environment, "aa" if trend.canary else trend.candidate, trend.baseline
