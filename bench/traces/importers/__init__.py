"""Traces of other tools become frozen traces: recognised by their keys, counted row by row, shaped as declared.

Each format is read in a file of its own; `import_trace` is the way in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.errors import TraceError
from bench.options import Scalar
from bench.traces.checks import MAX_NAME
from bench.traces.columns import Columns, request_id
from bench.traces.importers.collect import Collected, collect_rows
from bench.traces.importers.needs import load_of
from bench.traces.importers.options import ImportOptions, describe_import_options, scaled
from bench.traces.importers.ragpulse import read_component_lengths
from bench.traces.importers.registry import FORMATS
from bench.traces.importers.rows import Tally
from bench.traces.importers.shaping import arrival_steps, counts_for_header, shape
from bench.traces.model import Trace, TraceRequest

__all__ = ["FORMATS", "ImportOptions", "Imported", "describe_import_options", "import_trace"]


@dataclass(frozen=True, slots=True)
class Imported:
    """A trace, and how it came to be: format, unit, counts by reason, and what a person should know."""

    trace: Trace
    format: str
    time_unit: str
    tally: Tally
    notes: Sequence[str]

    def lines(self) -> Iterator[str]:
        """What to tell, a fact a line."""
        yield f"format     {self.format}, by its keys"
        yield f"time unit  {self.time_unit}"
        yield f"rows       read {self.tally.read}, kept {self.tally.kept}, dropped {self.tally.dropped.total()}"
        for word, counts in (("dropped", self.tally.dropped), ("changed", self.tally.changed)):
            for reason, count in sorted(counts.items()):
                yield f"{word}    {count} {reason}"
        for note in self.notes:
            yield f"note       {note}"


def import_trace(
    paths: Sequence[Path], options: ImportOptions | None = None, component_lengths: Path | None = None
) -> Imported:
    """The trace in the foreign files at `paths`; several are merged where they share a clock or hold sessions.

    Raises TraceError with file and line for what is damaged, and with the option where one cannot be met.
    """
    options = options or ImportOptions()
    lengths = None if component_lengths is None else read_component_lengths(component_lengths)
    collected = collect_rows(paths, options, lengths)
    try:
        trace = _frozen(collected, paths, options, component_lengths)
    except TraceError as error:
        raise TraceError(f"trace {paths[0]}: {error}") from error
    unit = "wall clock" if collected.time_unit == "ns" else collected.time_unit
    return Imported(trace, collected.format.name, unit, collected.tally, collected.notes)


def _frozen(collected: Collected, paths: Sequence[Path], options: ImportOptions, lengths: Path | None) -> Trace:
    tally = collected.tally
    by_session = collected.format.clock == "session"
    columns = shape(collected.columns, options, by_session, collected.block_tokens, tally)
    columns = replace(columns, times_ms=columns.times_ms.round(3))
    steps, num_idle = arrival_steps(columns.times_ms, columns.outputs, options.step_ms)
    load = load_of(columns, steps, options)
    said: dict[str, Scalar] = {
        **options.said(),
        "format": collected.format.name,
        "source": _printable("+".join(path.name for path in paths)),
        "time_unit": collected.time_unit,
        "step_ms": options.step_ms,
        "idle_steps_left_out": num_idle,
        **counts_for_header(tally),
    }
    if lengths is not None:
        said["component_lengths"] = _printable(lengths.name)
    return Trace(
        workload=_printable(f"{collected.format.name}:{paths[0].name.split('.')[0]}"),
        options=said,
        seed=options.seed,
        num_running=load.num_running,
        steady_running=load.steady_running,
        engine=load.engine,
        requests=tuple(_requests(columns, steps.tolist())),
        hash_block_tokens=scaled(collected.block_tokens, options),
    )


def _requests(columns: Columns, steps: list[int]) -> Iterator[TraceRequest]:
    rows = zip(
        columns.times_ms.tolist(),
        columns.inputs.tolist(),
        columns.outputs.tolist(),
        columns.hash_ids,
        steps,
        columns.sessions,
        strict=True,
    )
    for number, (time_ms, prompt, output, ids, step, session) in enumerate(rows):
        yield TraceRequest(request_id(number), time_ms, prompt, output, ids, step, session=session)


def _printable(text: str) -> str:
    """A name of a file as a header can hold it."""
    return "".join(each if each.isprintable() else "?" for each in text)[:MAX_NAME] or "?"
