"""The same question at equal time, two ways: pyperf's (all of A, all of B, `compare_to`) and pairs in lock-step.

`python benchmarks/pyperf_side_by_side.py OUTPUT.jsonl` asks `list` against `list`, where every difference found is a
false alarm; `--candidate list_rebuild` asks for an effect. Each repetition is a line of OUTPUT, appended when it is
done, so that a later call goes on where an earlier one ended, and prints the table of all of them.

Both ways time the scheduler's CPU time in steady decode. pyperf's verdict is that of its own command. Its interval is
shown twice: from all values pooled, as its test takes them, and from the means of its processes (Welch), which is what
its data can bear.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyperf
from scipy import stats
from tabulate import tabulate

from bench.analysis.comparisons import compare
from bench.analysis.load import load_run
from bench.measure.host import choose_cores
from bench.measure.opening import open_campaign
from bench.options import Experiment

SIDE = Path(__file__).with_name("pyperf_side.py")
TRIAL_PROCESSES, TRIAL_PAIRS = 2, (6, 12)  # what is timed to find out what fits into the seconds
ZYGOTES = 2
Interval = tuple[float, float]


@dataclass(frozen=True)
class Plan:
    """One repetition: how much each way measures. Values a process and warm-ups are pyperf's defaults."""

    candidate: str
    num_running: int
    processes: int
    pairs: int
    loops: int
    values: int = 3


def main() -> None:
    """Do the repetitions that OUTPUT lacks, then print the table."""
    options = _options()
    lines = _read(options.output)
    if lines:
        plan = Plan(**lines[0]["plan"])
        _refuse_another_question(plan, options)
    else:
        plan = _fitted(options)
        _append(options.output, {"plan": asdict(plan)})
    for repetition in range(len(lines[1:]), options.repetitions):
        _append(options.output, measure(plan, repetition))
        print(f"repetition {repetition + 1} of {options.repetitions}", file=sys.stderr)
    print(table(plan, _read(options.output)[1:]))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, help="JSON lines, appended to")
    parser.add_argument("--candidate", default="list", help="variant SPEC (default: the baseline itself)")
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60.0, help="wall time of each way in a repetition")
    parser.add_argument("--num-running", type=int, default=256)
    parser.add_argument("--loops", type=int, default=32, help="steps a value of pyperf's: 0.1 s at 256 running")
    parser.add_argument("--processes", type=int, help="of pyperf, each side; absent: as many as fit into the seconds")
    parser.add_argument("--pairs", type=int, help="in lock-step; absent: as many as fit into the seconds")
    return parser.parse_args()


def _read(output: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.read_text().splitlines()] if output.exists() else []


def _append(output: Path, line: dict[str, Any]) -> None:
    with output.open("a") as file:
        file.write(json.dumps(line) + "\n")


def _refuse_another_question(plan: Plan, options: argparse.Namespace) -> None:
    if (plan.candidate, plan.num_running) != (options.candidate, options.num_running):
        asked = f"{plan.candidate} at {plan.num_running} running"
        raise SystemExit(f"{options.output}: asked about {asked}; name another output for another question")


def _fitted(options: argparse.Namespace) -> Plan:
    """How many processes and pairs fit: from the time that a few of each take."""
    plan = Plan(options.candidate, options.num_running, TRIAL_PROCESSES, TRIAL_PAIRS[0], options.loops)
    processes, pairs = options.processes, options.pairs
    if processes is None:
        taken = pyperf_way(plan, 0)["seconds"]
        processes = max(2, int(options.seconds / (taken / TRIAL_PROCESSES)))
    if pairs is None:
        few, many = (pairs_way(replace(plan, pairs=count), 0)["seconds"] for count in TRIAL_PAIRS)
        each = max(0.01, (many - few) / (TRIAL_PAIRS[1] - TRIAL_PAIRS[0]))
        pairs = max(TRIAL_PAIRS[0], int(TRIAL_PAIRS[0] + (options.seconds - few) / each))
    return replace(plan, processes=processes, pairs=pairs)


# ---- the two ways -----------------------------------------------------------------------------------------------


def measure(plan: Plan, repetition: int) -> dict[str, Any]:
    """One repetition, the two ways in an order that alternates."""
    ways: list[tuple[str, Callable[[Plan, int], dict[str, Any]]]] = [("pyperf", pyperf_way), ("pairs", pairs_way)]
    return {"repetition": repetition} | {name: way(plan, repetition) for name, way in ways[:: (-1) ** repetition]}


def pyperf_way(plan: Plan, repetition: int) -> dict[str, Any]:
    """All processes of the baseline, then all of the candidate, then `pyperf compare_to`."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder) / f"{side}.json") for side in ("baseline", "candidate")]
        for variant, file in zip(("list", plan.candidate), files, strict=True):
            question = [f"--variant={variant}", f"--seed={repetition + 1}", f"--num-running={plan.num_running}"]
            sizes = [f"--processes={plan.processes}", f"--values={plan.values}", f"--loops={plan.loops}"]
            place = [f"--affinity={choose_cores().arms}", "--copy-env", "--quiet", "--output", file]
            _run([sys.executable, str(SIDE), *question, *sizes, *place])
        verdict = _run([sys.executable, "-m", "pyperf", "compare_to", "--verbose", *files])
        sides = [_values(file) for file in files]
    return {
        "significant": "Significant (t=" in verdict,
        "said": " ".join(verdict.split()),
        "pooled_pct": pooled_interval(*(side.ravel() for side in sides)),
        "means_pct": welch_interval(*(side.mean(axis=1) for side in sides)),
        "seconds": time.monotonic() - began,
    }


def _values(file: str) -> np.ndarray:
    """(processes, values) float64, in s a step."""
    runs = pyperf.Benchmark.load(file).get_runs()
    return np.array([run.values for run in runs if run.values])


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[:3])} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def pairs_way(plan: Plan, repetition: int) -> dict[str, Any]:
    """A `run` of one cell, as this project measures."""
    began = time.monotonic()
    experiment = Experiment.model_validate(
        {
            "name": "side-by-side",
            "seed": repetition + 1,
            "candidates": [plan.candidate],
            "cells": [{"workloads": ["steady-decode"], "num_running": [plan.num_running]}],
            "measure": {"pairs": plan.pairs, "zygotes": ZYGOTES, "canary": False},
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        run_dir = Path(folder) / "run"
        open_campaign(experiment, run_dir).measure()
        rows = compare(load_run(run_dir))
    (row,) = rows[rows["gating"]].to_dict("records")
    interval = (row["low_pct"], row["high_pct"])
    return {
        "significant": not holds(interval, 0.0),
        "said": row["reason"],
        "verdict": row["verdict"],
        "exact_pct": interval,
        "seconds": time.monotonic() - began,
    }


# ---- arithmetic -------------------------------------------------------------------------------------------------


def pooled_interval(baseline: np.ndarray, candidate: np.ndarray) -> Interval:
    """95 % t interval of the relative difference, every value taken as independent, in % (Student, pooled variance)."""
    degrees = baseline.size + candidate.size - 2
    squares = ((baseline - baseline.mean()) ** 2).sum() + ((candidate - candidate.mean()) ** 2).sum()
    error = np.sqrt(squares / degrees * (1 / baseline.size + 1 / candidate.size))
    return _around(candidate.mean() - baseline.mean(), error, degrees, baseline.mean())


def welch_interval(baseline: np.ndarray, candidate: np.ndarray) -> Interval:
    """95 % interval of the relative difference of the means of processes, in % (Welch 1947)."""
    parts = [side.var(ddof=1) / side.size for side in (baseline, candidate)]
    degrees = sum(parts) ** 2 / sum(
        part**2 / (side.size - 1) for part, side in zip(parts, (baseline, candidate), strict=True)
    )
    return _around(candidate.mean() - baseline.mean(), np.sqrt(sum(parts)), degrees, baseline.mean())


def _around(difference: float, error: float, degrees: float, scale: float) -> Interval:
    half = stats.t.ppf(0.975, degrees) * error
    return (float(100 * (difference - half) / scale), float(100 * (difference + half) / scale))


def holds(interval: Interval, effect_pct: float) -> bool:
    """Whether `effect_pct` lies inside; an interval that could not be computed holds everything."""
    return not (interval[0] > effect_pct or interval[1] < effect_pct)


def table(plan: Plan, lines: Sequence[dict[str, Any]]) -> str:
    """A row a way; widths are medians over the repetitions."""
    ways = (
        ("pyperf, values pooled", "pyperf", "pooled_pct", [line["pyperf"]["significant"] for line in lines]),
        ("pyperf, process means", "pyperf", "means_pct", [not holds(_at(line, "means_pct"), 0) for line in lines]),
        ("pairs in lock-step", "pairs", "exact_pct", [line["pairs"]["significant"] for line in lines]),
    )
    found = "false alarms" if plan.candidate == "list" else "differences found"
    rows = []
    for name, way, key, alarms in ways:
        widths = [line[way][key][1] - line[way][key][0] for line in lines]
        seconds = np.mean([line[way]["seconds"] for line in lines])
        spread = f"{np.median(widths):.2f} % ({min(widths):.2f} to {max(widths):.2f})"
        rows.append((name, f"{sum(alarms)} of {len(lines)}", spread, f"{seconds:.0f} s"))
    said = sum(line["pairs"]["verdict"] in ("SLOWER", "FASTER") for line in lines)
    headers = ("way", found, "width of the 95 % interval", "time")
    sizes = f"{plan.processes} processes a side × {plan.values} values × {plan.loops} steps; {plan.pairs} pairs"
    question = f"{plan.candidate} against list, steady-decode at {plan.num_running} running; {sizes}"
    verdicts = f"verdict SLOWER or FASTER by the pairs' rule, margin included: {said} of {len(lines)}"
    return f"{question}\n\n{tabulate(rows, headers, tablefmt='github')}\n\n{verdicts}"


def _at(line: dict[str, Any], key: str) -> Interval:
    low, high = line["pyperf"][key]
    return low, high


if __name__ == "__main__":
    main()
