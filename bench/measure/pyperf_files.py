"""The slices of a run in pyperf's own file format, so that `python -m pyperf stats|hist|check` read them unchanged.

pyperf keeps and shows the values; it does not judge here, for the reasons in docs/method.md.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pyperf

from bench.manifest import ComparisonRecord, Manifest
from bench.measure.folder import pair_file, write_whole
from bench.measure.messages import ARMS
from bench.units import NS_PER_S


def write_pyperf(run_dir: Path, manifest: Manifest) -> None:
    """Write `pyperf/<cell>--<variant>.json` for each arm of each measured comparison: a run a pair, a value a slice.

    A value is scheduler CPU time a step in seconds, the mean over the steps of the slice.
    """
    for comparison in manifest.comparisons:
        tables = [(pair, pair_file(run_dir, comparison.id, pair)) for pair in range(comparison.num_pairs_planned)]
        columns = ["arm", "cpu_ns", "num_steps"]
        pairs = [pq.read_table(path, columns=columns).to_pydict() for _, path in tables if path.is_file()]
        if not pairs:
            continue
        for arm in ARMS:
            runs = [_run(pair, arm, comparison, manifest) for pair in pairs]
            label = _label(comparison, arm)
            path = run_dir / "pyperf" / f"{comparison.cell}--{label}.json"
            suite = pyperf.BenchmarkSuite([pyperf.Benchmark(runs)])
            write_whole(path, lambda beside, suite=suite: suite.dump(str(beside), compact=False, replace=True))  # type: ignore[misc]


def _run(pair: dict[str, list[object]], arm: str, comparison: ComparisonRecord, manifest: Manifest) -> pyperf.Run:
    rows = [i for i, name in enumerate(pair["arm"]) if name == arm]
    values = [float(str(pair["cpu_ns"][i])) / float(str(pair["num_steps"][i])) / NS_PER_S for i in rows]
    values = [value for value in values if value > 0]  # pyperf takes no value of a slice in which nothing ran
    metadata = {
        "name": f"{comparison.cell} {comparison.baseline if arm == ARMS[0] else comparison.candidate}",
        "unit": "second",
        "loops": comparison.steps_per_slice - comparison.lead_in,
        "cpu_model_name": str(manifest.host.get("cpu", "")),
        "python_version": manifest.versions.get("python", ""),
        "description": "scheduler CPU time a step",
    }
    return pyperf.Run(values, metadata=metadata, collect_metadata=False)


def _label(comparison: ComparisonRecord, arm: str) -> str:
    label = comparison.id.removeprefix(f"{comparison.cell}--")
    return f"{label}-{arm}" if comparison.canary else (label if arm == ARMS[1] else f"{label}-baseline")
