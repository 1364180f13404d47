"""Puts a report together: title, verdicts, and the sections with their figures, in reading order.

Which language it is written in is for `markdown`, `html` and `comment`.
"""

from __future__ import annotations

import pandas as pd

from bench.analysis.load import Run
from bench.analysis.scaling import crossovers, pair_costs, points, slopes
from bench.analysis.timeline import timeline
from bench.records import ComparisonRecord
from bench.report import sections
from bench.report.content import Content, Picture, Section
from bench.report.headline import headlines, void_warning
from bench.report.plots.costs import costs_figure
from bench.report.plots.effects import effects_figure
from bench.report.plots.style import Image, draw
from bench.report.plots.timelines import timeline_figure
from bench.report.text import printable, slug
from bench.report.verdict_lines import verdict_lines

Drawn = list[tuple[Picture, Image]]


def compose(run: Run, comparisons: pd.DataFrame) -> tuple[Content, Drawn]:
    """The content of every page, and the figures that it names."""
    costs = pair_costs(run)
    effects, scaling = [_effects(comparisons)], _scaling(costs)
    steps = _timelines(run, comparisons)
    content = Content(
        title=f"Run {printable(run.manifest.name)}",
        subtitle=f"Measured {printable(run.manifest.created)}",
        warning=void_warning(comparisons),
        headlines=tuple(headlines(comparisons)),
        notes=_notes(run),
        verdicts=verdict_lines(comparisons),
        sections=(
            Section("Effects", pictures=_pictures(effects)),
            sections.worth(comparisons),
            sections.compared(run),
            sections.proofs(run),
            sections.scaling(slopes(costs), crossovers(comparisons), _pictures(scaling)),
            Section("Step by step", ("The largest size of each workload.",), pictures=_pictures(steps)),
            sections.parts(comparisons),
            sections.trust(run, comparisons),
            sections.machine(run),
        ),
    )
    return content, [*effects, *scaling, *steps]


def _notes(run: Run) -> tuple[str, ...]:
    if run.manifest.status == "measured":
        return ()
    done = sum(record.status in ("measured", "void") for record in run.manifest.comparisons)
    total = len(run.manifest.comparisons)
    return (f"The run stopped early ({run.manifest.status}): {done} of {total} comparisons are complete.",)


def _pictures(drawn: Drawn) -> tuple[Picture, ...]:
    return tuple(picture for picture, _ in drawn)


def _drawn(name: str, caption: str, image: Image) -> tuple[Picture, Image]:
    return Picture(name, caption, image.svg.decode()), image


def _effects(comparisons: pd.DataFrame) -> tuple[Picture, Image]:
    caption = "Effect on the time a step with its 95 % interval for each comparison, against the margin"
    return _drawn("effects", caption, draw(effects_figure, comparisons))


def _scaling(costs: pd.DataFrame) -> Drawn:
    table, lines = points(costs), slopes(costs)
    curves = table[["tier", "workload"]].drop_duplicates().to_numpy()
    names = _names([f"cost-{tier}-{workload}" for tier, workload in curves])
    return [
        _drawn(
            name,
            f"Cost of a step against the number running: {printable(workload)}, {tier} tier",
            draw(costs_figure, table, lines, tier, workload),
        )
        for name, (tier, workload) in zip(names, curves, strict=True)
    ]


def _timelines(run: Run, comparisons: pd.DataFrame) -> Drawn:
    records = _largest(run, comparisons)
    drawn = []
    for name, record in zip(_names([f"timeline-{record.id}" for record in records]), records, strict=True):
        steps = timeline(run, record.id)
        if not steps.empty:
            caption = f"Time of each step in both arms: {printable(record.cell)}, {printable(record.candidate)}"
            drawn.append(_drawn(name, caption, draw(timeline_figure, steps, record)))
    return drawn


def _names(wanted: list[str]) -> list[str]:
    """A file name for each, numbered where two would be the same."""
    names: list[str] = []
    for name in map(slug, wanted):
        names.append(f"{name}-{len(names)}" if name in names else name)
    return names


def _largest(run: Run, comparisons: pd.DataFrame) -> list[ComparisonRecord]:
    judged = comparisons[comparisons["gating"] & ~comparisons["canary"] & (comparisons["num_pairs"] > 0)]
    largest = judged.groupby(["tier", "workload", "candidate"], sort=False)["num_running"].idxmax()
    return [run.comparison(comparison) for comparison in judged.loc[largest, "comparison"]]
