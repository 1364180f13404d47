"""What the step probe itself costs: steps of one engine with the probe on and off, for each size of a run.

In thread CPU time, since the probe computes and never waits: what else runs on the machine hardly disturbs it.

The model is the stand-in at a hundredth of a millisecond, so that the little that is looked for is not lost in a
model's noise; the wrappers and what they count are those of every engine cell of that size.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq

from bench.measure.executor import Executor, Share
from bench.measure.folder import table_of, write_whole
from bench.measure.messages import Failure, ProbeCostResult, ProbeCostTask, Setting
from bench.measure.progress import Reporter
from bench.options import Experiment
from bench.records import PROBE
from bench.traces.workloads import generate

if TYPE_CHECKING:
    from bench.measure.plan import Cell

MODEL_MS = 0.01
PREFIX = "probe-n"
STEPS_TIMES_RUNNING = 300_000  # a few seconds at any size
MAX_PAIRS = 1000
MIN_PAIRS = 100
WARMUP_STEPS = 20


def probe_cost_tasks(cells: Iterable[Cell], experiment: Experiment, *, spawn: bool) -> list[ProbeCostTask]:
    """One task for each number of running requests that the engine cells have."""
    sizes: dict[int, Cell] = {}
    for cell in cells:
        if cell.tier == "engine":
            sizes.setdefault(cell.trace.num_running, cell)
    return [_task(cell, num_running, experiment, spawn) for num_running, cell in sizes.items()]


def _task(cell: Cell, num_running: int, experiment: Experiment, spawn: bool) -> ProbeCostTask:
    baseline, seed = experiment.baseline, experiment.seed
    num_pairs = int(np.clip(STEPS_TIMES_RUNNING // (2 * num_running), MIN_PAIRS, MAX_PAIRS))
    steps = WARMUP_STEPS + 2 * num_pairs + 1
    trace = generate("steady-decode", num_running=num_running, seed=seed, options={"steps": steps})
    needs, block_size = trace.engine, cell.shape.block_size
    shape = replace(
        cell.shape,
        async_scheduling=False,
        stand_in_model_ms=MODEL_MS,
        num_blocks=-(-needs.kv_tokens // block_size),
        max_model_len=needs.max_model_len,
        max_num_seqs=needs.max_num_seqs,
        max_num_batched_tokens=needs.max_num_batched_tokens,
    )
    limit_s = experiment.measure.step_time_limit_s
    setting = Setting(f"{PREFIX}{num_running}", "engine", baseline, baseline, trace, shape, limit_s)
    return ProbeCostTask(setting, seed, WARMUP_STEPS, num_pairs, spawn)


def measure_probe_costs(
    tasks: Sequence[ProbeCostTask], run_dir: Path, executor: Executor, hash_seed: int, reporter: Reporter
) -> None:
    """Do the tasks whose file is not there yet and write their files; a size that fails is told and left out."""
    wanted = [task for task in tasks if not probe_file(run_dir, task.setting.comparison).is_file()]
    if not wanted:
        return
    with reporter.stage("cost of the probe", len(wanted), "sizes") as advance:
        for done in executor.run([Share(0, hash_seed, wanted)], lambda task: True):
            if isinstance(done.result, ProbeCostResult):
                write_probe_cost(run_dir, done.result)
            elif isinstance(done.result, Failure):
                reporter.say(f"{done.result.comparison}: {done.result.message}")
            advance()


def probe_file(run_dir: Path, comparison: str) -> Path:
    """Where the steps of one size lie."""
    return run_dir / "probe" / f"{comparison}.parquet"


def write_probe_cost(run_dir: Path, result: ProbeCostResult) -> None:
    """Write the steps of one size, a row a pair of steps."""
    path = probe_file(run_dir, result.comparison)
    path.parent.mkdir(exist_ok=True)
    columns = {
        "num_running": np.full(len(result.cpu_ns), int(result.comparison.removeprefix(PREFIX))),
        "pair": np.arange(len(result.cpu_ns)),
        "with_ns": result.cpu_ns[:, 0],
        "without_ns": result.cpu_ns[:, 1],
    }
    table = table_of(PROBE, {}, columns, len(result.cpu_ns))
    write_whole(path, lambda beside: pq.write_table(table, beside, compression="zstd"))
