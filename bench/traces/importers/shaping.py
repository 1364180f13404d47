"""What an import does to the requests on purpose: pure steps, columns in, columns and a count of changes out.

The order is fixed: arrivals, rate, spread, lengths, context; each step is declared in the trace's header.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace

import numpy as np

from bench.errors import TraceError
from bench.traces.checks import MAX_STEP
from bench.traces.columns import Columns, Floats, Wholes
from bench.traces.importers.options import RECORDED, ImportOptions, scaled
from bench.traces.importers.rows import Tally


def shape(columns: Columns, options: ImportOptions, by_session: bool, block_tokens: int, tally: Tally) -> Columns:
    """The requests as they shall be, in order of arrival from 0 ms on; `tally` counts what was changed."""
    columns = _with_arrivals(columns, options, by_session, tally)
    columns = replace(columns, times_ms=columns.times_ms / options.rate_scale)
    if options.spread_ms:
        spread = _generator(options, "spread").uniform(0, options.spread_ms, len(columns))
        columns = replace(columns, times_ms=columns.times_ms + spread)
        tally.changed["spread"] += len(columns)
    columns = _scaled(columns, options, block_tokens, tally)
    columns = _clipped(columns, options, scaled(block_tokens, options), tally)
    columns = columns.taken(np.argsort(columns.times_ms, kind="stable"))
    return replace(columns, times_ms=columns.times_ms - columns.times_ms[0])


def arrival_steps(times_ms: Floats, outputs: Wholes, step_ms: float) -> tuple[Wholes, int]:
    """(the step before which each request is delivered, idle steps left out), where a step lasts `step_ms`.

    An engine without requests takes no steps, so idle time has none: it is left out where no request can be there
    any more, each staying for a step a token at least. Raises TraceError where there are too many steps.
    """
    steps = np.floor(times_ms.round(3) / step_ms)
    gone = np.maximum.accumulate(steps + outputs)
    idle = np.concatenate([[0.0], np.maximum(0, steps[1:] - gone[:-1])])
    busy = steps - np.cumsum(idle)
    if busy[-1] > MAX_STEP:
        raise TraceError(
            f"import option step_ms is {step_ms:.15g}: {times_ms[-1] / 1000:.15g} s are more than {MAX_STEP} steps; "
            "pass a longer step or --window-end-s"
        )
    return busy.astype(np.int64), int(idle.sum())


def arrival_times_ms(options: ImportOptions, count: int, rng: np.random.Generator) -> Floats:
    """`count` ascending times from 0 of the asked process at `rate` a second."""
    mean_ms = 1000 / options.rate
    match options.arrivals:
        case "poisson":
            gaps = rng.exponential(mean_ms, count - 1)
        case "gamma":
            gaps = rng.gamma(options.burstiness, mean_ms / options.burstiness, count - 1)
        case "even":
            gaps = np.full(count - 1, mean_ms)
        case _:
            gaps = np.zeros(count - 1)
    return np.concatenate([[0.0], np.cumsum(gaps)])


def _with_arrivals(columns: Columns, options: ImportOptions, by_session: bool, tally: Tally) -> Columns:
    if options.arrivals == RECORDED:
        return columns
    rng = _generator(options, "arrivals")
    if not by_session:
        tally.changed["arrival_drawn"] += len(columns)
        return replace(columns, times_ms=arrival_times_ms(options, len(columns), rng))
    place_of = {session: place for place, session in enumerate(dict.fromkeys(columns.sessions))}
    starts = arrival_times_ms(options, len(place_of), rng)
    tally.changed["session_start_drawn"] += len(place_of)
    places = np.array([place_of[session] for session in columns.sessions])
    return replace(columns, times_ms=columns.times_ms + starts[places])


def _scaled(columns: Columns, options: ImportOptions, block_tokens: int, tally: Tally) -> Columns:
    if options.length_scale == 1:
        return columns
    block = block_tokens * options.length_scale
    if any(columns.hash_ids) and (block < 1 or abs(block - round(block)) > 1e-9):
        fitting = max(1, round(block)) / block_tokens
        raise TraceError(
            f"import option length_scale is {options.length_scale:.15g}: a hash id of {block_tokens} tokens "
            f"would stand for {block:.15g}; a whole number is needed, for instance with {fitting:.15g}"
        )
    tally.changed["length_scaled"] += len(columns)
    inputs, outputs = (
        np.array([scaled(each, options) for each in lengths.tolist()], dtype=np.int64)
        for lengths in (columns.inputs, columns.outputs)
    )
    ids = _cut_ids(columns, inputs, scaled(block_tokens, options))
    return replace(columns, inputs=inputs, outputs=outputs, hash_ids=ids)


def _clipped(columns: Columns, options: ImportOptions, block_tokens: int, tally: Tally) -> Columns:
    """No request above `max_context`: the prompt gives way, the output only where it alone is too long."""
    over = columns.inputs + columns.outputs > options.max_context
    if not options.max_context or not over.any():
        return columns
    tally.changed["clipped"] += int(over.sum())
    outputs = np.minimum(columns.outputs, options.max_context - 1)
    inputs = np.minimum(columns.inputs, options.max_context - outputs)
    return replace(columns, inputs=inputs, outputs=outputs, hash_ids=_cut_ids(columns, inputs, block_tokens))


def _cut_ids(columns: Columns, inputs: Wholes, block_tokens: int) -> list[tuple[int, ...]]:
    """No more ids than blocks that the prompts begin."""
    most = (-(-inputs // block_tokens)).tolist()
    return [ids if len(ids) <= limit else ids[:limit] for ids, limit in zip(columns.hash_ids, most, strict=True)]


def _generator(options: ImportOptions, purpose: str) -> np.random.Generator:
    """One for each purpose, so that one option does not change what another draws."""
    stable = int.from_bytes(hashlib.blake2b(purpose.encode(), digest_size=8).digest(), "little")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([options.seed, stable])))


def counts_for_header(tally: Tally) -> dict[str, int]:
    """The counts as options of a trace: rows_read, rows_kept, and each reason."""
    named: Counter[str] = Counter({"rows_read": tally.read, "rows_kept": tally.kept})
    named.update({f"dropped_{reason}": count for reason, count in tally.dropped.items()})
    named.update({f"changed_{reason}": count for reason, count in tally.changed.items()})
    return dict(named)
