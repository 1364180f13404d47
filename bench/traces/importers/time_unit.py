"""In which unit a foreign file counts time: as its format does, as a person says, or guessed by the rate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.errors import TraceError
from bench.traces.importers.options import AUTO, MS_PER_UNIT, ImportOptions
from bench.traces.importers.rows import Format, Row

MIN_PROBED = 20  # rows; fewer say little about a rate
MAX_RATE = 1000.0  # requests a second; above it the unit is doubted
MAX_GAP_S = 3600.0  # on average; above it too
USUAL_RATE = 5.0  # requests a second; of two units the one whose rate lies nearer is guessed


def time_unit(format: Format, options: ImportOptions, probed: Sequence[Row], path: Path) -> tuple[str, list[str]]:
    """(unit of the times, warnings); raises TraceError where the format's own cannot be meant."""
    if format.clock == "none":
        return "s", []
    if format.time_unit == "ns":
        if options.time_unit != AUTO:
            raise TraceError(f"trace {path}: has dates and times; --time-unit is for files with numbers")
        return "ns", []
    if options.time_unit != AUTO:
        return options.time_unit, []
    times = [float(row.time) for row in probed if row.time is not None]
    span = max(times, default=0.0) - min(times, default=0.0)
    per_unit = (len(times) - 1) / span if span > 0 else 0.0
    if format.time_unit is None:
        unit = _guessed(per_unit)
        rate = per_unit * 1000 / MS_PER_UNIT[unit]
        return unit, [
            f"the unit of the times is not told by the file; guessed {unit} by the rate, {rate:.3g} requests/s"
        ]
    rate = per_unit * 1000 / MS_PER_UNIT[format.time_unit]
    if format.clock != "drawn" and len(times) >= MIN_PROBED and rate > 0 and not 1 / MAX_GAP_S <= rate <= MAX_RATE:
        raise TraceError(
            f"trace {path}: times in {format.time_unit} mean {rate:.3g} requests/s; "
            "say the unit with --time-unit s, ms or us"
        )
    return format.time_unit, []


def _guessed(per_unit: float) -> str:
    if per_unit == 0:
        return "ms"
    return min(("ms", "s"), key=lambda unit: abs(np.log(per_unit * 1000 / MS_PER_UNIT[unit] / USUAL_RATE)))
