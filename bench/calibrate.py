"""Calibrates the verdict: gate after gate of identical schedulers, each a whole run, then the summary of all.

Every finished gate is on disk before the next one starts; the same command with the same folder goes on.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from bench.analysis.calibration import gate_rows, pair_rows
from bench.analysis.comparisons import compare
from bench.analysis.files import replace_file
from bench.analysis.load import load_run
from bench.analysis.looks import unsettled
from bench.analysis.planting import check_effect
from bench.errors import ConfigError, MeasureError, RunFolderError
from bench.measure.host import host_facts, versions
from bench.measure.opening import open_campaign
from bench.measure.progress import Reporter
from bench.options import Experiment
from bench.report.calibration import write_calibration

PLAN = "plan.json"
SAME = ("config", "planted_pct", "versions", "cpu", "usable_cores")


@dataclass(frozen=True)
class Calibration:
    """What a calibration is asked for: one cell, the baseline as its own candidate, and the effects to plant, in %."""

    experiment: Experiment
    planted_pct: tuple[float, ...]

    def check(self) -> None:
        """Raise ConfigError where the experiment is no gate of identical schedulers, or an effect is impossible."""
        experiment = self.experiment
        if experiment.candidates != (experiment.baseline,):
            raise ConfigError("calibrate compares the baseline with itself; candidates must name it, and nothing else")
        if experiment.measure.canary:
            raise ConfigError("calibrate: measure.canary must be false; every gate is one")
        if len(experiment.cells) != 1 or len(experiment.cells[0].workloads) * len(experiment.cells[0].num_running) != 1:
            raise ConfigError("calibrate needs exactly one cell: one workload at one size")
        if experiment.cells[0].tier != "replay":
            raise ConfigError("calibrate measures the replay tier")
        if len(set(self.planted_pct)) != len(self.planted_pct):
            raise ConfigError("calibrate: an effect is planted twice")
        for percent in self.planted_pct:
            check_effect(percent)


def calibrate(asked: Calibration, folder: Path, num_gates: int, reporter: Reporter) -> list[Path]:
    """Measure the gates that `folder` lacks up to `num_gates`, and write its summary; the files of the summary.

    Raises RunFolderError where the folder holds another calibration.
    """
    asked.check()
    _open(asked, folder)
    missing = [gate for gate in range(num_gates) if not _gate_file(folder, gate).is_file()]
    with reporter.stage("gates", len(missing), "gates") as advance:
        for gate in missing:
            _measure_gate(asked, folder, gate)
            advance()
    return write_calibration(folder, *_collect(folder))


def _open(asked: Calibration, folder: Path) -> None:
    host = host_facts()
    plan = {
        "config": asked.experiment.model_dump(mode="json"),
        "planted_pct": [*asked.planted_pct],
        "versions": versions(),
        **host,
    }
    file = folder / PLAN
    if file.is_file():
        found = json.loads(file.read_text(encoding="utf-8"))
        for name in SAME:
            if found.get(name) != json.loads(json.dumps(plan[name])):
                raise RunFolderError(f"{folder}: holds another calibration, its {name} differs; choose another --out")
        return
    if folder.exists() and any(path != folder / "gates" for path in folder.rglob("*")):
        raise RunFolderError(f"{folder}: exists and is not empty; choose another --out")
    try:
        (folder / "gates").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunFolderError(f"{folder}: cannot be made ({error.strerror})") from error
    replace_file(file, (json.dumps(plan, indent=1) + "\n").encode())


def _measure_gate(asked: Calibration, folder: Path, gate: int) -> None:
    """One whole run in a folder of its own, which is kept only where it failed."""
    run_dir = folder / "running" / f"g{gate:04d}"
    shutil.rmtree(run_dir, ignore_errors=True)
    experiment = asked.experiment.model_copy(update={"seed": asked.experiment.seed + gate})
    began = time.monotonic()
    campaign = open_campaign(experiment, run_dir, reporter=_Silent())
    campaign.measure()
    if campaign.look_again(unsettled(compare(load_run(run_dir)))):
        campaign.measure()
    seconds = time.monotonic() - began
    run = load_run(run_dir)
    (record,) = run.manifest.comparisons
    if record.status != "measured":
        raise MeasureError(f"gate {gate}: {record.status}; {record.message or 'see its folder'} ({run_dir})")
    pair_rows(run, gate).to_parquet(_pair_file(folder, gate), index=False)
    rows = gate_rows(run, gate, asked.planted_pct, seconds)
    beside = _gate_file(folder, gate).with_suffix(".part")
    rows.to_parquet(beside, index=False)
    beside.replace(_gate_file(folder, gate))
    shutil.rmtree(run_dir)


class _Silent(Reporter):
    """Says nothing: the gates have a progress of their own."""

    def say(self, line: str, **facts: object) -> None:
        pass

    @contextmanager
    def stage(self, name: str, total: int, unit: str) -> Iterator[Callable[[], None]]:
        yield lambda: None


def _gate_file(folder: Path, gate: int) -> Path:
    return folder / "gates" / f"g{gate:04d}.parquet"


def _pair_file(folder: Path, gate: int) -> Path:
    return folder / "gates" / f"g{gate:04d}-pairs.parquet"


def _collect(folder: Path) -> tuple[dict[str, Any], pd.DataFrame, pd.DataFrame]:
    plan = json.loads((folder / PLAN).read_text(encoding="utf-8"))
    gates = sorted(path for path in (folder / "gates").glob("g*.parquet") if not path.stem.endswith("-pairs"))
    if not gates:
        raise RunFolderError(f"{folder}: holds no finished gate")
    pairs = [path.with_name(f"{path.stem}-pairs.parquet") for path in gates]
    return plan, _concatenated(gates), _concatenated(pairs)


def _concatenated(files: Sequence[Path]) -> pd.DataFrame:
    return pd.concat([pd.read_parquet(file) for file in files], ignore_index=True)
