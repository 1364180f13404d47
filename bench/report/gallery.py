"""The gallery: the plots of the committed reference run with a word on each, made by `make plots`.

`python -m bench.report.gallery RUN_DIR PLOTS_DIR PAGE` makes it again; the same run gives the same bytes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.analysis.comparisons import compare
from bench.analysis.files import replace_file
from bench.analysis.load import load_run
from bench.errors import EXIT_DONE, EXIT_INPUT, BenchError
from bench.report.compose import Drawn, compose
from bench.report.content import Content
from bench.report.pages import fill

HEADINGS = {
    "effects": ("Effects", "Each comparison with its 95 % interval against the margin."),
    "cost-": ("Cost against the number running", "Wall time of each function, both variants side by side."),
    "cell-": ("Cell by cell", "Every pair, the split by function, and the shift of the quantiles of a step."),
    "timeline-": ("Step by step", "What each step cost, and what happened in it."),
}


def write_gallery(run_dir: Path, plots: Path, page: Path) -> list[Path]:
    """`plots` holds the chosen figures of the run and no others, and `page` shows them; the paths written.

    Chosen are the effects, the costs, and of each workload its largest size. Raises RunFolderError.
    """
    run = load_run(run_dir)
    content, drawn = compose(run, compare(run))
    chosen = _chosen(content, drawn)
    paths = []
    for picture, image in chosen:
        paths.append(replace_file(plots / f"{picture.name}.png", image.png))
        paths.append(replace_file(plots / f"{picture.name}.svg", image.svg))
    for stale in set(plots.glob("*.png")) | set(plots.glob("*.svg")):
        if stale not in paths:
            stale.unlink()
    return [*paths, replace_file(page, _page(content, chosen, plots, page).encode())]


def _chosen(content: Content, drawn: Drawn) -> Drawn:
    largest = {picture.name for cell in content.cells if cell.is_largest for picture in cell.pictures}
    other = {picture.name for cell in content.cells for picture in cell.pictures} - largest
    return [(picture, image) for picture, image in drawn if picture.name not in other]


def _page(content: Content, chosen: Drawn, plots: Path, page: Path) -> str:
    chapters = [
        (title, text, [picture for picture, _ in chosen if picture.name.startswith(start)])
        for start, (title, text) in HEADINGS.items()
    ]
    folder = Path(os.path.relpath(plots, page.parent)).as_posix()
    return fill("gallery.md.jinja", {"content": content, "chapters": chapters, "folder": folder})


def main(arguments: Sequence[str]) -> int:
    """Write the gallery, or say in one line why not; the exit code is for make."""
    if len(arguments) != 3:
        print("usage: python -m bench.report.gallery RUN_DIR PLOTS_DIR PAGE", file=sys.stderr)
        return EXIT_INPUT
    try:
        for path in write_gallery(*map(Path, arguments)):
            print(path)
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return EXIT_DONE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
