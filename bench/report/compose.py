"""Puts a report together: title, verdicts, cells, and the sections with their figures, in reading order.

Which language it is written in is for `pages` and `comment`.
"""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from bench.analysis.load import Run
from bench.analysis.scaling import crossovers, pair_costs, points, slopes
from bench.report import sections
from bench.report.cells import MAX_DRAWN, cells
from bench.report.content import Cell, Content, Picture, Section
from bench.report.facts import facts
from bench.report.headline import headlines, verdict_rows, void_warning
from bench.report.plots.costs import costs_figure
from bench.report.plots.effects import effects_figure, shown_rows
from bench.report.plots.style import Image, draw
from bench.report.queue_share import queue_notes, queue_share
from bench.report.serving import serving
from bench.report.text import names, printable
from bench.report.verdict_lines import verdict_lines
from bench.report.whole_engine import engine_notes, whole_engine

MAX_CURVES = 24  # figures of cost against size; the tables have every curve

Drawn = list[tuple[Picture, Image]]


def compose(run: Run, comparisons: pd.DataFrame) -> tuple[Content, Drawn]:
    """The content of every page, and the figures that it names."""
    top, costs = summary(run, comparisons), pair_costs(run)
    effects, scaling = [effects_drawn(comparisons)], scaling_drawn(costs)
    each, of_cells = cells(run, comparisons, top.verdicts)
    content = replace(
        top,
        notes=(*top.notes, *_undrawn(each)),
        cells=each,
        sections=(
            Section("Effects", pictures=_pictures(effects)),
            sections.worth(comparisons),
            *queue_share(run, comparisons),
            sections.compared(run),
            sections.proofs(run),
            *sections.scaling(slopes(costs), crossovers(comparisons), _pictures(scaling)),
            sections.parts(comparisons),
            *whole_engine(run, comparisons),
            *serving(run, comparisons),
            sections.trust(run, comparisons),
            sections.machine(run),
        ),
    )
    return content, [*effects, *scaling, *of_cells]


def summary(run: Run, comparisons: pd.DataFrame) -> Content:
    """What stands above the fold of every page, without cells, sections and figures."""
    return Content(
        title=f"Run {printable(run.manifest.name)}",
        subtitle=f"Measured {printable(run.manifest.created)}",
        warning=void_warning(comparisons),
        headlines=tuple(headlines(comparisons)),
        notes=(*_notes(run), *queue_notes(run, comparisons), *engine_notes(run, comparisons)),
        verdicts=verdict_lines(comparisons),
        cells=(),
        sections=(),
        facts=facts(run, comparisons),
    )


def _notes(run: Run) -> tuple[str, ...]:
    if run.manifest.status == "measured":
        return ()
    done = sum(record.status in ("measured", "void") for record in run.manifest.comparisons)
    total = len(run.manifest.comparisons)
    return (f"The run stopped early ({run.manifest.status}): {done} of {total} comparisons are complete.",)


def _undrawn(each: tuple[Cell, ...]) -> tuple[str, ...]:
    if len(each) <= MAX_DRAWN:
        return ()
    return (f"Figures were drawn for the {MAX_DRAWN} comparisons that need attention most; tables stand for all.",)


def _pictures(drawn: Drawn) -> tuple[Picture, ...]:
    return tuple(picture for picture, _ in drawn)


def _drawn(name: str, caption: str, image: Image) -> tuple[Picture, Image]:
    return Picture(name, caption, image.svg.decode()), image


def effects_drawn(comparisons: pd.DataFrame) -> tuple[Picture, Image]:
    """The effects of all comparisons in one figure."""
    caption = "Effect on the time a step with its 95 % interval for each comparison, against the margin"
    hidden = len(verdict_rows(comparisons)) - len(shown_rows(comparisons))
    caption += f"; {hidden} more that need less attention are in the tables" if hidden else ""
    return _drawn("effects", caption, draw(effects_figure, comparisons))


def scaling_drawn(costs: pd.DataFrame, most: int = MAX_CURVES) -> Drawn:
    """A figure for each of the first `most` workloads and tiers: cost of a step against the number running."""
    table, lines = points(costs), slopes(costs)
    curves = table[["tier", "workload"]].drop_duplicates().head(most).to_numpy()
    made = names([f"cost-{tier}-{workload}" for tier, workload in curves])
    return [
        _drawn(
            name,
            f"Cost of a step against the number running: {printable(workload)}, {tier} tier",
            draw(costs_figure, table, lines, tier, workload),
        )
        for name, (tier, workload) in zip(made, curves, strict=True)
    ]
