"""What all figures share: size, colours that colour-blind readers tell apart, and bytes that never change.

Nothing is told by colour alone: variants differ in marker and line style, verdicts in marker and word.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ParamSpec

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

WIDTH_IN = 8.0  # at 100 dots an inch as wide as a page shows it
PNG_DPI = 150  # sharper than shown, so that a phone may zoom
INK = "#222222"
FAINT = "#767676"  # the lightest grey with enough contrast for text on white
BAND = "#e6e6e6"
MOST_LINEAR = 5  # values further apart than this factor go on a log axis

SVG_FONTS = b"'DejaVu Sans', Verdana, sans-serif"  # an SVG names its font; Verdana has the same widths

STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # shipped with matplotlib: the same on every machine
    "font.size": 9.5,
    "text.parse_math": False,  # a $ in a name is a $
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "hatch.linewidth": 0.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "runqueue-bench",
}


@dataclass(frozen=True)
class VariantStyle:
    """How one variant looks in every figure."""

    colour: str
    marker: str
    line: str
    width: float
    filled: bool


# Okabe and Ito (2008); the baseline is wide and hollow, so that a candidate on top of it leaves it visible.
VARIANT_STYLES = (
    VariantStyle("#0072b2", "o", "-", 2.6, False),
    VariantStyle("#d55e00", "s", "--", 1.2, True),
    VariantStyle("#009e73", "^", "-.", 1.2, True),
    VariantStyle("#cc79a7", "D", ":", 1.4, True),
)


@dataclass(frozen=True)
class Image:
    """One figure as bytes of both formats; the same data give the same bytes."""

    png: bytes
    svg: bytes


Parameters = ParamSpec("Parameters")


def draw(make: Callable[Parameters, Figure], *args: Parameters.args, **kwargs: Parameters.kwargs) -> Image:
    """The figure that `make(*args, **kwargs)` returns, in both formats, made and saved under the shared style."""
    with mpl.rc_context(STYLE):
        figure = make(*args, **kwargs)
        png, svg = io.BytesIO(), io.BytesIO()
        FigureCanvasAgg(figure).print_figure(png, format="png", dpi=PNG_DPI, metadata={"Software": None})
        FigureCanvasSVG(figure).print_figure(svg, format="svg", metadata={"Date": None, "Creator": None})
    return Image(png.getvalue(), svg.getvalue().replace(b"'DejaVu Sans'", SVG_FONTS))


def variant_style(place: int) -> VariantStyle:
    """The style of the baseline (0) or of a candidate (1, 2, …); they repeat after the last."""
    return VARIANT_STYLES[0 if place == 0 else 1 + (place - 1) % (len(VARIANT_STYLES) - 1)]


def title(figure: Figure, heading: str, note: str) -> None:
    """A bold heading at the top left, and below it in small what is drawn, over how many pairs."""
    height = figure.get_figheight()
    figure.text(0.012, 1 - 0.12 / height, heading, fontsize=11, va="top", weight="bold")
    figure.text(0.012, 1 - 0.38 / height, note, fontsize=8.5, va="top", color=INK)


def use_plain_numbers(axes: Axes, which: str) -> None:
    """Writes the ticks of the `x` or `y` axis as plain numbers, on log axes too."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def spans_decades(smallest: float, largest: float) -> bool:
    """True where a linear axis would press the small values together."""
    return smallest > 0 and math.isfinite(largest) and largest / smallest > MOST_LINEAR
