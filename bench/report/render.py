"""Makes every table, figure and page of a run folder again from its raw files alone.

What each says is decided elsewhere; this only sets the order and the names of the files.
"""

from __future__ import annotations

from pathlib import Path

from bench.analysis.comparisons import compare, write_comparisons
from bench.analysis.files import replace_file
from bench.analysis.load import load_run
from bench.report.comment import render_comment
from bench.report.compose import Drawn, compose
from bench.report.pages import render_html, render_markdown


def render_report(run_dir: Path) -> list[Path]:
    """Write tables, `plots/`, `report.md`, `report.html` and `comment.md` into `run_dir`; the paths in that order.

    The same raw files give the same bytes; each file is replaced whole. Raises RunFolderError for a folder that is
    missing, damaged or not ours.
    """
    run = load_run(run_dir)
    comparisons = compare(run)
    content, drawn = compose(run, comparisons)
    return [
        *write_comparisons(comparisons, run_dir),
        *_write_plots(drawn, run_dir / "plots"),
        _write(run_dir / "report.md", render_markdown(content)),
        _write(run_dir / "report.html", render_html(content)),
        _write(run_dir / "comment.md", render_comment(content, 100 * run.limits.margin)),
    ]


def _write_plots(drawn: Drawn, folder: Path) -> list[Path]:
    paths = []
    for picture, image in drawn:
        paths.append(replace_file(folder / f"{picture.name}.png", image.png))
        paths.append(replace_file(folder / f"{picture.name}.svg", image.svg))
    return paths


def _write(path: Path, text: str) -> Path:
    return replace_file(path, text.encode())
