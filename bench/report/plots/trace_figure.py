"""A trace at a glance: when its requests arrive, how long they are, how much of their prompts is shared.

Draws what `bench.traces.statistics` counts; a trace has no variants, so the styles stand for its columns.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.errors import TraceError
from bench.report.plots.style import WIDTH_IN, draw, spans_decades, title, use_plain_numbers, variant_style
from bench.report.text import printable
from bench.traces.model import Trace
from bench.traces.statistics import ideal_hit_share, ideal_hits

HEIGHT_IN = 6.4
BINS = 60
SUFFIXES = (".png", ".svg")


def plot_trace(trace: Trace, path: Path) -> None:
    """`path` holds the figure of `trace`, as PNG or SVG by its ending; raises TraceError."""
    if path.suffix not in SUFFIXES:
        raise TraceError(f'plot {path}: ends in "{path.suffix}", expected .png or .svg')
    image = draw(trace_figure, trace)
    try:
        path.write_bytes(image.png if path.suffix == ".png" else image.svg)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise TraceError(f"plot {path}: cannot be written ({reason}); check the folder") from error


def trace_figure(trace: Trace) -> Figure:
    """Arrivals over time, the distribution of lengths, and the share of prompt tokens seen before."""
    figure = Figure(figsize=(WIDTH_IN, HEIGHT_IN))
    arrivals, lengths, shared = figure.subplots(3, 1)
    figure.subplots_adjust(left=0.1, right=0.985, top=0.88, bottom=0.08, hspace=0.65)
    edges, unit = _time_bins(trace)
    _draw_arrivals(arrivals, trace, edges, unit)
    _draw_lengths(lengths, trace)
    _draw_shared(shared, trace, edges, unit)
    note = f"{len(trace.requests)} requests, digest {trace.digest[:12]}, seed {trace.seed}"
    title(figure, f"Trace {printable(trace.workload, 60)}", note)
    return figure


def _time_bins(trace: Trace) -> tuple[np.ndarray, str]:
    """(edges of the bins, their unit): seconds, or ms where all comes within a second."""
    last_ms = trace.requests[-1].timestamp
    scale, unit = (1000.0, "s") if last_ms >= 1000 else (1.0, "ms")
    return np.linspace(0, max(last_ms / scale, 1e-3), BINS + 1), unit


def _times(trace: Trace, unit: str) -> np.ndarray:
    return np.array([each.timestamp for each in trace.requests]) / (1000.0 if unit == "s" else 1.0)


def _draw_arrivals(axes: Axes, trace: Trace, edges: np.ndarray, unit: str) -> None:
    style = variant_style(0)
    counts, _ = np.histogram(_times(trace, unit), edges)
    axes.stairs(counts, edges, color=style.colour, fill=True, alpha=0.35)
    axes.stairs(counts, edges, color=style.colour)
    axes.set(
        xlabel=f"time from the first request, {unit}", ylabel="requests", xlim=(edges[0], edges[-1]), ylim=(0, None)
    )
    axes.set_title(f"Arrivals in each {edges[1] - edges[0]:.3g} {unit}", fontsize=9.5, loc="left")


def _draw_lengths(axes: Axes, trace: Trace) -> None:
    columns = {
        "prompt": np.sort([each.input_length for each in trace.requests]),
        "output": np.sort([each.output_length for each in trace.requests]),
    }
    shares = np.arange(1, len(trace.requests) + 1) / len(trace.requests)
    for place, (name, values) in enumerate(columns.items()):
        style = variant_style(place)
        axes.step(values, 100 * shares, where="post", color=style.colour, linestyle=style.line, label=name)
    if spans_decades(min(values[0] for values in columns.values()), max(values[-1] for values in columns.values())):
        axes.set_xscale("log")
        use_plain_numbers(axes, "x")
    axes.set(xlabel="tokens", ylabel="% of requests\nno longer", ylim=(0, 102))
    axes.set_title("Lengths", fontsize=9.5, loc="left")
    axes.legend(loc="lower right", fontsize=8.5)


def _draw_shared(axes: Axes, trace: Trace, edges: np.ndarray, unit: str) -> None:
    times = _times(trace, unit)
    tokens, _ = np.histogram(times, edges, weights=[each.input_length for each in trace.requests])
    hits, _ = np.histogram(times, edges, weights=ideal_hits(trace.requests, trace.hash_block_tokens))
    share = np.divide(100 * hits, tokens, out=np.zeros(len(tokens)), where=tokens > 0)
    style = variant_style(2)
    axes.stairs(share, edges, color=style.colour, fill=True, alpha=0.35)
    axes.stairs(share, edges, color=style.colour)
    axes.set(xlabel=f"time from the first request, {unit}", ylabel="% of prompt\ntokens", ylim=(0, 102))
    axes.set_xlim(edges[0], edges[-1])
    overall = 100 * ideal_hit_share(trace.requests, trace.hash_block_tokens)
    axes.set_title(
        f"Prompt tokens seen before, in a cache without limit: {overall:.1f} % in all", fontsize=9.5, loc="left"
    )
