"""A trace as text for `trace show`: where it comes from, how its requests look, what it asks of the engine.

The same trace always gives the same text; the figures come from `bench.traces.statistics`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from bench.options import Scalar
from bench.traces.model import Trace
from bench.traces.statistics import Burstiness, burstiness, ideal_hit_share, percentiles
from bench.units import format_seconds

COUNTS = ("rows_", "dropped_", "changed_")  # options of an import that are told as rows
OPTIONAL_NEEDS = {
    "max_loras": " adapters in one step",
    "num_speculative_tokens": " drafts a request and step",
    "streaming_sessions": "",
    "max_num_encoder_input_tokens": " tokens of images a step",
    "encoder_cache_size": " tokens of images",
    "kv_load_failure_policy": "",
}  # of the engine, by unit; told where they are on
MAX_PRIORITIES = 8  # levels listed one by one; more are given as a range


def summarise(trace: Trace) -> str:
    """The description of `trace`, a fact a line, each with its unit; no newline at the end."""
    facts = [*_origin(trace), *_lengths(trace), *_arrivals(trace), *_leaving(trace), *_sharing(trace), *_needs(trace)]
    width = max(len(name) for name, _ in facts)
    return "\n".join(f"{name:<{width}}  {text}" for name, text in facts)


def _origin(trace: Trace) -> Iterator[tuple[str, str]]:
    yield "source", trace.workload
    options = {name: value for name, value in trace.options.items() if not name.startswith(COUNTS)}
    if options:
        yield "options", ", ".join(f"{name}={value}" for name, value in options.items())
    yield from _rows(trace)
    yield "seed", str(trace.seed)
    yield "digest", trace.digest
    yield "requests", f"{len(trace.requests)}"
    yield (
        "num_running",
        f"{trace.num_running} requests; steady from the first to the last step with ≥ {trace.steady_running}",
    )


def _rows(trace: Trace) -> Iterator[tuple[str, str]]:
    """What an import read, left out and changed; nothing where the trace was generated."""
    if "rows_read" not in trace.options:
        return
    dropped, changed = (
        {name.removeprefix(prefix): value for name, value in trace.options.items() if name.startswith(prefix)}
        for prefix in ("dropped_", "changed_")
    )
    text = f"read {trace.options['rows_read']}, kept {trace.options['rows_kept']}"
    yield "rows", f"{text}, dropped {sum(map(int, dropped.values()))}{_reasons(dropped)}"
    if changed:
        yield "rows changed", ", ".join(f"{reason} {count}" for reason, count in changed.items())


def _reasons(counts: Mapping[str, Scalar]) -> str:
    return f" ({', '.join(f'{reason} {count}' for reason, count in counts.items())})" if counts else ""


def _lengths(trace: Trace) -> Iterator[tuple[str, str]]:
    for name in ("input_length", "output_length"):
        values = [getattr(request, name) for request in trace.requests]
        p50, p90, p99, most = percentiles(values)
        yield name, f"p50 {p50}, p90 {p90}, p99 {p99}, max {most}, sum {sum(values)} tokens"


def _arrivals(trace: Trace) -> Iterator[tuple[str, str]]:
    steps = Counter(request.arrival_step for request in trace.requests)
    first, last = trace.requests[0], trace.requests[-1]
    if first.arrival_step is not None and len(steps) == 1:
        yield "arrivals", f"all before step {first.arrival_step}"
    elif first.arrival_step is not None:
        span = f"before {len(steps)} of the steps {first.arrival_step} to {last.arrival_step}"
        yield "arrivals", f"{span}, at most {max(steps.values())} requests before one"
    span_ms = last.timestamp - first.timestamp
    if span_ms == 0:
        yield "clock", "all requests at one instant"
        return
    yield "clock", f"{span_ms:.15g} ms from the first to the last request ({format_seconds(span_ms / 1000)})"
    yield "burstiness", _burstiness(burstiness([request.timestamp for request in trace.requests]))


def _burstiness(figures: Burstiness) -> str:
    counts = ", ".join(f"{_figure(value)} at {window} s" for window, value in figures.dispersion)
    return f"CV of gaps {_figure(figures.gap_cv)}; variance/mean of counts {counts} (Poisson: 1)"


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _leaving(trace: Trace) -> Iterator[tuple[str, str]]:
    by_step = Counter(request.abort_step for request in trace.requests if request.abort_step is not None)
    after = sum(request.abort_after is not None for request in trace.requests)
    if by_step:
        most = max(by_step.values())
        yield "aborts by step", f"{by_step.total()} requests before {len(by_step)} steps, at most {most} at one"
    if after:
        yield "aborts by output", f"{after} requests after a number of output tokens"
    if not by_step and not after:
        yield "aborts", "none"
    levels = Counter(request.priority for request in trace.requests)
    if len(levels) > MAX_PRIORITIES:
        yield "priorities", f"{len(levels)} levels from {min(levels)} to {max(levels)} (lower is more urgent)"
    elif set(levels) != {0}:
        counts = ", ".join(f"{level}: {levels[level]} requests" for level in sorted(levels))
        yield "priorities", f"{counts} (lower is more urgent)"


def _sharing(trace: Trace) -> Iterator[tuple[str, str]]:
    if any(request.hash_ids for request in trace.requests):
        share = ideal_hit_share(trace.requests, trace.hash_block_tokens)
        blocks = f"blocks of {trace.hash_block_tokens} tokens"
        yield "shared prefixes", f"{100 * share:.1f} % of prompt tokens hit in a cache without limit, {blocks}"
    else:
        yield "shared prefixes", "none"
    for name in ("lora", "grammar", "session"):
        values = Counter(getattr(request, name) for request in trace.requests)
        del values[None]
        if values:
            yield name, f"{values.total()} requests with {len(values)} different ones"
    if images := [image for request in trace.requests for image in request.images]:
        yield "images", f"{len(images)} with {len({content for *_, content in images})} different ones"
    if external := [request for request in trace.requests if request.external_tokens]:
        lost = sum(request.lost_block is not None for request in external)
        tokens = sum(request.external_tokens for request in external)
        beside = sum(request.load_steps > 0 for request in external)
        text = f"{tokens} of {len(external)} requests, {lost} of which lose a block"
        yield "external tokens", text + (f" and {beside} load beside the steps" if beside else "")


def _needs(trace: Trace) -> Iterator[tuple[str, str]]:
    needs = trace.engine
    yield "max_num_seqs", f"{needs.max_num_seqs} requests"
    yield "max_num_batched_tokens", f"{needs.max_num_batched_tokens} tokens a step"
    yield "kv_tokens", f"{needs.kv_tokens} tokens of KV cache"
    yield "max_model_len", f"{needs.max_model_len} tokens of prompt and output"
    for name, unit in OPTIONAL_NEEDS.items():
        if getattr(needs, name):
            yield name, f"{getattr(needs, name)}{unit}"
