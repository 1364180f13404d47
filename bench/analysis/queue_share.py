"""The share of a step that operations on RUNNING take at all: what no replacement of the queue can save more than.

The cost was counted and timed in the run (`queue_operations` of the manifest); here it meets the baseline's step.
"""

from __future__ import annotations

import pandas as pd

from bench.analysis.load import Run
from bench.manifest import ComparisonRecord
from bench.units import NS_PER_US

SHARES = ["cell", "workload", "num_running", "queue_us", "step_us", "share_pct"]
OPERATIONS = ["cell", "operation", "a_step", "ns", "us_a_step"]


def queue_shares(run: Run, comparisons: pd.DataFrame) -> pd.DataFrame:
    """A row for each cell whose queue was counted and whose baseline was timed, columns SHARES, times a step.

    `step_us` is the baseline's time by the metric that carries verdicts, the median over the cell's comparisons.
    """
    judged = comparisons[comparisons["gating"]].groupby("cell")["baseline_us"].median()
    rows = []
    for cell, record in _counted(run).items():
        queue_us, step_us = (record.queue_ns_a_step or 0.0) / NS_PER_US, float(judged.get(cell, 0.0))
        if step_us > 0:
            share = 100 * queue_us / step_us
            rows.append((cell, record.workload, record.num_running, queue_us, step_us, share))
    return pd.DataFrame(rows, columns=SHARES)


def queue_operations(run: Run) -> pd.DataFrame:
    """A row for each cell and kind of operation, columns OPERATIONS: how often in a step, ns for one, µs together."""
    rows = [
        (cell, kind, count, ns, count * ns / NS_PER_US)
        for cell, record in _counted(run).items()
        for kind, (count, ns) in record.queue_operations.items()
    ]
    return pd.DataFrame(rows, columns=OPERATIONS)


def _counted(run: Run) -> dict[str, ComparisonRecord]:
    """The first comparison with a figure in each cell, in the manifest's order."""
    found: dict[str, ComparisonRecord] = {}
    for record in run.manifest.comparisons:
        if record.queue_ns_a_step is not None:
            found.setdefault(record.cell, record)
    return found
