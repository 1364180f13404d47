"""How long a trace of a million requests takes: in arrays with its digest, and as checked lines in a file.

Run it from the checkout: `python benchmarks/traces.py [NUM_REQUESTS]`. It prints seconds of CPU time, which hardly
depend on what else the machine does, and the most memory that the process had.
"""

from __future__ import annotations

import resource
import sys
import tempfile
from pathlib import Path
from time import process_time

import numpy as np

from bench.traces.columns import Columns, request_id
from bench.traces.files import read_trace, write_trace
from bench.traces.model import EngineNeeds, Trace, TraceRequest

NEEDS = EngineNeeds(max_num_seqs=256, max_num_batched_tokens=8192, kv_tokens=1_000_000, max_model_len=8192)
STEP_MS = 10.0


def main() -> None:
    """Print a line a stage: seconds, and megabytes after it."""
    num_requests = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    clock = process_time()
    columns, steps = _drawn(num_requests)
    with tempfile.TemporaryFile() as file:
        digest = columns.digest(steps, file)
        clock = _tell("drawn in arrays, digested, and its lines written", clock)
    trace = Trace("benchmark", {}, 1, 64, 1, NEEDS, tuple(_requests(columns, steps)))
    clock = _tell("as checked requests, with the digest", clock)
    assert trace.digest == digest
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.jsonl"
        write_trace(trace, path)
        clock = _tell(f"written, {path.stat().st_size / 1e6:.0f} MB", clock)
        del trace
        assert read_trace(path).digest == digest
        _tell("read and checked again", clock)


def _drawn(num_requests: int) -> tuple[Columns, np.ndarray]:
    rng = np.random.default_rng(1)
    times_ms = np.cumsum(rng.exponential(STEP_MS, num_requests))
    inputs, outputs = rng.integers(1, 4096, num_requests), rng.integers(1, 512, num_requests)
    columns = Columns(times_ms.round(3), inputs, outputs, [()] * num_requests, [None] * num_requests)
    return columns, (columns.times_ms / STEP_MS).astype(np.int64)


def _requests(columns: Columns, steps: np.ndarray) -> list[TraceRequest]:
    rows = zip(
        columns.times_ms.tolist(), columns.inputs.tolist(), columns.outputs.tolist(), steps.tolist(), strict=True
    )
    return [
        TraceRequest(request_id(number), time_ms, prompt, output, arrival_step=step)
        for number, (time_ms, prompt, output, step) in enumerate(rows)
    ]


def _tell(stage: str, began: float) -> float:
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{process_time() - began:7.2f} s  {peak_mb:6.0f} MB  {stage}")
    return process_time()


if __name__ == "__main__":
    main()
