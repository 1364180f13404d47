"""Whether a replay took the path that its workload promises, by the counts of its steps.

Arrays in, text out; who reads the steps and refuses a cell is above.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from bench.options import Scalar
from bench.traces.workloads.workload import Counter

Counts = npt.NDArray[np.int64]
Steady = slice | npt.NDArray[np.bool_]


def missed(
    counters: tuple[Counter, ...], options: Mapping[str, Scalar], readings: Mapping[str, Counts], steady: Steady
) -> list[str]:
    """The claims that do not hold over the `steady` steps of `readings`, each with the figure found; none: all hold.

    `readings` are fields of a step's reading, each (num_steps,) int64; `options` those of the trace, all of them.
    """
    mean_running = float(np.mean(readings["running"][steady]))
    return [
        found
        for counter in counters
        if (counter.when is None or options[counter.when[0]] == counter.when[1])
        and mean_running >= counter.from_running
        and (found := _missed(counter, options, _counts(counter.what, readings)[steady]))
    ]


def _counts(what: str, readings: Mapping[str, Counts]) -> Counts:
    if what != "prefilled":
        return readings[what]
    beyond: Counts = readings["scheduled_tokens"] - readings["running"]
    return beyond.clip(min=0)


def _missed(counter: Counter, options: Mapping[str, Scalar], counts: Counts) -> str | None:
    at_least = int(options[counter.at_least]) if isinstance(counter.at_least, str) else counter.at_least
    looked_at = counts[counts > 0] if counter.of_those_with_any else counts
    if not len(looked_at):
        return f"{counter.what} is 0 in all {len(counts)} steady steps; expected {counter.text()}"
    scale = len(looked_at) / (float(options[counter.per]) if counter.per else 1.0)
    num_steps = int(np.sum(looked_at >= at_least))
    if counter.low * scale - 1 <= num_steps <= counter.high * scale + 1:
        return None
    kind = f"steps with {counter.what}" if counter.of_those_with_any else "steady steps"
    share = f"{100 * num_steps / len(looked_at):.1f} %"
    return f"{counter.what} ≥ {at_least} in {share} of {len(looked_at)} {kind}; expected {counter.text()}"
