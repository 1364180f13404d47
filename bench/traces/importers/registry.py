"""The foreign formats, and which one a header or a first record is; never by the position of a column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from bench.errors import nearest
from bench.traces.importers.azure import AZURE
from bench.traces.importers.bailian import BAILIAN
from bench.traces.importers.burstgpt import BURSTGPT
from bench.traces.importers.mooncake import MOONCAKE, TIMED_LENGTHS
from bench.traces.importers.ragpulse import PARTS, RAGPULSE
from bench.traces.importers.rows import Format
from bench.traces.importers.servegen import SERVEGEN
from bench.traces.importers.sessions import SESSIONS
from bench.traces.importers.splitwise_sim import SPLITWISE_SIM
from bench.traces.importers.texts import SHAREGPT, VLLM_CUSTOM
from bench.traces.importers.vidur import VIDUR, VIDUR_LENGTHS
from bench.traces.lines import HEADER_KEY, LineError

FORMATS: dict[str, Format] = {
    each.name: each
    for each in (
        AZURE,
        BURSTGPT,
        VIDUR,
        VIDUR_LENGTHS,
        SPLITWISE_SIM,
        MOONCAKE,
        TIMED_LENGTHS,
        BAILIAN,
        RAGPULSE,
        SESSIONS,
        VLLM_CUSTOM,
        SHAREGPT,
        SERVEGEN,
    )
}


def detect(container: Literal["csv", "json"], names: Iterable[str], record: Mapping[str, Any] | None) -> Format:
    """The format whose keys are all among `names`, the one with the most; raises LineError where there is none."""
    present = set(names)
    if HEADER_KEY in present:
        raise LineError("is a frozen trace already; use it as it is")
    if present & set(PARTS.values()) and "token_length" in present:
        raise LineError("is RAGPulse's table of lengths; import its requests and pass this as --component-lengths")
    known = [each for each in FORMATS.values() if each.container == container]
    fitting = [each for each in known if present.issuperset(each.keys) and (record is None or each.fits(record))]
    if fitting:
        return max(fitting, key=lambda each: len(each.keys))
    closest = max(known, key=lambda each: len(present.intersection(each.keys)))
    missing = [key for key in closest.keys if key not in present]
    what = "column" if container == "csv" else "key"
    if len(missing) == len(closest.keys):
        found = ", ".join(sorted(present)[:8])[:120]
        raise LineError(f"has the {what}s {found}, which no known format has; see docs/traces.md")
    if not missing:
        raise LineError(f"looks like {closest.name}, but a value is of another kind than there; see docs/traces.md")
    hint = nearest(missing[0], present - set(closest.keys)) if present - set(closest.keys) else ""
    raise LineError(f"looks like {closest.name}, but the {what} {missing[0]} is missing{hint}")
