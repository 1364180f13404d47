"""One finished pair of replays on disk: requests, streamed chunks, and the steps that the servers took meanwhile.

The requests are written last, so that a pair is finished when their file exists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.engine.step_log import StepLog
from bench.manifest import ComparisonRecord
from bench.measure.folder import pair_file, table_of, write_whole
from bench.measure.messages import BASELINE
from bench.measure.serving.client import Replay
from bench.records import CHUNKS, REQUESTS, STEPS, Column

Columns = dict[str, Any]


@dataclass(frozen=True)
class ServedArm:
    """One arm of a pair: `position` 0 ran first; `steps` are its server's while the replay lasted."""

    name: str
    position: int
    replay: Replay
    steps: StepLog


def served_file(run_dir: Path, comparison: str, pair: int) -> Path:
    """Where the requests of one pair lie; it is written last."""
    return run_dir / "requests" / f"{comparison}--p{pair:03d}.parquet"


def finished_file(run_dir: Path, record: ComparisonRecord, pair: int) -> Path:
    """The file whose being there says that a pair is finished, in any tier."""
    return (served_file if record.tier == "serve" else pair_file)(run_dir, record.id, pair)


def num_finished_pairs(run_dir: Path, record: ComparisonRecord) -> int:
    """How many of the planned pairs are whole on disk."""
    return sum(finished_file(run_dir, record, pair).is_file() for pair in range(record.num_pairs_planned))


def write_served_pair(
    run_dir: Path, record: ComparisonRecord, pair: int, zygote: int, arms: Sequence[ServedArm], steady_running: int
) -> None:
    """Write steps, chunks and, last, requests of one finished pair."""
    target = served_file(run_dir, record.id, pair)
    for folder in ("steps", "chunks", "requests"):
        (run_dir / folder).mkdir(exist_ok=True)
    identity = {"cell": record.cell, "comparison": record.id, "pair": pair, "zygote": zygote}
    names = [
        {**identity, "arm": arm.name, "variant": record.baseline if arm.name == BASELINE else record.candidate}
        for arm in arms
    ]
    _write(run_dir / "steps" / target.name, STEPS, names, [_steps(arm.steps, steady_running) for arm in arms])
    _write(run_dir / "chunks" / target.name, CHUNKS, names, [_chunks(arm.replay) for arm in arms])
    _write(target, REQUESTS, names, [_requests(arm) for arm in arms])


def _write(
    path: Path, schema: Sequence[Column], names: Sequence[Mapping[str, Any]], arms: Sequence[tuple[Columns, int]]
) -> None:
    tables = [table_of(schema, name, columns, rows) for name, (columns, rows) in zip(names, arms, strict=True)]
    whole = pa.concat_tables(tables)
    write_whole(path, lambda beside: pq.write_table(whole, beside, compression="zstd"))


def _requests(arm: ServedArm) -> tuple[Columns, int]:
    answers, began = arm.replay.answers, arm.replay.began_ns
    columns = {
        "position": [arm.position] * len(answers),
        "request": range(len(answers)),
        "request_id": [answer.planned.request_id for answer in answers],
        "due_ns": [answer.due_ns - began for answer in answers],
        "late_ns": [answer.sent_ns - answer.due_ns for answer in answers],
        "ttft_ns": [answer.received_ns[0] - answer.due_ns for answer in answers],
        "last_token_ns": [answer.received_ns[-1] - answer.due_ns for answer in answers],
        "e2el_ns": [answer.ended_ns - answer.due_ns for answer in answers],
        "num_tokens": [answer.total_tokens for answer in answers],
        "num_chunks": [len(answer.received_ns) for answer in answers],
        "hung_up": [answer.hung_up for answer in answers],
    }
    return {name: [*values] for name, values in columns.items()}, len(answers)


def _chunks(replay: Replay) -> tuple[Columns, int]:
    rows = [
        (request, received - answer.due_ns, tokens)
        for request, answer in enumerate(replay.answers)
        for received, tokens in zip(answer.received_ns, answer.num_tokens, strict=True)
    ]
    values = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return {"request": values[:, 0], "received_ns": values[:, 1], "num_tokens": values[:, 2]}, len(values)


def _steps(log: StepLog, steady_running: int) -> tuple[Columns, int]:
    """Steady: from the first to the last step with as many running as the trace means to have; none: all admission."""
    number = np.arange(len(log.rows))
    full = np.flatnonzero(log.field("running") >= steady_running)
    first, last = (full[0], full[-1]) if full.size else (len(number), len(number))
    phase = np.where(number < first, "admission", np.where(number <= last, "steady", "drain"))
    readings = {name: log.field(name) for name in log.fields}
    outside = np.full(len(number), -1)  # no slice and no fork: steps of a server are taken as they come
    return {**readings, "step": number, "phase": phase, "slice": outside, "fork": outside}, len(number)
